internal import EinlassJSON

/// A signed text in compact form, not yet verified. RFC 7515 sections 3.1 and 7.1, read strictly.
public struct JSONWebSignature: Sendable {
  public let algorithm: TokenAlgorithm
  /// `typ` of the header, unchanged.
  public let type: String?
  /// `kid` of the header.
  public let keyID: String?
  /// The signed content. Trust it only after `verify`.
  public let payload: [UInt8]
  private let signedText: [UInt8]
  private let signature: [UInt8]

  /// The reason a text is refused.
  public enum Fault: String, Error, Sendable {
    case tooLong = "is longer than 64 KiB"
    case form = "does not consist of three base64url parts"
    case header = "has a header that is not a valid JSON object"
    case type = "is a token of another kind"
    case algorithm = "is signed by an algorithm that is not accepted"
    case keyAlgorithm = "is signed by another algorithm than that of its key"
    case critical = "demands an unknown extension"
    case key = "is signed with a key that its issuer does not publish"
    case signature = "has a wrong signature"
  }

  /// The longest text that is read, in bytes.
  public static let byteLimit = 65_536

  /// The largest number of keys that are tried.
  static let triedKeyLimit = 16

  /// Parses a text. `alg` must be known to einlass. Keys in the header (`jwk`, `jku`, `x5c`, `x5u`)
  /// are ignored, because the signer chooses them. `crit` is refused, because einlass supports no
  /// extension (RFC 7515 section 4.1.11).
  public static func parse(_ text: String) throws(Fault) -> JSONWebSignature {
    guard text.utf8.count <= byteLimit else { throw .tooLong }
    let bytes = Array(text.utf8)
    let parts = bytes.split(
      separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]),
      let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2])
    else { throw .form }
    guard let members = (try? JSONReader.read(header))?.object else { throw .header }
    guard members["crit"] == nil else { throw .critical }
    guard let name = members["alg"]?.string, let algorithm = TokenAlgorithm(rawValue: name) else {
      throw .algorithm
    }
    let (type, keyID) = (members["typ"]?.present, members["kid"]?.present)
    guard type == nil || type?.string != nil, keyID == nil || keyID?.keyID != nil else {
      throw .header
    }
    return JSONWebSignature(
      algorithm: algorithm, type: type?.string, keyID: keyID?.keyID, payload: payload,
      signedText: Array(bytes[..<parts[1].endIndex]), signature: signature)
  }

  /// Throws unless one of the keys has signed the text with an allowed algorithm.
  public func verify(_ keys: JSONWebKeySet, allowed: Set<TokenAlgorithm>) throws(Fault) {
    guard allowed.contains(algorithm) else { throw .algorithm }
    let named = keys.candidates(id: keyID)
    guard !named.isEmpty else { throw .key }
    let candidates = named.filter { $0.serves(algorithm) }
    guard !candidates.isEmpty else { throw .keyAlgorithm }
    let tried = candidates.filter { $0.isOfKind(for: algorithm) }.prefix(Self.triedKeyLimit)
    guard tried.contains(where: { $0.signed(signedText, as: signature, algorithm) }) else {
      throw .signature
    }
  }
}
