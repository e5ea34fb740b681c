internal import Einlass
internal import EinlassCrypto

/// How a slot's key comes from a passphrase: the parameters of scrypt, as `scrypt 131072 8 1` in the slot's row.
struct KeyFromPassphrase: Equatable {
  /// What a new slot gets (C-35): 128 MiB and a third of a second.
  static let standard = KeyFromPassphrase(cost: 1 << 17, blockSize: 8, parallelism: 1)
  /// What is taken of a passphrase.
  static let limitBytes = 1024

  var cost: UInt64
  var blockSize: UInt64
  var parallelism: UInt64

  init(cost: UInt64, blockSize: UInt64, parallelism: UInt64) {
    self.cost = cost
    self.blockSize = blockSize
    self.parallelism = parallelism
  }

  /// Reads a slot's row; `nil` for what is no scrypt or asks for more than anybody would have chosen: whoever can
  /// write the row must not be able to hold up its reader.
  init?(_ slot: KeySlot) {
    let words = slot.parameters.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 4, words[0] == "scrypt", let cost = UInt64(words[1]),
      let blockSize = UInt64(words[2]), let parallelism = UInt64(words[3]),
      slot.salt.count == 16, (2...1 << 20).contains(cost), cost & (cost - 1) == 0,
      (1...16).contains(blockSize), (1...16).contains(parallelism),
      blockSize * parallelism <= 16, cost * blockSize <= 1 << 23
    else { return nil }
    self.init(cost: cost, blockSize: blockSize, parallelism: parallelism)
  }

  /// As it stands in the row.
  var text: String { "scrypt \(cost) \(blockSize) \(parallelism)" }

  /// The key that opens the slot. Throws `keyUnavailable` where the memory is not to be had.
  func key(of passphrase: Secret, salt: [UInt8]) throws(Problem) -> Secret {
    let key = KeyDerivation.scrypt(
      passphrase: passphrase, salt: salt, cost: cost, blockSize: blockSize,
      parallelism: parallelism, count: AuthenticatedEncryption.keyCount)
    guard let key else {
      throw .store(
        .keyUnavailable,
        "There is not enough memory to make the account store's key of the passphrase.")
    }
    return key
  }

  /// What was typed, without the end of its line; `nil` when nothing was.
  static func passphrase(_ bytes: [UInt8]) -> Secret? {
    var line = bytes[...]
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line.isEmpty ? nil : Secret(Array(line))
  }
}
