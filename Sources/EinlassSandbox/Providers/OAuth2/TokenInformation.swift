import EinlassJSON

/// The endpoints for issued tokens: userinfo, introspection and revocation.
extension OAuth2Provider {
  /// Returns the user of a token by this template or, without one, as OpenID claims. The token is
  /// in the header (RFC 6750 section 2.1).
  func userinfo(
    _ request: Request, filling template: String = "person", in world: inout World
  ) throws(OAuth2Refusal) -> Answer {
    let stray = ((request.query ?? []) + (request.form ?? [])).values(of: "access_token").first
    let isStrayTaken = behaviour(in: world).takesQuery
    world.note("tokenInHeader", stray == nil)
    guard stray == nil || isStrayTaken else {
      throw OAuth2Refusal(
        "invalid_request", "The token belongs in the Authorization header", challenge: "Bearer")
    }
    guard let token = request.authorization("Bearer") ?? stray else {
      throw OAuth2Refusal("invalid_token", "There is no token", status: 401, challenge: "Bearer")
    }
    let (record, flaw) = self.token(token, in: world)
    world.note("token", flaw == nil, flaw)
    guard flaw == nil, let record,
      let user = record["user"]?.string.flatMap({ user($0, in: world) })
    else {
      throw OAuth2Refusal(
        "invalid_token", "The token is \(flaw ?? "unknown")", status: 401, challenge: "Bearer")
    }
    if let scope = behaviour(in: world).scope(forFilling: template) {
      let isThere = record["scopes"]?.strings.contains(scope) ?? false
      world.note("userinfoScope", isThere)
      guard isThere else {
        throw OAuth2Refusal(
          "invalid_token", "The token is for another service", status: 401, challenge: "Bearer")
      }
    }
    if let header = behaviour(in: world).applicationHeader {
      let owner = record["application"]?.string ?? ""
      let isNamed = request.header(header).map { sameBytes($0, owner) } ?? false
      world.note("applicationHeader", isNamed)
      guard isNamed else {
        throw OAuth2Refusal("invalid_client", "The header \(header) is wrong", status: 401)
      }
    }
    if let field = behaviour(in: world).userinfoQuery {
      let query = (try? JSONReader.read(request.body))?["query"]?.string ?? ""
      let isAsked = request.method == "POST" && query.contains(field)
      world.note("userinfoQuery", isAsked)
      guard isAsked else { throw OAuth2Refusal("invalid_request", "Ask in GraphQL for \(field)") }
    }
    let scopes = (record["scopes"]?.strings ?? []).joined(separator: ", ")
    let headers =
      path(of: .tokenForm, in: world) == nil
      ? [] : [Parameter(name: "X-OAuth-Scopes", value: scopes)]
    if let template = world.state[at: name, template] {
      return .json(Self.fill(template, with: user) ?? .null, headers: headers)
    }
    return .json(.object(person(user, scopes: record["scopes"]?.strings ?? [])))
  }

  /// RFC 7662. Only for authenticated applications. A token of another application is reported as
  /// inactive.
  func introspection(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
    let (application, token) = try subject(of: request, named: "token", in: &world)
    guard !application.secret.isEmpty else {
      throw OAuth2Refusal(
        "invalid_client", "Only applications with a secret may ask", status: 401, challenge: "Basic"
      )
    }
    let (record, flaw) = self.token(token, in: world)
    let isOwn = record?["application"]?.string.map { sameBytes($0, application.id) } ?? false
    world.note("token", flaw == nil && isOwn, flaw ?? (isOwn ? nil : "of another application"))
    guard flaw == nil, isOwn, let record else { return .json(["active": false]) }
    let user = record["user"]?.string.flatMap { self.user($0, in: world) }
    let scope = (record["scopes"]?.strings ?? []).joined(separator: " ")
    let members = JSONObject(present: [
      "active": true, "client_id": .string(application.id), "token_type": "Bearer",
      "scope": .string(scope), "sub": user.map { .string($0.id) },
      "username": user?.value["username"], "iat": record["issuedAt"], "exp": record["expiresAt"],
      "iss": .string(issuer(for: request, in: world)),
    ])
    return .json(.object(members))
  }

  /// RFC 7009. Revoking a refresh token revokes its family. An unknown token counts as revoked.
  func revocation(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
    let (application, token) = try revoked(by: request, in: &world)
    let access = world.state[at: name, "tokens", token]
    let family = world.state[at: name, "refreshTokens", token, "family"]?.string
    let owner =
      access?["application"]?.string
      ?? family.flatMap { world.state[at: name, "families", $0, "application"]?.string }
    let isOwn = application.flatMap { by in owner.map { sameBytes($0, by.id) } } ?? true
    world.note("token", isOwn, owner == nil ? "unknown" : nil)
    guard isOwn else {
      throw OAuth2Refusal("invalid_grant", "The token belongs to another application")
    }
    if access != nil { world.state[at: name, "tokens", token, "revoked"] = true }
    if let family { world.state[at: name, "families", family, "revoked"] = true }
    return .text("")
  }

  /// `DELETE` with the token in JSON, and the application's id and secret in HTTP Basic.
  func tokenDeletion(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
    let application = try application(of: request, [], in: &world)
    guard sameBytes(request.method, "DELETE"),
      let token = (try? JSONReader.read(request.body))?["access_token"]?.string,
      let record = world.state[at: name, "tokens", token]
    else { throw OAuth2Refusal("not_found", "There is no such token", status: 404) }
    let isOwn = sameBytes(record["application"]?.string ?? "", application.id)
    world.note("token", isOwn)
    guard isOwn else {
      throw OAuth2Refusal("not_found", "The token belongs to another application", status: 404)
    }
    world.state[at: name, "tokens", token, "revoked"] = true
    return .text("", status: 204)
  }

  /// Returns the token to revoke, and the application if it has to authenticate itself.
  private func revoked(
    by request: Request, in world: inout World
  ) throws(OAuth2Refusal) -> (Consumer?, token: String) {
    let form = request.form ?? []
    let found =
      switch behaviour(in: world).revocation {
      case "bearer": request.authorization("Bearer")
      case "open": form["token"] ?? form["access_token"]
      default: String?.none
      }
    if let found { return (nil, found) }
    let name = behaviour(in: world).revokedName
    let (application, token) = try subject(of: request, named: name, in: &world)
    return (application, token)
  }

  /// Returns the authenticated application and the token in the form.
  private func subject(
    of request: Request, named name: String, in world: inout World
  ) throws(OAuth2Refusal) -> (Consumer, token: String) {
    let isJSON = behaviour(in: world).takesJSON
    guard sameBytes(request.method, "POST"), let form = isJSON ? request.texts : request.form
    else {
      throw OAuth2Refusal("invalid_request", "Send a form by POST", status: 405)
    }
    let application = try application(of: request, form, in: &world)
    guard let token = form[name] else {
      throw OAuth2Refusal("invalid_request", "\(name) is missing")
    }
    return (application, token)
  }
}
