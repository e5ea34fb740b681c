internal import Einlass
internal import EinlassCrypto

/// How a slot's key comes from a passphrase; the parameters stand in the slot's row.
extension KeyFromPassphrase {
  /// Reads a slot's row; `nil` for what is no scrypt or too much work.
  init?(_ slot: KeySlot) {
    guard slot.salt.count == Self.saltCount else { return nil }
    self.init(slot.parameters)
  }

  /// The key that opens the slot. Throws `keyUnavailable` where the memory is not to be had.
  func slotKey(of passphrase: Secret, salt: [UInt8]) throws(Problem) -> Secret {
    if let key = key(of: passphrase, salt: salt) { return key }
    throw .store(
      .keyUnavailable,
      "There is not enough memory to make the account store's key of the passphrase.")
  }

  /// What was typed, without the end of its line; `nil` when nothing was.
  static func passphrase(_ bytes: [UInt8]) -> Secret? {
    var line = bytes[...]
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line.isEmpty ? nil : Secret(Array(line))
  }
}
