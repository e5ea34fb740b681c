import EinlassCrypto
import EinlassJSON
import FoundationEssentials

/// Client authentication (RFC 6749 section 2.3).
extension OAuth2Provider {
  /// Returns the authenticated application of a request to the token endpoint or a similar one.
  ///
  /// Accepts only one method per request, and only a method of this application. An application
  /// without a secret sends its id in the form.
  func application(
    of request: Request, _ parameters: [Parameter], in world: inout World
  ) throws(OAuth2Refusal) -> Consumer {
    let behaviour = behaviour(in: world)
    let basic = try credentials(inHeaderOf: request, behaviour: behaviour)
    let secret = parameters["client_secret"]
    guard basic == nil || secret == nil else {
      world.note("application", false, "it authenticates itself twice")
      throw OAuth2Refusal("invalid_request", "Use one client authentication method")
    }
    if let basic, let named = parameters["client_id"], !sameBytes(basic.id, named) {
      world.note("application", false, "two ids")
      throw OAuth2Refusal("invalid_request", "The client ids differ")
    }
    let id = basic?.id ?? parameters["client_id"]
    guard let id, let application = consumer(id, in: world.state), !application.isRevoked else {
      world.note("application", false, id ?? "it is missing")
      throw refusal(of: basic != nil)
    }
    let way = basic != nil ? "client_secret_basic" : secret != nil ? "client_secret_post" : "none"
    let ways =
      application.record["authentication"]?.string.map { [$0] }
      ?? (application.secret.isEmpty ? ["none"] : behaviour.authentication)
    guard ways.contains(way) else {
      world.note("authentication", false, "\(way) is not allowed")
      throw refusal(of: basic != nil)
    }
    let isRight =
      way == "none"
      || constantTimeEqual(
        Array((basic?.secret ?? secret ?? "").utf8), Array(application.secret.utf8))
    world.note("authentication", isRight, way)
    guard isRight else { throw refusal(of: basic != nil) }
    return application
  }

  private func refusal(of isBasic: Bool) -> OAuth2Refusal {
    OAuth2Refusal(
      "invalid_client", "The application is unknown or its authentication is wrong", status: 401,
      challenge: isBasic ? "Basic" : nil)
  }

  private func credentials(
    inHeaderOf request: Request, behaviour: OAuth2Behaviour
  ) throws(OAuth2Refusal) -> (id: String, secret: String)? {
    guard request.header("Authorization") != nil else { return nil }
    guard let encoded = request.authorization("Basic"), let bytes = Data(base64Encoded: encoded),
      let text = String(validating: bytes, as: UTF8.self)
    else { throw refusal(of: true) }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw refusal(of: true) }
    guard behaviour.decodesBasic else { return (String(parts[0]), String(parts[1])) }
    guard let id = PercentCoding.decode(parts[0], plusIsSpace: true),
      let secret = PercentCoding.decode(parts[1], plusIsSpace: true)
    else { throw refusal(of: true) }
    return (id, secret)
  }
}
