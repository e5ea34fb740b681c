internal import Einlass
internal import EinlassCrypto

extension OpenStore {
  /// Seals every secret under a new key and wraps that key for the slots of the old one. Runs in
  /// the caller's transaction, so that other processes find the old store or the new one.
  ///
  /// The secrets of the slots, for example the key file, stay the same and still open earlier
  /// copies. Throws `decryptFailed` if the old key does not open a value, and `keyUnavailable` if
  /// no slot would be left. Nothing is changed then.
  func rotateKey(_ progress: StoreMaintenance.Progress) throws(Problem)
    -> StoreMaintenance.Rotation
  {
    let old = try storeKey()
    let root = SecureRandom.secret(AuthenticatedEncryption.keyCount)
    let new = StoreKey(id: SecureRandom.bytes(StoreKey.idCount), store: old.store, root: root)
    let countAccounts = Int(try connection.countAccounts())
    var index = 0
    var count = 0
    try connection.forEachAccount { account throws(Problem) in
      try progress(index, countAccounts)
      index += 1
      for row in try connection.credentialRows(of: account.id) {
        let stored = try row.open(account: account, key: old, path: connection.path)
        let resealed = CredentialRow(stored, account: account, key: new)
        try connection.put(resealed)
        count += resealed.cells.count
      }
    }
    for row in try connection.registrationRows() {
      let stored = try row.open(key: old, path: connection.path)
      let resealed = RegistrationRow(stored, key: new)
      try connection.put(resealed)
      count += resealed.cells.count
    }
    count += try resealUsers(from: old, to: new)
    try resealSettings(from: old, to: new)
    try progress(countAccounts, countAccounts)
    let before = try connection.keySlots()
    let slots = try keySlots(around: root)
    // The old key may still be in memory although its key file has gone. Then nothing could open
    // the new key.
    guard !slots.isEmpty else {
      throw .store(
        .keyUnavailable,
        "No secret that opens the account store is available, so the key was not rotated.",
        advice: .restoreKey
      )
    }
    let dropped = before.filter { slot in !slots.contains { $0.id == slot.id } }.map(\.kind)
    guard keys.passphrase == nil || !dropped.contains(.passphrase) else {
      throw .store(
        .keyUnavailable,
        "The given passphrase does not open the account store, and rotating the key would remove its passphrase slot.",
        advice: .passRightPassphrase
      )
    }
    try connection.replaceKey(id: new.id, encryptions: count, slots: slots)
    return StoreMaintenance.Rotation(
      sealedValues: count, slots: slots.map(\.kind.rawValue),
      droppedSlots: dropped.map(\.rawValue))
  }
}
