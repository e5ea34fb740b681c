import EinlassJSON

/// Twitter at the time of reverse auth: OAuth 1.0a and API 1.1.
struct Twitter: Provider {
  let name = "twitter"
  let origins = ["https://api.twitter.com"]

  var signatures: OAuth1Check { OAuth1Check(provider: name) }

  func owns(_ request: Request) -> Bool {
    guard request.path.hasPrefix("/oauth/") else { return request.path.hasPrefix("/1.1/") }
    // Facebook's Graph has /oauth/access_token too, but its clients do not sign.
    let isGraph =
      request.authorization("Bearer") != nil
      || !(request.form?.values(of: "grant_type") ?? []).isEmpty
    return !isGraph
  }

  func answer(_ request: Request, in world: inout World) -> Answer {
    do throws(TwitterRefusal) {
      if let limit = world.exhaustedLimit(of: name, path: request.path) {
        throw .limit(limit)
      }
      switch (request.method, request.path) {
      case ("POST", "/oauth/request_token"): return try requestToken(request, in: &world)
      case (_, "/oauth/authorize"), (_, "/oauth/authenticate"):
        return threeLegged.authorize(request, in: &world)
      case ("POST", "/oauth/access_token"): return try accessToken(request, in: &world)
      case ("POST", "/1.1/oauth/invalidate_token"): return try invalidateToken(request, in: &world)
      case ("GET", "/1.1/account/verify_credentials.json"):
        return try verifyCredentials(request, in: &world)
      default: throw .error(.noSuchPage)
      }
    } catch {
      return error.answer(in: &world)
    }
  }

  /// Checks the signature. Throws Twitter's error for a refusal.
  func signer(
    of request: Request, token: OAuth1Check.TokenRule, in world: inout World
  ) throws(TwitterRefusal) -> OAuth1Check.Signer {
    do { return try signatures.check(request, token: token, in: &world) } catch {
      throw .error(TwitterError(error))
    }
  }

  /// Returns a user in good standing.
  ///
  /// - Parameter hasPage: whether the endpoint may answer with the page for suspended accounts.
  func user(
    _ id: String?, passwordError: TwitterError, hasPage: Bool = false, in world: inout World
  ) throws(TwitterRefusal) -> JSONValue {
    guard let id, let user = world.state[at: name, "users", id] else {
      world.note("user", false, "there is none")
      throw .error(.invalidToken)
    }
    let ban = user["suspended"]?.string ?? "no"
    let refusal: TwitterRefusal? =
      if ban == "page" && hasPage {
        .suspensionPage
      } else if ban != "no" {
        .error(.suspended)
      } else if user["locked"]?.bool == true {
        .error(.locked)
      } else if user["passwordChanged"]?.bool == true {
        .error(passwordError)
      } else {
        nil
      }
    world.note("user", refusal == nil, id)
    if let refusal { throw refusal }
    return user
  }

  /// `GET /1.1/account/verify_credentials.json`
  private func verifyCredentials(
    _ request: Request, in world: inout World
  ) throws(TwitterRefusal) -> Answer {
    let signer = try signer(of: request, token: .required, in: &world)
    let user = try user(signer.user, passwordError: .invalidToken, in: &world)
    let id = signer.user ?? ""
    let query = request.query ?? []
    let flag = { (name: String, otherwise: Bool) in
      query[name].map { ["true", "t", "1"].contains($0) } ?? otherwise
    }
    let image = user["avatar"]?.string ?? "https://images.example.org/default_normal.png"
    var answer: JSONObject = [
      "id": Int64(id).map { JSONValue($0) } ?? .string(id),
      "id_str": .string(id),
      "name": user["name"] ?? "",
      "screen_name": user["screenName"] ?? "",
      "location": "",
      "description": "",
      "url": .null,
      "protected": false,
      "verified": false,
      "followers_count": 0,
      "friends_count": 0,
      "statuses_count": 0,
      "created_at": "Tue Mar 21 20:50:14 +0000 2006",
      "lang": "en",
      "profile_image_url_https": .string(image),
      "default_profile_image": false,
    ]
    if flag("include_entities", true) { answer["entities"] = ["description": ["urls": []]] }
    if !flag("skip_status", false) { answer["status"] = ["text": "just setting up my twttr"] }
    let mayHaveEmail = consumer(signer.application, in: world.state)?.record["email"]?.bool == true
    if flag("include_email", false) {
      world.note("email", mayHaveEmail)
      if mayHaveEmail { answer["email"] = user["email"] ?? .null }
    }
    return .json(.object(answer))
  }
}
