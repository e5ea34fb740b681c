import EinlassJSON

/// The endpoints for the user's profile, for tokens, and for information about a token.
extension Facebook {
  /// Sixty days, the lifetime of Facebook's long-lived tokens.
  static let tokenSeconds: Int64 = 5_184_000
  /// Two hours, about the lifetime of tokens from a login in the browser.
  static let shortTokenSeconds: Int64 = 7200

  /// `GET /me`
  func me(_ request: Request, in world: inout World) throws(FacebookError) -> Answer {
    guard let token = try bearer(request, in: &world) else { throw .noToken }
    let holder = try holder(of: token, in: &world)
    try checkProof(of: holder, request, in: &world)
    let fields = request.query?["fields"] ?? "name,id"
    var answer = JSONObject()
    for field in fields.split(separator: ",").map(String.init) {
      switch field {
      case "id": answer["id"] = .string(holder.user.id)
      case "name": answer["name"] = .string(holder.user["name"] ?? "")
      case "email":
        world.note("email", holder.hasScope("email"))
        if holder.hasScope("email") { answer["email"] = holder.user.value["email"] }
      default:
        throw .parameter("Tried accessing nonexisting field (\(field)) on node type (User)")
      }
    }
    answer["id"] = .string(holder.user.id)
    return .json(.object(answer))
  }

  /// `POST /oauth/access_token`: redeems a code, exchanges a short-lived token, or issues a token
  /// for an application in exchange for the system's.
  func accessToken(_ request: Request, in world: inout World) throws(FacebookError) -> Answer {
    if let form = request.form, form["code"] != nil { return try redeemCode(form, in: &world) }
    if let form = request.form, form["fb_exchange_token"] != nil {
      return try exchange(form, in: &world)
    }
    guard let token = try bearer(request, in: &world) else { throw .noToken }
    let form = request.form ?? []
    let isMint: Bool
    switch form["grant_type"] {
    case "fb_attenuate_token": isMint = true
    case "fb_extend_sso_token": isMint = false
    default: throw .parameter("Invalid grant_type")
    }
    let system = try holder(of: token, in: &world)
    world.note("system", system.consumer.isSystem)
    guard system.consumer.isSystem else { throw .capability }
    guard let id = form["client_id"], let consumer = consumer(id, in: world.state),
      !consumer.isSystem
    else {
      world.note("application", false, form["client_id"] ?? "it is missing")
      throw .unknownApplication
    }
    guard !consumer.isRevoked else { throw .applicationDeleted }
    world.note("application", true, id)
    return isMint
      ? try mint(form, of: consumer, for: system.user, in: &world)
      : try extend(consumer, for: system.user, in: &world)
  }

  /// Exchanges a valid token for a long-lived one of the same application.
  private func exchange(
    _ form: [Parameter], in world: inout World
  ) throws(FacebookError) -> Answer {
    let consumer = try provenApplication(form, in: &world)
    guard form["grant_type"] == "fb_exchange_token" else { throw .parameter("Invalid grant_type") }
    let holder = try holder(of: form["fb_exchange_token"] ?? "", in: &world)
    let isOwn = sameBytes(holder.consumer.id, consumer.id)
    world.note("ownToken", isOwn)
    guard isOwn else { throw .invalidToken }
    return issue(
      to: consumer, user: holder.user, scopes: holder.token.value["scopes"] ?? [],
      audience: holder.token.value["audience"] ?? "me", in: &world)
  }

  /// `DELETE /me/permissions`: the user removes the application, which voids its tokens.
  func removeApplication(_ request: Request, in world: inout World) throws(FacebookError) -> Answer
  {
    guard let token = try bearer(request, in: &world) else { throw .noToken }
    let holder = try holder(of: token, in: &world)
    world.state[at: name, "users", holder.user.id, "removed", holder.consumer.id] = true
    return .json(["success": true])
  }

  /// `GET /debug_token`
  func debugToken(_ request: Request, in world: inout World) throws(FacebookError) -> Answer {
    guard let token = try bearer(request, in: &world) else { throw .tokenRequired }
    let parts = token.split(separator: "|", maxSplits: 1).map(String.init)
    guard parts.count == 2, let viewer = consumer(parts[0], in: world.state), !viewer.isRevoked,
      sameBytes(viewer.secret, parts[1])
    else {
      world.note("applicationToken", false)
      throw .invalidToken
    }
    world.note("applicationToken", true, viewer.id)
    guard let input = request.query?["input_token"], !input.isEmpty else {
      throw .parameter("The parameter input_token is required")
    }
    return .json(["data": .object(description(of: input, in: &world))])
  }

  /// Issues a token with the scopes that the person has just granted.
  private func mint(
    _ form: [Parameter], of consumer: Consumer, for user: Record, in world: inout World
  ) throws(FacebookError) -> Answer {
    let audience = form["audience"] ?? ""
    guard ["me", "friends", "everyone"].contains(where: { sameBytes($0, audience) }) else {
      throw .parameter("Invalid audience")
    }
    let scopes = (form["scope"] ?? "").split(separator: ",").map(String.init)
    let isScope = { (scope: String) in
      scope.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") }
    }
    guard !scopes.isEmpty, scopes.allSatisfy(isScope) else { throw .parameter("Invalid scope") }
    readmit(consumer, by: user, in: &world)
    return issue(
      to: consumer, user: user, scopes: JSONValue(scopes), audience: .string(audience), in: &world)
  }

  /// Deletes the mark of a removed application, and revokes its earlier tokens for good.
  func readmit(_ consumer: Consumer, by user: Record, in world: inout World) {
    guard user.value[at: "removed", consumer.id]?.bool == true else { return }
    world.state[at: name, "users", user.id, "removed", consumer.id] = .none
    for token in tokens(of: consumer, user, in: world) {
      world.state[at: name, "tokens", token.name, "revoked"] = true
    }
  }

  private func tokens(of consumer: Consumer, _ user: Record, in world: World) -> [JSONObject.Member]
  {
    (world.state[at: name, "tokens"]?.object?.members ?? []).filter { token in
      sameBytes(token.value["application"]?.string ?? "", consumer.id)
        && sameBytes(token.value["user"]?.string ?? "", user.id)
    }
  }

  /// Issues a token with the scopes of the last one.
  private func extend(
    _ consumer: Consumer, for user: Record, in world: inout World
  ) throws(FacebookError) -> Answer {
    let isRemoved = user.value[at: "removed", consumer.id]?.bool == true
    let former = tokens(of: consumer, user, in: world).last
    let isAuthorized = former != nil && !isRemoved
    world.note("authorized", isAuthorized)
    guard let former, isAuthorized else { throw .notAuthorized(consumer.id) }
    return issue(
      to: consumer, user: user, scopes: former.value["scopes"] ?? [],
      audience: former.value["audience"] ?? "me", in: &world)
  }

  /// Issues a token for an application.
  func issue(
    to consumer: Consumer, user: Record, scopes: JSONValue, audience: JSONValue,
    seconds: Int64 = tokenSeconds, in world: inout World
  ) -> Answer {
    let token = "EAAB" + world.randomText(60)
    world.state[at: name, "tokens", token] = [
      "application": .string(consumer.id), "user": .string(user.id),
      "issuedAt": JSONValue(world.now), "expiresAt": JSONValue(world.now + seconds),
      "scopes": scopes, "audience": audience,
    ]
    return .json([
      "access_token": .string(token), "token_type": "bearer",
      "expires_in": JSONValue(seconds),
    ])
  }

  private func description(of token: String, in world: inout World) -> JSONObject {
    let record = world.state[at: name, "tokens", token]
    let application = record?["application"]?.string
    var data = JSONObject(present: [
      "app_id": application.map(JSONValue.string),
      "type": record.map { _ in "USER" },
      "application": application.flatMap { consumer($0, in: world.state)?.record["name"] },
      "expires_at": record.map { $0["expiresAt"] ?? 0 },
      "issued_at": record?["issuedAt"],
      "user_id": record?["user"],
    ])
    do throws(FacebookError) {
      _ = try holder(of: token, in: &world)
      data["is_valid"] = true
    } catch {
      data["error"] = .object(
        JSONObject(present: [
          "code": JSONValue(error.code), "message": .string(error.message),
          "subcode": error.subcode.map { JSONValue($0) },
        ]))
      data["is_valid"] = false
    }
    data["scopes"] = record?["scopes"] ?? []
    return data
  }
}
