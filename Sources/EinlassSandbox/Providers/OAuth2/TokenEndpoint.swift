import EinlassCrypto
import EinlassJSON

/// The token endpoint. RFC 6749 sections 4.1.3, 4.4.2 and 6.
extension OAuth2Provider {
  /// The tokens to issue.
  struct Grant {
    var application: Consumer
    /// `nil` for a token of the application itself.
    var user: Record?
    var scopes: [String]
    /// The family of the code or of the refresh token.
    var family: String?
    var nonce: String?
    var resource: String?
    /// The type of token in the answer to a token exchange. RFC 8693 section 2.2.1.
    var issuedType: String?
  }

  /// - Parameter isRefresh: Whether it is the endpoint for refresh tokens alone.
  func token(
    _ request: Request, refreshing isRefresh: Bool, in world: inout World
  ) throws(OAuth2Refusal) -> Answer {
    let behaviour = behaviour(in: world)
    guard behaviour.tokenMethods.contains(request.method) else {
      throw OAuth2Refusal("invalid_request", "Use \(behaviour.tokenMethods[0])", status: 405)
    }
    guard let form = behaviour.takesJSON ? request.texts : request.form, let query = request.query
    else {
      world.note("parameters", false, "they cannot be decoded")
      throw OAuth2Refusal("invalid_request", "The parameters cannot be decoded")
    }
    let isQueryTaken = behaviour.takesQuery || request.method == "GET"
    let secrets = [
      "client_secret", "code", "refresh_token", "device_code", "code_verifier", "assertion",
      "subject_token",
    ]
    let stray = isQueryTaken ? nil : secrets.first { !query.values(of: $0).isEmpty }
    world.note("parameters", stray == nil, stray.map { "\($0) in the query" })
    guard stray == nil else {
      throw OAuth2Refusal("invalid_request", "Parameters belong in the body")
    }
    let parameters = isQueryTaken ? query + form : form
    if let name = parameters.duplicate() {
      world.note("parameters", false, "\(name) occurs twice")
      throw OAuth2Refusal("invalid_request", "The parameter \(name) occurs twice")
    }
    let application = try application(of: request, parameters, in: &world)
    if let answer = try identityAssertion(parameters, of: application, request, in: &world) {
      return answer
    }
    let type = parameters["grant_type"] ?? (isRefresh ? "refresh_token" : nil)
    guard path(of: .refresh, in: world) == nil || isRefresh == (type == "refresh_token") else {
      throw OAuth2Refusal("unsupported_grant_type", "Another endpoint has this grant type")
    }
    let grant =
      switch type {
      case "authorization_code": try redeemCode(parameters, of: application, in: &world)
      case "refresh_token": try refresh(parameters, of: application, in: &world)
      case "client_credentials": try own(parameters, of: application, in: &world)
      case behaviour.deviceGrant ?? "urn:ietf:params:oauth:grant-type:device_code":
        try redeemDevice(parameters, of: application, in: &world)
      case Self.jwtBearer: try redeemAssertion(parameters, of: application, request, in: &world)
      case Self.tokenExchange: try exchange(parameters, of: application, request, in: &world)
      case nil: throw OAuth2Refusal("invalid_request", "grant_type is missing")
      default: throw OAuth2Refusal("unsupported_grant_type", "The grant type is not supported")
      }
    return try issue(grant, for: request, refreshed: parameters["refresh_token"], in: &world)
  }

  private func redeemCode(
    _ parameters: [Parameter], of application: Consumer, in world: inout World
  ) throws(OAuth2Refusal) -> Grant {
    guard let code = parameters["code"] else {
      throw OAuth2Refusal("invalid_request", "code is missing")
    }
    let record = world.state[at: name, "codes", code]
    if let family = record?["family"]?.string {
      // The code is used a second time, so one of its users has stolen it. Their tokens cannot be
      // told apart, so all are revoked. RFC 6749 section 4.1.2.
      world.state[at: name, "families", family, "revoked"] = true
    }
    let flaw: String? =
      switch record {
      case nil: "unknown"
      case let record? where record["family"] != nil: "used before"
      case let record? where record["expiresAt"]?.int64 ?? 0 <= world.now: "expired"
      case let record? where !sameBytes(record["application"]?.string ?? "", application.id):
        "of another application"
      case let record?
      where record["redirect"]?.string.map({ sameBytes($0, parameters["redirect_uri"] ?? "") })
        == false:
        "of another redirect address"
      default: nil
      }
    world.note("code", flaw == nil, flaw)
    guard let record, flaw == nil else {
      throw OAuth2Refusal("invalid_grant", "The code is \(flaw ?? "unknown")")
    }
    try checkVerifier(
      parameters["code_verifier"], challenge: record["challenge"]?.string, in: &world)
    guard let user = record["user"]?.string.flatMap({ user($0, in: world) }) else {
      throw OAuth2Refusal("invalid_grant", "The user is gone")
    }
    let family = world.randomText(16)
    world.state[at: name, "codes", code, "family"] = .string(family)
    let grant = Grant(
      application: application, user: user, scopes: record["scopes"]?.strings ?? [],
      family: family, nonce: record["nonce"]?.string, resource: record["resource"]?.string)
    start(family, of: grant, in: &world)
    return grant
  }

  /// RFC 7636 section 4.6. A verifier without a challenge suggests a code of another client.
  private func checkVerifier(
    _ verifier: String?, challenge: String?, in world: inout World
  ) throws(OAuth2Refusal) {
    guard behaviour(in: world).pkce != "unknown" else { return }
    guard behaviour(in: world).pkce != "refused" || verifier == nil else {
      // A provider that takes either a secret or a verifier reports the client.
      world.note("codeVerifier", false, "it is refused")
      throw OAuth2Refusal("invalid_client", "Client authentication failed", status: 401)
    }
    let isRight: Bool =
      switch (verifier, challenge) {
      case (nil, nil): true
      case (let verifier?, let challenge?):
        (43...128).contains(verifier.utf8.count)
          && sameBytes(PercentCoding.encode(verifier), verifier)
          && constantTimeEqual(
            Array(base64URL(Digest.sha256(Array(verifier.utf8))).utf8), Array(challenge.utf8))
      default: false
      }
    world.note("codeVerifier", isRight)
    guard isRight else { throw OAuth2Refusal("invalid_grant", "The code_verifier is wrong") }
  }

  private func refresh(
    _ parameters: [Parameter], of application: Consumer, in world: inout World
  ) throws(OAuth2Refusal) -> Grant {
    guard let token = parameters["refresh_token"] else {
      throw OAuth2Refusal("invalid_request", "refresh_token is missing")
    }
    let record = world.state[at: name, "refreshTokens", token]
    let id = record?["family"]?.string ?? ""
    if record?["used"]?.bool == true {
      // An old refresh token is used again: either it or its successor is stolen. RFC 9700 section
      // 4.14.2.
      world.state[at: name, "families", id, "revoked"] = true
    }
    let family = world.state[at: name, "families", id]
    let flaw: String? =
      switch (record, family) {
      case (nil, _), (_, nil): "unknown"
      case (let record?, _) where record["used"]?.bool == true: "used before"
      case (let record?, _) where record["revoked"]?.bool == true: "revoked"
      case (let record?, _) where record["expiresAt"]?.int64 ?? .max <= world.now: "expired"
      case (_, let family?) where family["revoked"]?.bool == true: "revoked"
      case (_, let family?) where family["renewableAt"]?.int64 ?? 0 > world.now: "used too often"
      case (_, let family?) where !sameBytes(family["application"]?.string ?? "", application.id):
        "of another application"
      default: nil
      }
    world.note("refreshToken", flaw == nil, flaw)
    if flaw == "used too often" {
      throw OAuth2Refusal("slow_down", "The refresh token is \(flaw ?? "")", status: 429)
    }
    guard flaw == nil, let user = family?["user"]?.string.flatMap({ user($0, in: world) }) else {
      throw OAuth2Refusal("invalid_grant", "The refresh token is \(flaw ?? "unknown")")
    }
    let granted = family?["scopes"]?.strings ?? []
    let scopes = parameters["scope"].map(behaviour(in: world).split) ?? granted
    guard scopes.allSatisfy({ granted.contains($0) }) else {
      throw OAuth2Refusal("invalid_scope", "The scope was not granted")
    }
    return Grant(
      application: application, user: user, scopes: scopes, family: id,
      resource: family?["resource"]?.string)
  }

  /// RFC 6749 section 4.4: only an application with a secret can authenticate itself.
  private func own(
    _ parameters: [Parameter], of application: Consumer, in world: inout World
  ) throws(OAuth2Refusal) -> Grant {
    guard !application.secret.isEmpty else {
      throw OAuth2Refusal("unauthorized_client", "The application has no secret")
    }
    return Grant(
      application: application, scopes: behaviour(in: world).split(parameters["scope"] ?? ""))
  }
}
