internal import Einlass
internal import EinlassCrypto

/// The store's key, derived into subkeys.
struct StoreKey: Sendable {
  static let idCount = 4

  /// The id of the key, replaced at each rotation.
  let id: [UInt8]
  /// The id of the store.
  let store: String
  /// The key for naming tokens in the audit trail.
  let auditKey: Secret
  /// The key for the digests of refused passwords and of the settings of logins.
  private let loginKey: Secret
  private let columnKey: Secret

  init(id: [UInt8], store: String, root: Secret) {
    self.id = id
    self.store = store
    func key(_ name: String) -> Secret {
      KeyDerivation.hkdfSHA256(
        key: root, salt: Array(store.utf8), info: Array("einlass \(name) key 1".utf8),
        count: AuthenticatedEncryption.keyCount)
    }
    columnKey = key("column")
    auditKey = key("audit")
    loginKey = key("login")
  }

  /// Seals a secret as `version(1) | key id(4) | nonce(12) | ciphertext | tag(16)`, sizes in bytes.
  func seal(_ secret: Secret, in cell: SealedCell) -> [UInt8] {
    let nonce = SecureRandom.bytes(AuthenticatedEncryption.nonceCount)
    return [Self.format] + id + nonce
      + AuthenticatedEncryption.seal(
        secret.reveal(), key: columnKey, nonce: nonce, associatedData: associatedData(of: cell))
  }

  /// Opens a cell. Returns `nil` for a cell that was edited, moved, or sealed under another key or
  /// for another binding. These causes cannot be distinguished.
  func open(_ sealed: [UInt8], in cell: SealedCell) -> Secret? {
    let head = 1 + Self.idCount
    let start = head + AuthenticatedEncryption.nonceCount
    guard sealed.count >= start + AuthenticatedEncryption.tagCount, sealed[0] == Self.format,
      Array(sealed[1..<head]) == id
    else { return nil }
    let opened = try? AuthenticatedEncryption.open(
      Array(sealed[start...]), key: columnKey, nonce: Array(sealed[head..<start]),
      associatedData: associatedData(of: cell))
    return opened.map { Secret($0) }
  }

  private static let format: UInt8 = 1

  private func associatedData(of cell: SealedCell) -> [UInt8] {
    Canonical.bytes([
      [Self.format], Array(store.utf8), Array(cell.table.utf8), Array(cell.column.utf8),
      Array(cell.account.utf8), id, cell.binding, cell.row,
    ])
  }
}

extension StoreKey {
  /// Returns the keyed digest of a password for one person at one server.
  func digest(of password: Secret, for login: OwnServerStore.Login) -> [UInt8] {
    MessageAuthentication.hmacSHA256(
      key: loginKey.reveal(), message: Self.message(password, login))
  }

  func isDigest(
    _ digest: [UInt8], of password: Secret, for login: OwnServerStore.Login
  ) -> Bool {
    MessageAuthentication.isHMACSHA256(digest, of: Self.message(password, login), key: loginKey)
  }

  /// Returns the keyed digest of the settings of a login.
  func digest(ofSetting text: [UInt8]) -> [UInt8] {
    MessageAuthentication.hmacSHA256(key: loginKey.reveal(), message: Array("setting".utf8) + text)
  }

  func isDigest(_ digest: [UInt8], ofSetting text: [UInt8]) -> Bool {
    MessageAuthentication.isHMACSHA256(
      digest, of: Array("setting".utf8) + text, key: loginKey)
  }

  private static func message(_ password: Secret, _ login: OwnServerStore.Login) -> [UInt8] {
    Canonical.bytes([Array(login.server.utf8), Array(login.username.utf8), password.reveal()])
  }
}

/// The location of a sealed value and the hashes that it is bound to. Elsewhere it does not open.
struct SealedCell {
  var table: String
  var column: String
  var account: String
  /// The hash of the provider binding.
  var binding: [UInt8]
  /// The hash of the row's other clear columns.
  var row: [UInt8]
}
