internal import Einlass
internal import EinlassSystem

/// Adds and removes key slots. The key itself does not change.
extension StoreMaintenance {
  /// Adds a slot and replaces one of the same kind. The slot's secret is obtained before the store
  /// is locked.
  static func addKeySlot(
    _ kind: KeySlot.Kind, opening passphrase: Secret?, to shared: any SharedStore, keys: KeySource
  ) throws(Problem) -> [String] {
    try keys.fetch(by: AccountStore.Patience.usual.deadline)
    let store = try shared.read(.usual, withKey: true) { store throws(Problem) in
      _ = try store.storeKey()
      return try store.connection.meta().store
    }
    guard let store else { throw shared.nothingThere }
    let directory = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.create(keys.location.directory)
    }
    let new = try keys.newSlot(
      kind, store: store, storeDirectory: directory, chosen: passphrase)
    let slots = try changed(shared, withKey: true) { store throws(Problem) in
      let slots = try store.connection.keySlots()
      let meta = try store.connection.meta()
      let slot = KeySlot.wrap(
        try keys.root(of: slots, store: meta.store), id: (slots.map(\.id).max() ?? 0) &+ 1,
        kind: kind, parameters: new.parameters, salt: new.salt, store: meta.store,
        with: new.secret)
      try store.connection.deleteKeySlots(of: kind)
      try store.connection.insert(slot)
    }
    if kind == .passphrase { KeptKey.forget(store) }
    // Otherwise the next key rotation would use the former passphrase and drop this slot.
    if let passphrase { keys.typed.withLock { $0 = passphrase } }
    return slots
  }

  /// Removes a slot, but never the last one, and tries to remove its secret from the keyring or the kernel.
  static func removeKeySlot(
    _ kind: KeySlot.Kind, from shared: any SharedStore, keys: KeySource
  ) throws(Problem) -> [String] {
    var name = ""
    let left = try changed(shared) { store throws(Problem) in
      name = try store.connection.meta().store
      let kinds = try store.connection.keySlots().map(\.kind)
      guard kinds.contains(kind) else {
        throw .store(
          .refused, "The account store has no key slot \(kind.rawValue).", advice: .useOtherSlot)
      }
      guard kinds.contains(where: { $0 != kind }) else {
        throw .store(
          .refused,
          "The key slot \(kind.rawValue) is the only way to open the store.", advice: .addSlotFirst)
      }
      try store.connection.deleteKeySlots(of: kind)
    }
    if kind == .secretservice { keys.secretService.forget(store: name) }
    if kind == .passphrase { KeptKey.forget(name) }
    return left
  }

  private static func changed(
    _ shared: any SharedStore, withKey needsKey: Bool = false,
    _ change: (OpenStore) throws(Problem) -> Void
  ) throws(Problem) -> [String] {
    // Removed slots must not survive in the journal, because they would still open the key.
    let slots = try shared.change(.usual, withKey: needsKey, leavingNoTrace: true) {
      store throws(Problem) in
      try change(store)
      _ = try store.connection.nextRevision()
      return try store.connection.keySlots().map(\.kind.rawValue)
    }
    guard let slots else { throw shared.nothingThere }
    return slots
  }
}

extension Database {
  fileprivate func deleteKeySlots(of kind: KeySlot.Kind) throws(Problem) {
    try run("DELETE FROM keyslot WHERE kind = ?1", .text(kind.rawValue))
  }
}
