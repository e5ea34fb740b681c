/// The cost of deriving a key from a passphrase: parameters of scrypt (RFC 7914), written as
/// `scrypt 131072 8 1`.
public struct ScryptParameters: Sendable, Equatable {
  /// The parameters for new keys: 128 MiB and about a third of a second.
  public static let standard = ScryptParameters(cost: 1 << 17, blockSize: 8, parallelism: 1)
  /// The longest accepted passphrase.
  public static let limitBytes = 1024
  /// The size of a salt in bytes.
  public static let saltCount = 16

  public var cost: UInt64
  public var blockSize: UInt64
  public var parallelism: UInt64

  public init(cost: UInt64, blockSize: UInt64, parallelism: UInt64) {
    self.cost = cost
    self.blockSize = blockSize
    self.parallelism = parallelism
  }

  /// Parses stored parameters; `nil` for malformed parameters and for a higher cost than the limits
  /// below, because a forged file must not block its reader.
  public init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 4, words[0] == "scrypt", let cost = UInt64(words[1]),
      let blockSize = UInt64(words[2]), let parallelism = UInt64(words[3]),
      (2...1 << 20).contains(cost), cost & (cost - 1) == 0, (1...16).contains(blockSize),
      (1...16).contains(parallelism), blockSize * parallelism <= 16, cost * blockSize <= 1 << 23,
      // RFC 7914 section 2.
      blockSize > 1 || cost < 1 << 16
    else { return nil }
    self.init(cost: cost, blockSize: blockSize, parallelism: parallelism)
  }

  /// The stored form.
  public var text: String { "scrypt \(cost) \(blockSize) \(parallelism)" }

  /// Returns the key of 32 bytes; `nil` if there is not enough memory.
  public func key(of passphrase: Secret, salt: [UInt8]) -> Secret? {
    KeyDerivation.scrypt(
      passphrase: passphrase, salt: salt, cost: cost, blockSize: blockSize,
      parallelism: parallelism, count: AuthenticatedEncryption.keyCount)
  }
}
