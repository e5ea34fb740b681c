import EinlassCrypto
import EinlassJSON
import FoundationEssentials

/// The signature of RFC 5849 section 3.4, from the server's side.
enum OAuth1Signature {
  /// The accepted signature methods.
  enum Method: String, Sendable {
    case sha1 = "HMAC-SHA1"
    case sha256 = "HMAC-SHA256"
  }

  /// Returns the base string of RFC 5849 section 3.4.1. `uri` has no query and no default port.
  static func baseString(method: String, uri: String, parameters: [Parameter]) -> String {
    let pairs = parameters.map { parameter in
      (name: PercentCoding.encode(parameter.name), value: PercentCoding.encode(parameter.value))
    }
    let normalized = pairs.sorted { left, right in
      sameBytes(left.name, right.name)
        ? left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
        : left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }
    let joined = normalized.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    return [method.uppercased(), uri, joined].map(PercentCoding.encode).joined(separator: "&")
  }

  /// Returns the base string URI of RFC 5849 section 3.4.1.2.
  ///
  /// The path stays as sent, because decoding and encoding it again would change `%2F`.
  static func baseURI(scheme: String = "http", host: String, path: String) -> String {
    var authority = host.lowercased()
    let defaultPort = scheme == "https" ? ":443" : ":80"
    if authority.hasSuffix(defaultPort) { authority.removeLast(defaultPort.count) }
    return "\(scheme)://\(authority)\(path.isEmpty ? "/" : path)"
  }

  /// Returns the signature in base64.
  static func sign(
    _ base: String, with method: Method = .sha1, consumerSecret: String, tokenSecret: String = ""
  ) -> String {
    let key = Array(
      "\(PercentCoding.encode(consumerSecret))&\(PercentCoding.encode(tokenSecret))".utf8)
    let message = Array(base.utf8)
    let code =
      switch method {
      case .sha1: MessageAuthentication.hmacSHA1(key: key, message: message)
      case .sha256: MessageAuthentication.hmacSHA256(key: key, message: message)
      }
    return Data(code).base64EncodedString()
  }
}
