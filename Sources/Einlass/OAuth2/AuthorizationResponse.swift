internal import EinlassCrypto
internal import EinlassJSON

/// What a browser brought back to the redirect address. RFC 6749 sections 4.1.2 and 4.1.2.1.
enum AuthorizationResponse {
  case code(Secret)
  /// The provider's error, which is for this flow: its code, cleaned, and its description.
  case refused(error: String, description: String?)
  /// An error without the issuer that every answer was promised to name.
  case anonymous(error: String)
}

/// What an answer has to match. RFC 9207 for the issuer.
struct PendingAuthorization {
  var stateParameter: String
  /// The issuer, where it is known; an answer that names another is not for us.
  var issuer: String?
  /// Whether the server's metadata promises that every answer names its issuer.
  var promisesIssuer = false

  /// The most bytes of a query that are looked at.
  static let queryLimitBytes = 16 << 10

  /// Reads a query string. `+` is a space, as browsers send it. `nil` for what this flow does not wait for: another
  /// state, a foreign issuer, a parameter twice, or no answer at all (C-55).
  func response(query: String) -> AuthorizationResponse? {
    guard query.utf8.count <= Self.queryLimitBytes,
      let parameters = FormEncoding.decode(query.utf8, plus: .space)
    else { return nil }
    func values(_ name: String) -> [String] {
      parameters.filter { sameBytes($0.name, name) }.map(\.value)
    }
    let single = ["state", "code", "iss", "error", "error_description"]
    guard single.allSatisfy({ values($0).count <= 1 }), let state = values("state").first,
      constantTimeEqual(Array(state.utf8), Array(stateParameter.utf8))
    else { return nil }
    let answer = (code: values("code").first, error: values("error").first)
    guard isOurs(issuer: values("iss").first) else {
      // An answer that knows the state may end this sign-in, and must not complete it.
      guard values("iss").isEmpty, answer.code == nil, let error = answer.error, !error.isEmpty
      else { return nil }
      return .anonymous(error: cleaned(error))
    }
    switch answer {
    case (let code?, nil) where TokenResponse.isCode(code): return .code(Secret(code))
    case (nil, let error?) where !error.isEmpty:
      return .refused(
        error: cleaned(error), description: values("error_description").first.map { cleaned($0) })
    default: return nil
    }
  }

  private func isOurs(issuer said: String?) -> Bool {
    guard let said else { return !promisesIssuer }
    // A server that was never discovered has no name to compare with; its own endpoints are all it can be.
    return issuer.map { sameBytes($0, said) } ?? true
  }
}
