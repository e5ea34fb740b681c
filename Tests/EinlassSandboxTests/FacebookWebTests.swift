import EinlassJSON
import Testing

@testable import EinlassSandbox

@Suite struct FacebookWebTests {
  private static let redirect = "http://127.0.0.1:4711/callback"
  private static let dialog =
    "/v2.8/dialog/oauth?"
    + [
      Parameter(name: "client_id", value: "1234567890"),
      Parameter(name: "redirect_uri", value: redirect), Parameter(name: "state", value: "s"),
      Parameter(name: "scope", value: "email,public_profile"),
    ].formEncoded

  private func answer(_ reply: Reply?) throws -> [Parameter] {
    #expect(reply?.status == 302)
    let location = try #require(reply?.header("location"))
    #expect(location.hasPrefix(Self.redirect + "?"))
    return try #require(
      [Parameter](formEncoded: String(location.dropFirst(Self.redirect.count + 1))))
  }

  private func redeem(_ sandbox: TestSandbox, _ code: String, secret: String) async throws -> Reply?
  {
    let query = [
      Parameter(name: "client_id", value: "1234567890"),
      Parameter(name: "redirect_uri", value: Self.redirect),
      Parameter(name: "client_secret", value: secret), Parameter(name: "code", value: code),
    ]
    return try await sandbox.providers.send("GET", "/v2.8/oauth/access_token?" + query.formEncoded)
  }

  @Test func `The dialog gives a code, and the code gives a token`() async throws {
    try await TestSandbox.run { sandbox async throws in
      let page = try await sandbox.providers.send("GET", Self.dialog)
      #expect(page?.text.contains("<code>email</code></li><li><code>public_profile</code>") == true)
      let allowed = try answer(
        try await sandbox.providers.post(Self.dialog, form: [("decision", "allow")]))
      #expect(allowed["state"] == "s")
      let code: String = try #require(allowed["code"])
      #expect(try await redeem(sandbox, code, secret: "wrong")?.status == 400)
      let secret = "0123456789abcdef0123456789abcdef"
      let tokens = try await redeem(sandbox, code, secret: secret)?.json
      let token = try #require(tokens?["access_token"]?.string)
      let me = try await sandbox.providers.send(
        "GET", "/v2.8/me?fields=id,name,email", headers: [("Authorization", "Bearer \(token)")])
      #expect(me?.json?["email"] == "ada@example.org")
      #expect(try await redeem(sandbox, code, secret: secret)?.facebookCode == [100])
      let denied = try answer(
        try await sandbox.providers.post(Self.dialog, form: [("decision", "deny")]))
      #expect(denied["error"] == "access_denied")
      #expect(denied["error_reason"] == "user_denied")
      let elsewhere = Self.dialog.replacing("callback", with: "other")
      #expect(try await sandbox.providers.send("GET", elsewhere)?.status == 400)
    }
  }

  @Test func `A valid token from a browser can be exchanged for a long-lived one`()
    async throws
  {
    try await TestSandbox.run { sandbox async throws in
      let allowed = try answer(
        try await sandbox.providers.post(Self.dialog, form: [("decision", "allow")]))
      let secret = "0123456789abcdef0123456789abcdef"
      let brought = try await redeem(sandbox, try #require(allowed["code"]), secret: secret)?.json
      #expect(brought?["expires_in"] == 7200)
      let short = try #require(brought?["access_token"]?.string)
      let exchange = { (id: String, secret: String, token: String) async throws in
        try await sandbox.providers.post(
          "/v2.8/oauth/access_token",
          form: [
            ("grant_type", "fb_exchange_token"), ("fb_exchange_token", token), ("client_id", id),
            ("client_secret", secret),
          ])
      }
      let long = try await exchange("1234567890", secret, short)?.json
      #expect(long?["expires_in"] == 5_184_000 && long?["access_token"]?.string != short)
      #expect(try await exchange("1234567890", "wrong", short)?.facebookCode == [1])
      #expect(try await exchange("1234567890", secret, "unknown")?.facebookCode == [190])
      let other = "123456789abcdef0123456789abcdef0"
      #expect(try await exchange("2345678901", other, short)?.facebookCode == [190])
      try await sandbox.patch(["clockOffsetSeconds": 7200])
      #expect(try await exchange("1234567890", secret, short)?.facebookCode == [190, 463])
    }
  }

  @Test func `The error subcode tells a device the state of its code`() async throws {
    try await TestSandbox.run { sandbox async throws in
      let application = ("access_token", "1234567890|0123456789abcdef0123456789abcdef")
      let wrong = try await sandbox.providers.post(
        "/v2.8/device/login", form: [("access_token", "1234567890|wrong")])
      #expect(wrong?.facebookCode == [190])
      let login = { () async throws in
        let json = try await sandbox.providers.post(
          "/v2.8/device/login", form: [application, ("scope", "email")])?.json
        return (
          try #require(json?["code"]?.string), try #require(json?["user_code"]?.string)
        )
      }
      let poll = { (code: String) async throws in
        try await sandbox.providers.post(
          "/v2.8/device/login_status", form: [application, ("code", code)])
      }
      let say = { (word: String, code: String) async throws in
        try await sandbox.providers.post(
          "/device", form: [("user_code", code), ("decision", word), ("user", "2001")])?.status
      }
      let (code, typed) = try await login()
      #expect(try await poll(code)?.facebookCode == [31, 1_349_174])
      #expect(try await poll(code)?.facebookCode == [31, 1_349_172])
      #expect(try await say("allow", "NOTHING1") == 400)
      #expect(try await say("allow", typed) == 200)
      try await sandbox.patch(["clockOffsetSeconds": 5])
      #expect(try await poll(code)?.json?["access_token"]?.string?.hasPrefix("EAAB") == true)
      let (denied, other) = try await login()
      #expect(try await say("deny", other) == 200)
      #expect(try await poll(denied)?.facebookCode == [31, 1_349_173])
      let (late, _) = try await login()
      try await sandbox.patch(["clockOffsetSeconds": 425])
      #expect(try await poll(late)?.facebookCode == [31, 1_349_152])
    }
  }
}
