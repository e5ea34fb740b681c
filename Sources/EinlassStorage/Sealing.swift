internal import Einlass
internal import EinlassCrypto

/// The store's key, ready to seal columns with.
struct StoreKey: Sendable {
  /// Bytes of a key id.
  static let idCount = 4

  /// Which generation of the key it is; changes when the key is rotated.
  let id: [UInt8]
  /// The store it belongs to.
  let store: String
  /// What the audit trail names tokens by.
  let auditKey: Secret
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
  }

  /// `version(1) | key id(4) | nonce(12) | ciphertext | tag(16)` (C-31).
  func seal(_ secret: Secret, in cell: SealedCell) -> [UInt8] {
    let nonce = SecureRandom.bytes(AuthenticatedEncryption.nonceCount)
    return [Self.format] + id + nonce
      + AuthenticatedEncryption.seal(
        secret.reveal(), key: columnKey, nonce: nonce, associatedData: associatedData(of: cell))
  }

  /// `nil` when the cell was changed, moved, or sealed under another key or for another binding: these
  /// cannot be told apart.
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

  /// What a cell is bound to (C-32).
  private func associatedData(of cell: SealedCell) -> [UInt8] {
    Canonical.bytes([
      [Self.format], Array(store.utf8), Array(cell.table.utf8), Array(cell.column.utf8),
      Array(cell.account.utf8), id, cell.binding, cell.row,
    ])
  }
}

/// Where a sealed value stands and what it is bound to: it opens nowhere else.
struct SealedCell {
  var table: String
  var column: String
  var account: String
  /// Hash of the provider binding.
  var binding: [UInt8]
  /// Hash of the row's other columns in the clear.
  var row: [UInt8]
}
