internal import EinlassCrypto
internal import EinlassJSON

/// The authorization response of a sign-in. RFC 6749 sections 4.1.2 and 4.1.2.1.
enum AuthorizationResponse {
  /// The code, and the parameters that the token request gets too.
  case code(Secret, [Parameter])
  /// The provider's error for this flow: its code and its description, without control characters.
  case refused(error: String, description: String?)
  /// An error without the issuer, although the server has promised it for every response.
  case anonymous(error: String)
  /// A response from this issuer, or without the promised issuer (RFC 9207). Its code may belong to
  /// another server.
  case foreign(issuer: String?)
  /// A response with this flaw, a predicate.
  case unusable(String)
}

/// A sign-in waiting for its response. RFC 9207 for the issuer.
struct PendingAuthorization {
  var stateParameter: String
  /// The issuer, if it is known.
  var issuer: String?
  /// Whether the server's metadata promises the issuer's name in every response.
  var promisesIssuer = false
  /// The names of the parameters that the token request gets too.
  var handedOn: [String] = []

  /// Reads a response. `nil` if it is not for this flow: its only value of `state` must be ours.
  /// Every response of this flow ends the sign-in, because the provider sends no second one.
  func response(_ returned: RedirectParameters) -> AuthorizationResponse? {
    let parameters = ReturnedParameters(returned)
    guard parameters.has("state", stateParameter) else { return nil }
    if let flaw = parameters.flaw(in: ["code", "iss", "error"] + handedOn) {
      return .unusable(flaw)
    }
    let answer = (code: parameters["code"], error: parameters["error"])
    if let said = parameters.first("iss") {
      // A server configured without discovery has no known issuer to compare with.
      guard issuer.map({ IssuerName($0).isNamed(by: said) }) ?? true else {
        return .foreign(issuer: cleaned(said, limitBytes: 200))
      }
    } else if promisesIssuer {
      guard answer.code == nil, let error = answer.error else { return .foreign(issuer: nil) }
      return .anonymous(error: cleaned(error))
    }
    switch answer {
    case (let code?, nil):
      guard TokenResponse.isCode(code) else { return .unusable("has a malformed code") }
      let further = handedOn.compactMap { name in parameters[name].map { Parameter(name, $0) } }
      let flawed = further.first {
        $0.value.utf8.count > 512 || $0.value.unicodeScalars.contains(where: isControl)
      }
      return flawed.map { .unusable("has an unusable value of \($0.name)") }
        ?? .code(Secret(code), further)
    case (nil, let error?):
      return .refused(
        error: cleaned(error), description: parameters["error_description"].map { cleaned($0) })
    case (_?, _?): return .unusable("has both a code and an error")
    case (nil, nil): return .unusable("has neither a code nor an error")
    }
  }
}
