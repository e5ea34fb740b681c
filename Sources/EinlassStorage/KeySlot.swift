internal import Einlass
internal import EinlassCrypto

/// One way to open the store's key: a row of `keyslot` (C-34).
struct KeySlot: Sendable {
  /// What has to be brought to open it. A kind that this program does not know makes the store too new.
  enum Kind: String, Sendable, CaseIterable {
    /// A generated file of this user's, in another directory than the store.
    case keyfile
    /// A secret that the desktop's keyring keeps.
    case secretservice
    /// A passphrase that the person knows, through scrypt.
    case passphrase
    /// 32 bytes that the spawner hands in on a descriptor.
    case fd
  }

  var id: Int64
  var kind: Kind
  /// For `keyfile` the path if the person named one, for `passphrase` the parameters of scrypt, else empty.
  var parameters: String
  var salt: [UInt8]
  var wrappedKey: [UInt8]

  /// A slot around the store's key.
  static func wrap(
    _ root: Secret, id: Int64, kind: Kind, parameters: String, salt: [UInt8], store: String,
    with secret: Secret
  ) -> KeySlot {
    var slot = KeySlot(id: id, kind: kind, parameters: parameters, salt: salt, wrappedKey: [])
    let nonce = SecureRandom.bytes(AuthenticatedEncryption.nonceCount)
    slot.wrappedKey =
      nonce
      + AuthenticatedEncryption.seal(
        root.reveal(), key: slot.wrappingKey(secret), nonce: nonce,
        associatedData: slot.associatedData(store: store))
    return slot
  }

  /// The store's key; `nil` when the secret is another one or the slot was changed.
  func unwrap(store: String, with secret: Secret) -> Secret? {
    let cut = AuthenticatedEncryption.nonceCount
    guard
      wrappedKey.count == cut + AuthenticatedEncryption.keyCount + AuthenticatedEncryption.tagCount
    else { return nil }
    let root = try? AuthenticatedEncryption.open(
      Array(wrappedKey[cut...]), key: wrappingKey(secret), nonce: Array(wrappedKey[..<cut]),
      associatedData: associatedData(store: store))
    return root.map { Secret($0) }
  }

  private func wrappingKey(_ secret: Secret) -> Secret {
    KeyDerivation.hkdfSHA256(
      key: secret, salt: salt, info: Array("einlass key slot 1 \(kind.rawValue)".utf8),
      count: AuthenticatedEncryption.keyCount)
  }

  private func associatedData(store: String) -> [UInt8] {
    Canonical.bytes([
      Array(store.utf8), Array(String(id).utf8), Array(kind.rawValue.utf8), Array(parameters.utf8),
    ])
  }
}
