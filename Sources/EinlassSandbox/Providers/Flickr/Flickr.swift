import EinlassJSON

/// Flickr: three-legged OAuth 1.0a. Failures of the API have status 200.
struct Flickr: Provider {
  let name = "flickr"
  let origins = ["https://www.flickr.com", "https://api.flickr.com"]
  let hasOwnAddress = true

  func owns(_ request: Request) -> Bool { false }

  private var signatures: OAuth1Check { OAuth1Check(provider: name) }
  private var threeLegged: ThreeLegged {
    ThreeLegged(provider: name, pinGroups: [3, 3, 3]) { token in
      [
        Parameter(name: "oauth_token", value: token),
        Parameter(name: "oauth_problem", value: "user_refused"),
      ]
    }
  }

  func answer(_ request: Request, in world: inout World) -> Answer {
    do throws(OAuth1Check.Refusal) {
      switch request.path {
      case "/services/oauth/request_token": return try requestToken(request, in: &world)
      case "/services/oauth/authorize": return threeLegged.authorize(request, in: &world)
      case "/services/oauth/access_token": return try accessToken(request, in: &world)
      case "/services/rest": return rest(request, in: &world)
      default: return .text("This path does not exist.\n", status: 404)
      }
    } catch {
      let problem = Self.problem(error)
      world.note("answer", false, problem)
      return .text("oauth_problem=\(problem)", status: 401)
    }
  }

  private func requestToken(
    _ request: Request, in world: inout World
  ) throws(OAuth1Check.Refusal) -> Answer {
    let signer = try signatures.check(request, token: .forbidden, in: &world)
    guard let callback = signer.parameters["oauth_callback"],
      let application = consumer(signer.application, in: world.state),
      threeLegged.permits(callback, to: application)
    else {
      world.note("callback", false, signer.parameters["oauth_callback"] ?? "it is missing")
      throw .malformed("oauth_callback")
    }
    world.note("callback", true, callback)
    return .text(threeLegged.open(callback, for: signer, in: &world).formEncoded)
  }

  private func accessToken(
    _ request: Request, in world: inout World
  ) throws(OAuth1Check.Refusal) -> Answer {
    let signer = try signatures.check(request, token: .request, in: &world)
    guard let id = threeLegged.redeem(signer, in: &world),
      let user = world.state[at: name, "users", id].map({ Record(id: id, value: $0) })
    else { throw .tokenInvalid("verifier") }
    let token = "72157626737672178-" + world.randomText(16)
    let secret = world.randomText(16)
    world.state[at: name, "tokens", token] = [
      "secret": .string(secret), "application": .string(signer.application), "user": .string(id),
    ]
    let answer = [
      Parameter(name: "fullname", value: user["name"] ?? ""),
      Parameter(name: "oauth_token", value: token),
      Parameter(name: "oauth_token_secret", value: secret),
      Parameter(name: "user_nsid", value: id),
      Parameter(name: "username", value: user["username"] ?? ""),
    ]
    return .text(answer.formEncoded)
  }

  private func rest(_ request: Request, in world: inout World) -> Answer {
    let query = (request.query ?? []) + (request.form ?? [])
    guard sameBytes(query["format"] ?? "", "json"), sameBytes(query["nojsoncallback"] ?? "", "1")
    else { return fail(111, #"Format "xml" not found"#, in: &world) }
    let signer: OAuth1Check.Signer
    do throws(OAuth1Check.Refusal) {
      signer = try signatures.check(request, token: .required, in: &world)
    } catch {
      switch error {
      case .signature: return fail(96, "Invalid signature", in: &world)
      case .noAuthorization, .malformed: return fail(97, "Missing signature", in: &world)
      case .unknownApplication, .revokedApplication: return fail(100, "Invalid API Key", in: &world)
      default: return fail(98, "Invalid auth token", in: &world)
      }
    }
    guard let id = signer.user, let user = world.state[at: name, "users", id] else {
      return fail(98, "Invalid auth token", in: &world)
    }
    switch query["method"] {
    case "flickr.test.login":
      return .json([
        "user": [
          "id": .string(id), "username": ["_content": user["username"] ?? ""], "path_alias": .null,
        ], "stat": "ok",
      ])
    case "flickr.people.getInfo":
      return .json([
        "person": [
          "id": .string(id), "nsid": .string(id), "iconserver": user["iconServer"] ?? "0",
          "iconfarm": 66, "username": ["_content": user["username"] ?? ""],
          "realname": ["_content": user["name"] ?? ""],
        ], "stat": "ok",
      ])
    default: return fail(112, #"Method "\#(query["method"] ?? "")" not found"#, in: &world)
    }
  }

  private func fail(_ code: Int64, _ message: String, in world: inout World) -> Answer {
    world.note("answer", false, "\(code) \(message)")
    return .json(["stat": "fail", "code": JSONValue(code), "message": .string(message)])
  }

  /// The values of the OAuth Problem Reporting extension.
  private static func problem(_ refusal: OAuth1Check.Refusal) -> String {
    switch refusal {
    case .noAuthorization: "parameter_absent&oauth_parameters_absent=oauth_consumer_key"
    case .malformed(let what): "parameter_rejected&debug=\(PercentCoding.encode(what))"
    case .timestamp: "timestamp_refused"
    case .unknownApplication, .revokedApplication: "consumer_key_unknown"
    case .tokenMissing: "parameter_absent&oauth_parameters_absent=oauth_token"
    case .tokenNotAllowed: "parameter_rejected"
    case .tokenInvalid("verifier"): "verifier_invalid"
    case .tokenInvalid: "token_rejected"
    case .nonceUsed: "nonce_used"
    case .signature: "signature_invalid"
    }
  }
}
