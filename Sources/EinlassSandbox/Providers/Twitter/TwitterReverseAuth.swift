import EinlassCrypto
import EinlassJSON

/// Reverse auth: the system's token is exchanged for a token of an application.
extension Twitter {
  /// The lifetime of a temporary token.
  private static let requestSeconds: Int64 = 900

  /// `POST /oauth/request_token`: issues a temporary token for a callback. For reverse auth it
  /// returns signed parameters, for the holder of the system's token to send back.
  func requestToken(_ request: Request, in world: inout World) throws(TwitterRefusal) -> Answer {
    let signer = try signer(of: request, token: .forbidden, in: &world)
    if let callback = signer.parameters["oauth_callback"] {
      return try open(callback, for: signer, in: &world)
    }
    guard sameBytes(request.form?["x_auth_mode"] ?? "", "reverse_auth") else {
      throw .error(.notPermitted)
    }
    let consumer = try application(signer.application, in: &world)
    let mayReverse = consumer.record["reverseAuth"]?.bool == true
    world.note("reverseAuth", mayReverse)
    guard mayReverse else { throw .error(.notAuthorized) }
    let token = world.randomText(40)
    let secret = world.randomText(40)
    var parameters = [
      Parameter(name: "oauth_nonce", value: world.randomText(43)),
      Parameter(name: "oauth_signature_method", value: OAuth1Signature.Method.sha1.rawValue),
      Parameter(name: "oauth_timestamp", value: String(world.now)),
      Parameter(name: "oauth_consumer_key", value: consumer.id),
      Parameter(name: "oauth_token", value: token),
      Parameter(name: "oauth_version", value: "1.0"),
    ]
    let signature = sign(parameters, consumerSecret: consumer.secret, tokenSecret: secret)
    parameters.insert(Parameter(name: "oauth_signature", value: signature), at: 5)
    world.state[at: name, "requests", token] = [
      "application": .string(consumer.id), "secret": .string(secret),
      "expiresAt": JSONValue(world.now + Self.requestSeconds), "used": false,
    ]
    return .text(OAuth1Header.text(parameters), type: "text/html; charset=utf-8")
  }

  /// `POST /oauth/access_token`: issues a token for the application, in exchange for a verifier, or
  /// for the signed parameters in a request signed with the system's token.
  func accessToken(_ request: Request, in world: inout World) throws(TwitterRefusal) -> Answer {
    guard
      request.form?["x_reverse_auth_parameters"] != nil
        || request.form?["x_reverse_auth_target"] != nil || !namesRequest(request, in: world)
    else { return try redeem(request, in: &world) }
    let signer = try signer(of: request, token: .required, in: &world)
    let isSystem = consumer(signer.application, in: world.state)?.isSystem == true
    world.note("system", isSystem)
    guard isSystem else { throw .error(.notAuthorized) }
    guard let form = request.form, let line = form["x_reverse_auth_parameters"],
      let target = form["x_reverse_auth_target"]
    else {
      world.note("reverseAuthParameters", false, "they are missing")
      throw .error(.badAuthenticationData)
    }
    let (consumer, token) = try embedded(line, target: target, in: &world)
    let user = try user(signer.user, passwordError: .noAccess, hasPage: true, in: &world)
    world.state[at: name, "requests", token, "used"] = true
    return answer(
      with: issue(to: consumer, user: signer.user ?? "", in: &world), user: user,
      id: signer.user ?? "")
  }

  /// Returns the response for a token, in Twitter's format.
  func answer(with token: (key: String, secret: String), user: JSONValue, id: String) -> Answer {
    let answer = [
      Parameter(name: "oauth_token", value: token.key),
      Parameter(name: "oauth_token_secret", value: token.secret),
      Parameter(name: "user_id", value: id),
      Parameter(name: "screen_name", value: user["screenName"]?.string ?? ""),
      Parameter(name: "x_auth_expires", value: "0"),
    ]
    return .text(answer.formEncoded, type: "text/html; charset=utf-8")
  }

  /// Returns a registered application that is not revoked.
  func application(_ id: String, in world: inout World) throws(TwitterRefusal) -> Consumer {
    guard let consumer = consumer(id, in: world.state) else { throw .error(.couldNotAuthenticate) }
    guard !consumer.isRevoked else { throw .error(.applicationSuspended) }
    return consumer
  }

  /// Checks the signed parameters of reverse auth. Returns their application and unused temporary
  /// token.
  private func embedded(
    _ line: String, target: String, in world: inout World
  ) throws(TwitterRefusal) -> (Consumer, token: String) {
    guard line.hasPrefix("OAuth "),
      let parameters = OAuth1Header.parameters(String(line.dropFirst(6))),
      let key = parameters["oauth_consumer_key"], let token = parameters["oauth_token"],
      parameters.duplicate() == nil
    else {
      world.note("reverseAuthParameters", false, "they cannot be read")
      throw .error(.badAuthenticationData)
    }
    world.note("target", sameBytes(target, key), target)
    guard sameBytes(target, key) else { throw .error(.couldNotAuthenticate) }
    let consumer = try application(key, in: &world)
    let record = world.state[at: name, "requests", token]
    let flaw: String? =
      switch record {
      case nil: "unknown"
      case let record? where record["used"]?.bool == true: "used before"
      case let record? where (record["expiresAt"]?.int64 ?? 0) <= world.now: "expired"
      case let record? where !sameBytes(record["application"]?.string ?? "", key):
        "of another application"
      default: nil
      }
    world.note("requestToken", flaw == nil, flaw)
    guard flaw == nil else { throw .error(.couldNotAuthenticate) }
    let expected = sign(
      parameters.filter { !sameBytes($0.name, "oauth_signature") },
      consumerSecret: consumer.secret, tokenSecret: record?["secret"]?.string ?? "")
    let isOwn = constantTimeEqual(
      Array(expected.utf8), Array((parameters["oauth_signature"] ?? "").utf8))
    world.note("embeddedSignature", isOwn)
    guard isOwn else { throw .error(.couldNotAuthenticate) }
    return (consumer, token)
  }

  /// Returns the user's valid token for an application, or issues a new one.
  func issue(
    to consumer: Consumer, user: String, in world: inout World
  ) -> (key: String, secret: String) {
    for token in world.state[at: name, "tokens"]?.object?.members ?? []
    where sameBytes(token.value["application"]?.string ?? "", consumer.id)
      && sameBytes(token.value["user"]?.string ?? "", user)
      && token.value["revoked"]?.bool != true
      && (token.value["expiresAt"]?.int64 ?? .max) > world.now
    {
      return (token.name, token.value["secret"]?.string ?? "")
    }
    let key = "\(user)-\(world.randomText(40))"
    let secret = world.randomText(45)
    world.state[at: name, "tokens", key] = [
      "secret": .string(secret), "application": .string(consumer.id), "user": .string(user),
    ]
    return (key, secret)
  }

  /// Signs the parameters of reverse auth, so that they can be checked when they are sent back.
  private func sign(
    _ parameters: [Parameter], consumerSecret: String, tokenSecret: String
  ) -> String {
    let base = OAuth1Signature.baseString(
      method: "POST", uri: "https://api.twitter.com/oauth/access_token", parameters: parameters)
    return OAuth1Signature.sign(base, consumerSecret: consumerSecret, tokenSecret: tokenSecret)
  }
}
