import EinlassJSON
import Testing

@testable import EinlassSandbox

/// Twitter over real HTTP: success, and each error.
struct TwitterTests {
  @Test("Reverse auth gives a token, and the token gives the application the user's identity")
  func reverseAuth() async throws {
    try await TestSandbox.run { sandbox async throws in
      let line = try #require(try await sandbox.requestToken())
      #expect(line.status == 200)
      let parameters = try #require(OAuth1Header.parameters(String(line.text.dropFirst(6))))
      #expect(line.text.hasPrefix("OAuth oauth_nonce=\""))
      #expect(
        parameters.map(\.name) == [
          "oauth_nonce", "oauth_signature_method", "oauth_timestamp", "oauth_consumer_key",
          "oauth_token", "oauth_signature", "oauth_version",
        ])
      let reply = try #require(try await sandbox.accessToken(line.text))
      #expect(reply.status == 200)
      let form = try #require([Parameter](formEncoded: reply.text))
      #expect(
        form.map(\.name) == [
          "oauth_token", "oauth_token_secret", "user_id", "screen_name", "x_auth_expires",
        ])
      #expect(form["user_id"] == "1001")
      #expect(form["screen_name"] == "ada")
      let signer = try await sandbox.signIn()
      #expect(signer.token == form["oauth_token"], "a user has one token for an application")
      let user = try #require(try await sandbox.verifyCredentials(by: signer))
      #expect(user.status == 200)
      #expect(user.json?["id_str"] == "1001")
      #expect(user.json?["id"] == 1001)
      #expect(user.json?["email"] == "ada@example.org")
      #expect(
        user.json?["profile_image_url_https"] == "https://images.example.org/ada_normal.png")
    }
  }

  @Test("Requests may be signed with HMAC-SHA256 and without oauth_version")
  func otherSignatures() async throws {
    try await TestSandbox.run { sandbox async throws in
      var signer = TestSigner(method: "HMAC-SHA256")
      #expect(try await sandbox.requestToken(by: signer)?.status == 200)
      signer.version = nil
      #expect(try await sandbox.requestToken(by: signer)?.status == 200)
    }
  }

  @Test("The e-mail address is returned on request to applications with the permission")
  func email() async throws {
    try await TestSandbox.run { sandbox async throws in
      let signer = try await sandbox.signIn()
      #expect(try await sandbox.verifyCredentials(by: signer, query: [])?.json?["email"] == nil)
      let grace = try await sandbox.signIn(1002)
      #expect(try await sandbox.verifyCredentials(by: grace)?.json?["email"] == .null)
      let other = try await sandbox.signIn(
        to: TestSigner(consumer: "other-twitter-key", consumerSecret: "other-twitter-secret"))
      #expect(try await sandbox.verifyCredentials(by: other)?.json?["email"] == nil)
    }
  }

  /// A signer with one fault.
  struct Flaw: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var code: Int64
    var status: Int
    var spoil: @Sendable (inout TestSigner) -> Void

    init(
      _ name: String, _ code: Int64, _ status: Int,
      _ spoil: @escaping @Sendable (inout TestSigner) -> Void
    ) {
      (testDescription, self.code, self.status, self.spoil) = (name, code, status, spoil)
    }
  }

  static let flaws = [
    Flaw("unknown consumer", 32, 401) { $0.consumer = "nobody" },
    Flaw("wrong secret", 32, 401) { $0.consumerSecret = "wrong" },
    Flaw("a token where none belongs", 32, 401) { $0.token = "1001-system-token" },
    Flaw("a timestamp of long ago", 135, 401) { $0.timestamp = String(TestSandbox.now - 301) },
    Flaw("a timestamp of tomorrow", 135, 401) { $0.timestamp = String(TestSandbox.now + 301) },
    Flaw("a huge timestamp", 135, 401) { $0.timestamp = String(Int64.max) },
    Flaw("a timestamp that is no number", 215, 400) { $0.timestamp = "now" },
    Flaw("an empty nonce", 215, 400) { $0.nonce = "" },
    Flaw("another version", 215, 400) { $0.version = "2.0" },
    Flaw("another method of signing", 215, 400) { $0.method = "PLAINTEXT" },
    Flaw("a parameter twice", 215, 400) {
      $0.extra = [Parameter(name: "oauth_timestamp", value: "1")]
    },
  ]

  @Test("A request with a faulty signature is refused", arguments: flaws)
  func refusals(flaw: Flaw) async throws {
    try await TestSandbox.run { sandbox async throws in
      var signer = TestSigner()
      flaw.spoil(&signer)
      let reply = try await sandbox.requestToken(by: signer)
      #expect(reply?.twitterCode == flaw.code)
      #expect(reply?.status == flaw.status)
    }
  }

  @Test("A timestamp may be off by five minutes", arguments: [-300, 0, 300])
  func window(offset: Int64) async throws {
    try await TestSandbox.run { sandbox async throws in
      let signer = TestSigner(timestamp: String(TestSandbox.now + offset))
      #expect(try await sandbox.requestToken(by: signer)?.status == 200)
    }
  }

  @Test("The sandbox's clock can have an offset")
  func clockOffset() async throws {
    try await TestSandbox.run { sandbox async throws in
      try await sandbox.patch(["clockOffsetSeconds": 3600])
      #expect(try await sandbox.requestToken()?.twitterCode == 135)
      let signer = TestSigner(timestamp: String(TestSandbox.now + 3600))
      #expect(try await sandbox.requestToken(by: signer)?.status == 200)
    }
  }

  @Test("A nonce is valid once per timestamp")
  func nonces() async throws {
    try await TestSandbox.run { sandbox async throws in
      let signer = TestSigner(nonce: "once")
      #expect(try await sandbox.requestToken(by: signer)?.status == 200)
      #expect(try await sandbox.requestToken(by: signer)?.twitterCode == 32)
      let later = TestSigner(nonce: "once", timestamp: String(TestSandbox.now + 1))
      #expect(try await sandbox.requestToken(by: later)?.status == 200)
    }
  }

  @Test("A signature covers the form, the query and the address")
  func coverage() async throws {
    try await TestSandbox.run { sandbox async throws in
      let form = [("x_auth_mode", "reverse_auth")]
      let path = "/oauth/request_token"
      let port = sandbox.providers.port
      let header = TestSigner().header(
        "POST", path, port: port,
        form: [Parameter(name: "x_auth_mode", value: "reverse_auth")])
      let other = try await sandbox.providers.post(
        path + "?a=b", headers: [header], form: form)
      #expect(other?.twitterCode == 32)
      let unsigned = try await sandbox.providers.post(
        path, headers: [TestSigner().header("POST", path, port: port)], form: form)
      #expect(unsigned?.twitterCode == 32)
      let elsewhere = try await sandbox.providers.post(
        path, headers: [TestSigner().header("POST", "/oauth/other", port: port)], form: form)
      #expect(elsewhere?.twitterCode == 32)
      #expect(try await sandbox.providers.post(path, form: form)?.twitterCode == 215)
    }
  }

  @Test("An application must not be revoked, and needs the permission for reverse auth")
  func applications() async throws {
    try await TestSandbox.run { sandbox async throws in
      let record = ["twitter", "applications", "demo-twitter-key"]
      try await sandbox.patch(nest(record, ["reverseAuth": false]))
      #expect(try await sandbox.requestToken()?.twitterCode == 37)
      try await sandbox.patch(nest(record, ["reverseAuth": true, "revoked": true]))
      #expect(try await sandbox.requestToken()?.twitterCode == 416)
      try await sandbox.patch(nest(record, ["revoked": .null]))
      #expect(try await sandbox.requestToken()?.status == 200)
      let plain = try await sandbox.twitter(
        "POST", "/oauth/request_token", form: [("x_auth_mode", "other")], by: TestSigner())
      #expect(plain?.twitterCode == 87)
    }
  }

  @Test("The line of the first step must be unchanged, unused, fresh and for the target")
  func lines() async throws {
    try await TestSandbox.run { sandbox async throws in
      let line = try #require(try await sandbox.requestToken()).text
      #expect(try await sandbox.accessToken(line, target: "other-twitter-key")?.twitterCode == 32)
      let forged = line.replacing("oauth_signature=\"", with: "oauth_signature=\"x")
      #expect(try await sandbox.accessToken(forged)?.twitterCode == 32)
      let changed = line.replacing("oauth_nonce=\"", with: "oauth_nonce=\"x")
      #expect(try await sandbox.accessToken(changed)?.twitterCode == 32)
      for text in ["", "OAuth", "OAuth x", "oauth_token=\"a\"", String(line.dropLast())] {
        #expect(try await sandbox.accessToken(text)?.twitterCode == 215)
      }
      #expect(try await sandbox.accessToken(line)?.status == 200)
      #expect(try await sandbox.accessToken(line)?.twitterCode == 32, "it is used up")
      let other = try #require(try await sandbox.requestToken()).text
      try await sandbox.patch(["clockOffsetSeconds": 900])
      var late = TestSigner.system(1001)
      late.timestamp = String(TestSandbox.now + 900)
      #expect(try await sandbox.accessToken(other, by: late)?.twitterCode == 32, "it is old")
    }
  }

  @Test("The second step requires the system's application and its token")
  func systemSignature() async throws {
    try await TestSandbox.run { sandbox async throws in
      let line = try #require(try await sandbox.requestToken()).text
      #expect(try await sandbox.accessToken(line, by: TestSigner())?.twitterCode == 220)
      var signer = TestSigner.system(1001)
      signer.token = "1002-system-token"
      #expect(try await sandbox.accessToken(line, by: signer)?.twitterCode == 32)
      signer.token = "unknown"
      #expect(try await sandbox.accessToken(line, by: signer)?.twitterCode == 89)
      var foreign = TestSigner.system(1001)
      (foreign.consumer, foreign.consumerSecret) = ("demo-twitter-key", "demo-twitter-secret")
      #expect(try await sandbox.accessToken(line, by: foreign)?.twitterCode == 89)
      let own = try await sandbox.signIn()
      #expect(try await sandbox.accessToken(line, by: own)?.twitterCode == 37)
    }
  }

  @Test(
    "A user in bad standing gets no token",
    arguments: [(1003, 403, 64), (1005, 403, 326), (1006, 403, 220)] as [(Int, Int, Int64)])
  func users(user: Int, status: Int, code: Int64) async throws {
    try await TestSandbox.run { sandbox async throws in
      let line = try #require(try await sandbox.requestToken()).text
      let reply = try await sandbox.accessToken(line, by: .system(user))
      #expect(reply?.status == status)
      #expect(reply?.twitterCode == code)
    }
  }

  @Test("A suspended user can get an HTML page of more than 3000 bytes instead")
  func suspensionPage() async throws {
    try await TestSandbox.run { sandbox async throws in
      let line = try #require(try await sandbox.requestToken()).text
      let reply = try #require(try await sandbox.accessToken(line, by: .system(1004)))
      #expect(reply.status == 200)
      #expect(reply.body.count > 3000)
      #expect(reply.text.hasPrefix("<!DOCTYPE html>"))
    }
  }

  @Test("Changes after the sign-in are reported by verify_credentials")
  func laterChanges() async throws {
    try await TestSandbox.run { sandbox async throws in
      let signer = try await sandbox.signIn()
      let user = ["twitter", "users", "1001"]
      let token = ["twitter", "tokens", signer.token ?? ""]
      for (path, change, undo, code) in [
        (user, ["suspended": "error"], ["suspended": .null], 64),
        (user, ["suspended": "page"], ["suspended": .null], 64),
        (user, ["locked": true], ["locked": .null], 326),
        (user, ["passwordChanged": true], ["passwordChanged": .null], 89),
        (token, ["revoked": true], ["revoked": .null], 89),
        (token, ["expiresAt": JSONValue(TestSandbox.now)], ["expiresAt": .null], 89),
      ] as [([String], JSONValue, JSONValue, Int64)] {
        try await sandbox.patch(nest(path, change))
        #expect(try await sandbox.verifyCredentials(by: signer)?.twitterCode == code)
        try await sandbox.patch(nest(path, undo))
        #expect(try await sandbox.verifyCredentials(by: signer)?.status == 200)
      }
      #expect(try await sandbox.verifyCredentials(by: TestSigner())?.twitterCode == 220)
      try await sandbox.patch(nest(user, .null))
      #expect(try await sandbox.verifyCredentials(by: signer)?.twitterCode == 89)
    }
  }

  @Test("A rate limit ends in status 429 until it is reset")
  func rateLimit() async throws {
    try await TestSandbox.run { sandbox async throws in
      let path = ["twitter", "rateLimits", "/oauth/request_token"]
      let reset = TestSandbox.now + 60
      try await sandbox.patch(
        nest(path, ["limit": 15, "remaining": 1, "resetAt": JSONValue(reset)]))
      #expect(try await sandbox.requestToken()?.status == 200)
      let reply = try #require(try await sandbox.requestToken())
      #expect(reply.status == 429)
      #expect(reply.twitterCode == 88)
      #expect(reply.header("x-rate-limit-limit") == "15")
      #expect(reply.header("x-rate-limit-remaining") == "0")
      #expect(reply.header("x-rate-limit-reset") == String(reset))
      try await sandbox.patch(["clockOffsetSeconds": 60])
      let later = TestSigner(timestamp: String(reset))
      #expect(try await sandbox.requestToken(by: later)?.status == 200)
    }
  }

  @Test(
    "An unknown path is refused with code 34",
    arguments: [
      ("GET", "/1.1/other.json"), ("GET", "/oauth/request_token"), ("POST", "/oauth/"),
      ("POST", "/1.1/account/verify_credentials.json"),
    ])
  func unknownPaths(method: String, path: String) async throws {
    try await TestSandbox.run { sandbox async throws in
      let reply = try await sandbox.providers.send(method, path)
      #expect(reply?.status == 404)
      #expect(reply?.twitterCode == 34)
    }
  }
}

/// Returns the value inside nested objects with one member each.
func nest(_ path: [String], _ value: JSONValue) -> JSONValue {
  path.reversed().reduce(value) { .object([$1: $0]) }
}
