internal import Einlass
internal import EinlassCrypto

/// The derivation of a slot's key from a passphrase. The scrypt parameters are in the slot's row.
extension ScryptParameters {
  /// Reads a slot's parameters; `nil` if they are not scrypt parameters or ask for too much work.
  init?(_ slot: KeySlot) {
    guard slot.salt.count == Self.saltCount else { return nil }
    self.init(slot.parameters)
  }

  /// Returns the key of the slot. Throws `keyUnavailable` if there is not enough memory for scrypt.
  func slotKey(of passphrase: Secret, salt: [UInt8]) throws(Problem) -> Secret {
    if let key = key(of: passphrase, salt: salt) { return key }
    throw .store(
      .keyUnavailable,
      "There is not enough memory to derive the account store's key from the passphrase.",
      advice: .freeMemory
    )
  }

  /// Removes the line ending. Returns `nil` for an empty line.
  static func passphrase(_ bytes: [UInt8]) -> Secret? {
    var line = bytes[...]
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line.isEmpty ? nil : Secret(Array(line))
  }
}
