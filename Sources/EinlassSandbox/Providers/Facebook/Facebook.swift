import EinlassCrypto
import EinlassJSON

/// Facebook's Graph API with tokens of system accounts. It accepts tokens in `Authorization:
/// Bearer` only.
struct Facebook: Provider {
  let name = "facebook"
  let origins = ["https://graph.facebook.com", "https://www.facebook.com"]

  /// Every request that `Providers.owner` has not given to a provider before this one.
  func owns(_ request: Request) -> Bool { true }

  func answer(_ request: Request, in world: inout World) -> Answer {
    do throws(FacebookError) {
      try checkLimit(of: request, in: &world)
      switch (request.method, Self.withoutVersion(request.path)) {
      case ("GET", "/me"): return try me(request, in: &world)
      case (_, "/dialog/oauth"): return dialog(request, in: &world)
      case ("GET", "/oauth/access_token"): return try redeemCode(request.query ?? [], in: &world)
      case ("POST", "/oauth/access_token"): return try accessToken(request, in: &world)
      case ("POST", "/device/login"): return try deviceLogin(request, in: &world)
      case ("POST", "/device/login_status"): return try deviceStatus(request, in: &world)
      case (_, "/device"): return devicePage(request, in: &world)
      case ("DELETE", "/me/permissions"): return try removeApplication(request, in: &world)
      case ("GET", "/debug_token"): return try debugToken(request, in: &world)
      default: throw .unknownPath(request.path)
      }
    } catch {
      world.note("answer", false, "\(error.code)/\(error.subcode ?? 0) \(error.message)")
      return error.answer(trace: world.randomText(11))
    }
  }

  /// The application, the user and the checked token of a request.
  struct Holder: Sendable {
    var token: Record
    var user: Record
    /// The application that the token was issued to.
    var consumer: Consumer

    /// Returns whether the user has granted this scope.
    func hasScope(_ scope: String) -> Bool {
      token.value["scopes"]?.strings.contains { sameBytes($0, scope) } ?? false
    }
  }

  /// Returns the bearer token of a request. Throws for a token in the query or form, to detect such
  /// clients.
  func bearer(_ request: Request, in world: inout World) throws(FacebookError) -> String? {
    guard let query = request.query, let form = request.form else {
      throw .parameter("The parameters cannot be decoded")
    }
    let isElsewhere = !(query + form).values(of: "access_token").isEmpty
    world.note("tokenInHeader", !isElsewhere)
    guard !isElsewhere else {
      throw .parameter("The access token belongs in the Authorization header")
    }
    return request.authorization("Bearer")
  }

  /// Returns the holder of a token. Throws the first flaw of the token.
  func holder(of token: String, in world: inout World) throws(FacebookError) -> Holder {
    guard let record = world.state[at: name, "tokens", token],
      let user = record["user"]?.string, let application = record["application"]?.string,
      let userRecord = world.state[at: name, "users", user],
      let consumer = consumer(application, in: world.state)
    else {
      world.note("token", false, "unknown")
      throw .invalidToken
    }
    let holder = Holder(
      token: Record(id: token, value: record), user: Record(id: user, value: userRecord),
      consumer: consumer)
    let flaw = flaw(of: holder, now: world.now)
    world.note("token", flaw == nil, flaw?.message ?? token)
    if let flaw { throw flaw }
    return holder
  }

  /// Checks `appsecret_proof`. Some applications require it, and it must never be wrong.
  func checkProof(of holder: Holder, _ request: Request, in world: inout World)
    throws(FacebookError)
  {
    let proofs = (request.query ?? []).values(of: "appsecret_proof")
    guard let proof = proofs.first else {
      guard holder.consumer.record["requiresProof"]?.bool == true else { return }
      world.note("appsecret_proof", false, "it is missing")
      throw .proofMissing
    }
    let isRight =
      proofs.count == 1
      && constantTimeEqual(
        Array(proof.utf8),
        Array(Self.proof(token: holder.token.id, secret: holder.consumer.secret).utf8))
    world.note("appsecret_proof", isRight)
    guard isRight else { throw .proofWrong }
  }

  /// Returns the HMAC-SHA256 of a token with the application's secret, in lower-case hexadecimal.
  static func proof(token: String, secret: String) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let code = MessageAuthentication.hmacSHA256(
      key: Array(secret.utf8), message: Array(token.utf8))
    return String(
      decoding: code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private func flaw(of holder: Holder, now: Int64) -> FacebookError? {
    let user = holder.user.value
    let token = holder.token.value
    return if holder.consumer.isRevoked {
      .applicationDeleted
    } else if user["checkpointed"]?.bool == true {
      .checkpointed
    } else if user["unconfirmed"]?.bool == true {
      .unconfirmed
    } else if user["passwordChanged"]?.bool == true {
      .passwordChanged
    } else if user[at: "removed", holder.consumer.id]?.bool == true {
      .notAuthorized(holder.consumer.id)
    } else if token["revoked"]?.bool == true {
      .loggedOut
    } else if let expiresAt = token["expiresAt"]?.int64, expiresAt != 0, expiresAt <= now {
      .expired
    } else {
      nil
    }
  }

  private func checkLimit(of request: Request, in world: inout World) throws(FacebookError) {
    guard let limit = world.exhaustedLimit(of: name, path: request.path) else { return }
    throw limit["code"]?.int64 == 17 ? .userLimit : .applicationLimit
  }

  /// Removes the version, such as `/v2.8`, because the Graph accepts paths with and without.
  private static func withoutVersion(_ path: String) -> String {
    let parts = path.split(separator: "/", maxSplits: 1)
    let numbers = (parts.first ?? "").dropFirst().split(separator: ".").map { UInt16($0) }
    guard path.hasPrefix("/v"), parts.count == 2, numbers.count == 2, !numbers.contains(nil) else {
      return path
    }
    return "/" + parts[1]
  }
}
