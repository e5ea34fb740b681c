import EinlassJSON
import Testing

@testable import EinlassSandbox

/// The Graph API over real HTTP: success, and each error.
struct FacebookTests {
  private static let system = "2001-system-token"
  private static let application = "1234567890"
  private static let secret = "0123456789abcdef0123456789abcdef"
  private static let me = "/v2.8/me?fields=id,name,email"

  private func get(_ target: String, _ token: String, in sandbox: TestSandbox) async throws
    -> Reply?
  {
    try await sandbox.providers.send(
      "GET", target, headers: [("Authorization", "Bearer \(token)")])
  }

  private func accessToken(
    _ grant: String = "fb_attenuate_token", to application: String = application,
    scope: String? = "email,public_profile", audience: String? = "me", with token: String = system,
    in sandbox: TestSandbox
  ) async throws -> Reply? {
    var form = [("grant_type", grant), ("client_id", application)]
    if let scope { form.append(("scope", scope)) }
    if let audience { form.append(("audience", audience)) }
    return try await sandbox.providers.post(
      "/oauth/access_token", headers: [("Authorization", "Bearer \(token)")], form: form)
  }

  /// Requests a token for the demo application.
  private func mint(scope: String = "email,public_profile", in sandbox: TestSandbox) async throws
    -> String
  {
    let reply = try await accessToken(scope: scope, in: sandbox)
    return try #require(reply?.json?["access_token"]?.string)
  }

  @Test("A system token gives a token for an application, and that one gives the user's identity")
  func mint() async throws {
    try await TestSandbox.run { sandbox async throws in
      let reply = try #require(try await accessToken(in: sandbox))
      #expect(reply.status == 200)
      #expect(reply.json?["token_type"] == "bearer")
      #expect(reply.json?["expires_in"] == 5_184_000)
      let token = try #require(reply.json?["access_token"]?.string)
      let user = try await get(Self.me, token, in: sandbox)
      #expect(user?.status == 200)
      #expect(
        user?.json == ["id": "2001", "name": "Ada Lovelace", "email": "ada@example.org"])
      let record = try await sandbox.state()[at: "facebook", "tokens", token]
      #expect(record?["audience"] == "me")
      #expect(record?["scopes"] == ["email", "public_profile"])
    }
  }

  @Test("Without the permission there is no e-mail address")
  func scopes() async throws {
    try await TestSandbox.run { sandbox async throws in
      let token = try await mint(scope: "public_profile", in: sandbox)
      #expect(
        try await get(Self.me, token, in: sandbox)?.json
          == ["id": "2001", "name": "Ada Lovelace"])
    }
  }

  @Test("An unknown field is refused, and a token is accepted only in the header")
  func meParameters() async throws {
    try await TestSandbox.run { sandbox async throws in
      let token = try await mint(in: sandbox)
      let unknown = try await get("/v2.8/me?fields=id,shoe", token, in: sandbox)
      #expect(unknown?.facebookCode == [100])
      let inQuery = try await sandbox.providers.send("GET", Self.me + "&access_token=" + token)
      #expect(inQuery?.facebookCode == [100])
      let both = try await get(Self.me + "&access_token=" + token, token, in: sandbox)
      #expect(both?.facebookCode == [100])
      #expect(try await sandbox.providers.send("GET", Self.me)?.facebookCode == [2500])
      let broken = try await get("/v2.8/me?fields=%zz", token, in: sandbox)
      #expect(broken?.facebookCode == [100])
      let invalid = try #require(try await get(Self.me, "EAABnonsense", in: sandbox))
      #expect(invalid.facebookCode == [190])
      #expect(invalid.header("www-authenticate")?.hasPrefix("OAuth ") == true)
      #expect(invalid.json?.at(pointer: "/error/type") == "OAuthException")
    }
  }

  @Test("Each fault of a user or a token has its subcode")
  func subcodes() async throws {
    try await TestSandbox.run { sandbox async throws in
      let token = try await mint(in: sandbox)
      let user = ["facebook", "users", "2001"]
      let record = ["facebook", "tokens", token]
      for (path, change, undo, code) in [
        (user, ["removed": [Self.application: true]], ["removed": .null], 458),
        (user, ["checkpointed": true], ["checkpointed": .null], 459),
        (user, ["passwordChanged": true], ["passwordChanged": .null], 460),
        (record, ["expiresAt": JSONValue(TestSandbox.now)], ["expiresAt": 0], 463),
        (user, ["unconfirmed": true], ["unconfirmed": .null], 464),
        (record, ["revoked": true], ["revoked": .null], 467),
      ] as [([String], JSONValue, JSONValue, Int64)] {
        try await sandbox.patch(nest(path, change))
        let reply = try await get(Self.me, token, in: sandbox)
        #expect(reply?.status == 400)
        #expect(reply?.facebookCode == [190, code])
        let data = try await debug(token, in: sandbox)?.json?["data"]
        #expect(data?["is_valid"] == false)
        #expect(data?.at(pointer: "/error/subcode")?.int64 == code)
        try await sandbox.patch(nest(path, undo))
        #expect(try await get(Self.me, token, in: sandbox)?.status == 200)
      }
      try await sandbox.patch(
        nest(["facebook", "applications", Self.application], ["revoked": true]))
      #expect(try await get(Self.me, token, in: sandbox)?.facebookCode == [101])
    }
  }

  @Test("A removed application gets a new token, and the old one stays invalid")
  func regrant() async throws {
    try await TestSandbox.run { sandbox async throws in
      let token = try await mint(in: sandbox)
      try await sandbox.patch(
        nest(["facebook", "users", "2001", "removed"], .object([Self.application: true])))
      let renewal = try await accessToken("fb_extend_sso_token", in: sandbox)
      #expect(renewal?.facebookCode == [190, 458])
      let new = try await mint(in: sandbox)
      #expect(try await get(Self.me, new, in: sandbox)?.status == 200)
      #expect(try await get(Self.me, token, in: sandbox)?.facebookCode == [190, 467])
    }
  }

  @Test("Renewal gives a new token with the same permissions")
  func renewal() async throws {
    try await TestSandbox.run { sandbox async throws in
      let never = try await accessToken("fb_extend_sso_token", in: sandbox)
      #expect(never?.facebookCode == [190, 458], "the user has never permitted it")
      let token = try await mint(scope: "user_friends", in: sandbox)
      try await sandbox.patch(
        nest(["facebook", "tokens", token], ["expiresAt": JSONValue(TestSandbox.now)]))
      let reply = try await accessToken(
        "fb_extend_sso_token", scope: nil, audience: nil, in: sandbox)
      let new = try #require(reply?.json?["access_token"]?.string)
      #expect(new != token)
      #expect(
        try await sandbox.state()[at: "facebook", "tokens", new, "scopes"] == ["user_friends"])
      try await sandbox.patch(nest(["facebook", "users", "2001"], ["passwordChanged": true]))
      let rejected = try await accessToken("fb_extend_sso_token", in: sandbox)
      #expect(rejected?.facebookCode == [190, 460])
    }
  }

  @Test("A token is issued only for a valid request")
  func mintRefusals() async throws {
    try await TestSandbox.run { sandbox async throws in
      let unknown = try #require(try await accessToken(to: "77", in: sandbox))
      #expect(unknown.facebookCode == [101])
      #expect(
        unknown.json?.at(pointer: "/error/message") == "remote_app_id does not match stored id")
      #expect(try await accessToken(to: "1000000001", in: sandbox)?.facebookCode == [101])
      #expect(try await accessToken("password", in: sandbox)?.facebookCode == [100])
      #expect(try await accessToken(scope: nil, in: sandbox)?.facebookCode == [100])
      #expect(try await accessToken(scope: "e mail", in: sandbox)?.facebookCode == [100])
      #expect(try await accessToken(audience: nil, in: sandbox)?.facebookCode == [100])
      #expect(try await accessToken(audience: "onlyMe", in: sandbox)?.facebookCode == [100])
      #expect(try await accessToken(with: "unknown", in: sandbox)?.facebookCode == [190])
      let token = try await mint(in: sandbox)
      #expect(try await accessToken(with: token, in: sandbox)?.facebookCode == [3])
      let anonymous = try await sandbox.providers.post(
        "/oauth/access_token", form: [("grant_type", "fb_attenuate_token")])
      #expect(anonymous?.facebookCode == [2500])
      try await sandbox.patch(
        nest(["facebook", "applications", Self.application], ["revoked": true]))
      #expect(try await accessToken(in: sandbox)?.facebookCode == [101])
    }
  }

  private func debug(
    _ token: String, by viewer: String = "\(application)|\(secret)", in sandbox: TestSandbox
  ) async throws -> Reply? {
    try await get("/debug_token?input_token=\(token)", viewer, in: sandbox)
  }

  @Test("The debug_token endpoint reports the application, validity and permissions of a token")
  func debugToken() async throws {
    try await TestSandbox.run { sandbox async throws in
      let token = try await mint(in: sandbox)
      let data = try #require(try await debug(token, in: sandbox)?.json?["data"])
      #expect(data["is_valid"] == true)
      #expect(data["app_id"] == .string(Self.application))
      #expect(data["user_id"] == "2001")
      #expect(data["expires_at"] == JSONValue(TestSandbox.now + 5_184_000))
      #expect(data["scopes"] == ["email", "public_profile"])
      #expect(data["error"] == nil)
      let foreign = try await debug(
        token, by: "2345678901|123456789abcdef0123456789abcdef0", in: sandbox)
      #expect(foreign?.json?.at(pointer: "/data/app_id") == .string(Self.application))
      let system = try await debug(Self.system, in: sandbox)?.json?["data"]
      #expect(system?["expires_at"] == 0)
      let unknown = try await debug("nonsense", in: sandbox)?.json?["data"]
      #expect(unknown?["is_valid"] == false)
      #expect(unknown?.at(pointer: "/error/code") == 190)
    }
  }

  @Test(
    "The debug_token endpoint requires an application's id and secret",
    arguments: ["\(application)|wrong", "77|\(secret)", application, "|", "a|b|c"])
  func debugTokenViewers(viewer: String) async throws {
    try await TestSandbox.run { sandbox async throws in
      #expect(try await debug(Self.system, by: viewer, in: sandbox)?.facebookCode == [190])
    }
  }

  @Test("The debug_token endpoint requires a token to inspect and a token of the caller")
  func debugTokenParameters() async throws {
    try await TestSandbox.run { sandbox async throws in
      let path = "/debug_token"
      let viewer = "\(Self.application)|\(Self.secret)"
      #expect(try await get(path, viewer, in: sandbox)?.facebookCode == [100])
      #expect(try await sandbox.providers.send("GET", path)?.facebookCode == [104])
    }
  }

  @Test("A wrong appsecret_proof is refused, and a missing one if the application requires it")
  func proof() async throws {
    try await TestSandbox.run { sandbox async throws in
      let token = try await mint(in: sandbox)
      let proof = Facebook.proof(token: token, secret: Self.secret)
      let target = Self.me + "&appsecret_proof="
      #expect(try await get(target + proof, token, in: sandbox)?.status == 200)
      for wrong in ["", "00", proof.uppercased(), proof + "&appsecret_proof=" + proof] {
        #expect(try await get(target + wrong, token, in: sandbox)?.facebookCode == [100])
      }
      try await sandbox.patch(
        nest(["facebook", "applications", Self.application], ["requiresProof": true]))
      #expect(try await get(Self.me, token, in: sandbox)?.facebookCode == [100])
      #expect(try await get(target + proof, token, in: sandbox)?.status == 200)
    }
  }

  @Test(
    "A proof has the published value",
    arguments: [
      (
        "foo_token", "shhhhh!is.my.secret",
        "796ba0d8a6b339e476a7b166a9e8ac0a395f7de736dc37de5f2f4397f5854eb8"
      ),
      (
        "EAABtesttoken", secret,
        "90ebdaa6e59538ed6730bcc524b5c57ccbc60d33908688f9fc219e9d6eeee808"
      ),
    ])
  func proofVectors(token: String, secret: String, proof: String) {
    #expect(Facebook.proof(token: token, secret: secret) == proof)
  }

  @Test("A rate limit belongs to the application or to the user", arguments: [4, 17] as [Int64])
  func limits(code: Int64) async throws {
    try await TestSandbox.run { sandbox async throws in
      let token = try await mint(in: sandbox)
      let reset = JSONValue(TestSandbox.now + 60)
      try await sandbox.patch(
        nest(
          ["facebook", "rateLimits", "/v2.8/me"],
          ["remaining": 0, "resetAt": reset, "code": JSONValue(code)]))
      #expect(try await get(Self.me, token, in: sandbox)?.facebookCode == [code])
      #expect(try await get("/me", token, in: sandbox)?.status == 200, "another path")
    }
  }

  @Test(
    "An unknown path is refused in the format of the Graph API",
    arguments: ["/", "/nothing", "/v2.8", "/v2.8/", "/v2/me", "/vx.y/me", "/v2.8/v2.8/me", "/me/"])
  func unknownPaths(path: String) async throws {
    try await TestSandbox.run { sandbox async throws in
      let reply = try await get(path, Self.system, in: sandbox)
      #expect(reply?.status == 404)
      #expect(reply?.facebookCode == [2500])
    }
  }
}
