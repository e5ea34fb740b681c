internal import EinlassCrypto
internal import EinlassJSON

/// A file of accounts and their credentials, encrypted with a passphrase: the format of
/// `accounts.export`.
///
/// Version 1 is three lines of ASCII, each with its line feed, and then bytes:
/// ```
/// einlass accounts 1
/// scrypt 131072 8 1 SALT NONCE
/// CHECK
/// ciphertext, tag
/// ```
/// SALT (16 bytes), NONCE (12) and CHECK (32) are hexadecimal. scrypt derives a root key from the
/// passphrase and the salt. HKDF-SHA256 derives two keys from it: one for CHECK, the HMAC-SHA256 of
/// both lines above, and one for AES-256-GCM with all three lines as associated data. CHECK
/// therefore tells a wrong passphrase from a truncated or changed file. The plaintext is JSON:
/// `AccountsFileContents.swift`.
public struct AccountsFile: Sendable {
  /// The maximum size of a file, for writing and reading.
  public static let limitBytes = 16 << 20
  private static let version = 1
  private static let name = "einlass accounts "

  /// The two lines above CHECK.
  private let head: [UInt8]
  private let check: [UInt8]
  private let stretching: ScryptParameters
  private let salt: [UInt8]
  private let nonce: [UInt8]
  private let sealed: [UInt8]
  let path: String

  /// Throws `invalidParameter` for a passphrase of fewer than twelve characters, because a thief of
  /// the file tries as many as there is time for.
  public static func requireStrength(of passphrase: Secret) throws(Problem) {
    guard revealedText(passphrase).count < 12 else { return }
    throw Problem(
      .invalidParameter, "The passphrase of the file has fewer than twelve characters.",
      advice: .chooseLongerPassphrase, path: "/weak")
  }

  /// Whether the bytes begin like an accounts file of any version.
  public static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: name.utf8) }

  /// Parses the file. Throws `accountStoreFailure`: `tooNew` for a newer version, `corrupt` for any
  /// other file.
  public init(_ bytes: [UInt8], path: String) throws(Problem) {
    let parts = bytes.split(
      separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
    let lines = parts.prefix(3).map { String(decoding: $0, as: UTF8.self) }
    guard lines[0].utf8.starts(with: Self.name.utf8),
      let version = Int(lines[0].dropFirst(Self.name.count))
    else { throw .noAccountsFile(path) }
    guard version <= Self.version else { throw .newerAccountsFile(path, version) }
    guard version == Self.version, parts.count == 4 else { throw .noAccountsFile(path) }
    let fields = lines[1].split(separator: " ", omittingEmptySubsequences: false)
    guard fields.count == 6,
      let stretching = ScryptParameters(fields[..<4].joined(separator: " ")),
      let salt = Hexadecimal.decode(String(fields[4])), salt.count == ScryptParameters.saltCount,
      let nonce = Hexadecimal.decode(String(fields[5])),
      nonce.count == AuthenticatedEncryption.nonceCount,
      let check = Hexadecimal.decode(lines[2]), check.count == 32
    else { throw .noAccountsFile(path) }
    head = Array(bytes[..<parts[2].startIndex])
    sealed = Array(parts[3])
    (self.check, self.stretching, self.salt, self.nonce) = (check, stretching, salt, nonce)
    self.path = path
  }

  /// Returns the plaintext. Throws `accountStoreFailure`: `decryptFailed` for a wrong passphrase,
  /// `corrupt` for a file that was truncated or changed.
  func open(with passphrase: Secret) throws(Problem) -> [UInt8] {
    let keys = try Keys(passphrase, salt: salt, stretching)
    guard MessageAuthentication.isHMACSHA256(check, of: head, key: keys.check) else {
      throw .otherPassphrase(path)
    }
    do throws(CryptoError) {
      return try AuthenticatedEncryption.open(
        sealed, key: keys.contents, nonce: nonce,
        associatedData: head + Self.line(Hexadecimal.encode(check)))
    } catch { throw .damagedAccountsFile(path) }
  }

  /// Returns the bytes of a new file. `randomBytes`: from `Effects`.
  static func seal(
    _ contents: [UInt8], with passphrase: Secret, randomBytes: (Int) -> [UInt8],
    stretching: ScryptParameters = .standard
  ) throws(Problem) -> [UInt8] {
    let salt = randomBytes(ScryptParameters.saltCount)
    let nonce = randomBytes(AuthenticatedEncryption.nonceCount)
    let keys = try Keys(passphrase, salt: salt, stretching)
    var bytes =
      line("\(name)\(version)")
      + line("\(stretching.text) \(Hexadecimal.encode(salt)) \(Hexadecimal.encode(nonce))")
    bytes += line(
      Hexadecimal.encode(
        MessageAuthentication.hmacSHA256(key: revealedBytes(keys.check), message: bytes)))
    bytes += AuthenticatedEncryption.seal(
      contents, key: keys.contents, nonce: nonce, associatedData: bytes)
    guard bytes.count <= limitBytes else { throw .tooManyAccounts }
    return bytes
  }

  private static func line(_ text: String) -> [UInt8] { Array(text.utf8) + [UInt8(ascii: "\n")] }

  private struct Keys {
    let check: Secret
    let contents: Secret

    init(_ passphrase: Secret, salt: [UInt8], _ stretching: ScryptParameters) throws(Problem) {
      guard let root = stretching.key(of: passphrase, salt: salt) else { throw .noMemory }
      func key(_ name: String) -> Secret {
        KeyDerivation.hkdfSHA256(
          key: root, salt: [], info: Array("einlass accounts 1 \(name)".utf8),
          count: AuthenticatedEncryption.keyCount)
      }
      check = key("check")
      contents = key("contents")
    }
  }
}

extension Problem {
  fileprivate static func noAccountsFile(_ path: String) -> Problem {
    .store(
      .corrupt, "\(path) is not a complete accounts file.", advice: .nameExport,
      path: path)
  }

  fileprivate static func newerAccountsFile(_ path: String, _ version: Int) -> Problem {
    .store(
      .tooNew,
      "\(path) is from a newer einlass (format \(version), this one knows 1).",
      path: path)
  }

  fileprivate static func otherPassphrase(_ path: String) -> Problem {
    .store(
      .decryptFailed, "The passphrase does not open \(path).", advice: .enterExportPassphrase,
      path: path)
  }

  /// The file was truncated or changed after it was written.
  static func damagedAccountsFile(_ path: String) -> Problem {
    .store(
      .corrupt,
      "\(path) was truncated or changed after the export, so nothing was imported.",
      advice: .exportAgain,
      path: path)
  }

  fileprivate static let tooManyAccounts = Problem.store(
    .full, "The accounts exceed the limit of 16 MiB for a file. Nothing was written.")
  fileprivate static let noMemory = Problem.store(
    .refused,
    "There is not enough memory to derive a key from the passphrase.", advice: .freeMemory
  )
}
