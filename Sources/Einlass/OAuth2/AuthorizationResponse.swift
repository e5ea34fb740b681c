internal import EinlassCrypto
internal import EinlassJSON

/// The authorization response in a redirect's query. RFC 6749 sections 4.1.2 and 4.1.2.1.
enum AuthorizationResponse {
  case code(Secret)
  /// The provider's error for this flow: its code and its description, without control characters.
  case refused(error: String, description: String?)
  /// An error without the issuer, although the server has promised it for every response.
  case anonymous(error: String)
}

/// A sign-in waiting for its response. RFC 9207 for the issuer.
struct PendingAuthorization {
  var stateParameter: String
  /// The issuer, if it is known. A response that names another one is ignored.
  var issuer: String?
  /// Whether the server's metadata promises the issuer's name in every response.
  var promisesIssuer = false

  /// The longest query that is read, in bytes.
  static let queryLimitBytes = 16 << 10

  /// Reads a query string. `+` is a space, as browsers send it. `nil` for a response that is not
  /// for this flow: another state, a foreign issuer, a repeated parameter, or neither a code nor an
  /// error.
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
      // The state matches, so this response may end the sign-in, but it must not complete it.
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
    // A server configured without discovery has no known issuer to compare with.
    return issuer.map { sameBytes($0, said) } ?? true
  }
}
