import EinlassJSON
import Foundation
import Testing

@testable import EinlassSandbox

/// Sign-in on another device, and introspection and revocation of tokens.
@Suite struct DeviceTests {
  private func codes(_ browser: TestBrowser) async throws -> (device: String, user: String) {
    let reply = try await browser.client.post(
      browser.path(.device), form: [("client_id", browser.application), ("scope", "openid")])
    let json = try #require(reply?.json)
    #expect(json["interval"] == 5)
    #expect(json["expires_in"] == 600)
    let code: String = try #require(json["user_code"]?.string)
    let address = "http://127.0.0.1:\(browser.client.port)/device"
    #expect(json["verification_uri"]?.string == address)
    #expect(json["verification_uri_complete"]?.string == "\(address)?user_code=\(code)")
    return (try #require(json["device_code"]?.string), code)
  }

  private func poll(_ browser: TestBrowser, _ code: String) async throws -> JSONValue? {
    try await browser.token(
      ["device_code": code], grant: "urn:ietf:params:oauth:grant-type:device_code")?.json
  }

  private func wait(_ seconds: Int64, _ sandbox: TestSandbox) async throws {
    let now = try await sandbox.state()["clockOffsetSeconds"]?.int64 ?? 0
    try await sandbox.patch(["clockOffsetSeconds": JSONValue(now + seconds)])
  }

  @Test func `A device gets tokens after the person has allowed it, and not before`() async throws {
    try await TestBrowser.run(consent: "page") { sandbox, browser async throws in
      let (device, user) = try await codes(browser)
      #expect(try await poll(browser, device)?["error"] == "authorization_pending")
      #expect(try await poll(browser, device)?["error"] == "slow_down")
      try await wait(9, sandbox)
      #expect(try await poll(browser, device)?["error"] == "slow_down", "ten seconds by now")
      try await wait(15, sandbox)
      #expect(try await poll(browser, device)?["error"] == "authorization_pending")
      let page = try await browser.client.send("GET", "/device?user_code=\(user)")
      #expect(page?.text.contains("value=\"\(user)\"") == true)
      #expect(page?.text.contains("Demo wants") == true)
      // A person may type the code in lower case and with a space.
      let typed = user.lowercased().replacing("-", with: " ")
      let done = try await browser.client.post(
        "/device", form: [("user_code", typed), ("decision", "allow"), ("user", "3002")])
      #expect(done?.text.contains("Allowed") == true)
      try await wait(15, sandbox)
      let tokens = try await poll(browser, device)
      let token = try #require(tokens?["access_token"]?.string)
      #expect(try await browser.userinfo(token)?.json?["sub"] == "3002")
      #expect(try await poll(browser, device)?["error"] == "invalid_grant", "once")
    }
  }

  @Test func `A device code ends in an error when the person denies it or the code expires`()
    async throws
  {
    try await TestBrowser.run(consent: "page") { sandbox, browser async throws in
      let (denied, user) = try await codes(browser)
      let wrong = try await browser.client.post(
        "/device", form: [("user_code", "BCDF-BCDF"), ("decision", "allow")])
      #expect(wrong?.status == 400)
      _ = try await browser.client.post(
        "/device", form: [("user_code", user), ("decision", "deny")])
      #expect(try await poll(browser, denied)?["error"] == "access_denied")
      let (late, _) = try await codes(browser)
      try await wait(600, sandbox)
      #expect(try await poll(browser, late)?["error"] == "expired_token")
      #expect(try await poll(browser, "unknown")?["error"] == "invalid_grant")
    }
  }

  @Test func `The state can answer for the person, without a page`() async throws {
    for (consent, member) in [("allow", "access_token"), ("deny", "error")] {
      try await TestBrowser.run(consent: consent) { _, browser async throws in
        let (device, _) = try await codes(browser)
        #expect(try await poll(browser, device)?[member]?.string != nil)
      }
    }
  }

  /// The client id and secret of the confidential application, in the header.
  private let basic = [
    (
      "Authorization",
      "Basic "
        + Data("secret-openid:\(PercentCoding.encode("s3cret: with/odd+chars"))".utf8)
        .base64EncodedString()
    )
  ]

  @Test func `An application must authenticate to introspect, and revocation covers the family`()
    async throws
  {
    try await TestBrowser.run { _, browser async throws in
      var browser = browser
      browser.application = "secret-openid"
      browser.asked["client_id"] = browser.application
      let code = try await browser.code()
      let tokens = try #require(
        try await browser.token(["code": code, "client_id": nil], headers: basic)?.json)
      let token = try #require(tokens["access_token"]?.string)
      let refresh = try #require(tokens["refresh_token"]?.string)
      let look = { (token: String) async throws in
        try await browser.client.post("/introspect", headers: basic, form: [("token", token)])?.json
      }
      let shown = try await look(token)
      #expect(shown?["active"] == true)
      #expect(shown?["sub"] == "3001")
      #expect(shown?["scope"] == "openid profile")
      #expect(try await look("unknown") == ["active": false])
      let stranger = try await browser.client.post(
        "/introspect", form: [("token", token), ("client_id", "demo-openid")])
      #expect(stranger?.status == 401)
      let foreign = try await browser.client.post(
        "/revoke", form: [("token", refresh), ("client_id", "demo-openid")])
      #expect(foreign?.json?["error"] == "invalid_grant")
      let revoke = { (token: String) async throws in
        try await browser.client.post("/revoke", headers: basic, form: [("token", token)])?.status
      }
      #expect(try await revoke("unknown") == 200)
      #expect(try await look(token)?["active"] == true)
      #expect(try await revoke(refresh) == 200)
      #expect(try await look(token)?["active"] == false)
    }
  }

  @Test func `An application registers itself, with a secret or without`() async throws {
    try await TestBrowser.run { _, browser async throws in
      let register = { (wish: JSONValue) async throws in
        try await browser.client.send("POST", "/register", body: wish.bytes())
      }
      let redirects: JSONValue = ["http://127.0.0.1/callback"]
      let open = try await register([
        "client_name": "New", "redirect_uris": redirects, "token_endpoint_auth_method": "none",
      ])
      #expect(open?.status == 201)
      #expect(open?.json?["client_secret"] == nil)
      var browser = browser
      browser.application = try #require(open?.json?["client_id"]?.string)
      browser.asked["client_id"] = browser.application
      #expect(try await browser.signIn()["access_token"]?.string != nil)
      #expect(try await register(["redirect_uris": redirects])?.json?["client_secret"] != nil)
      for wrong: JSONValue in [
        [:], ["redirect_uris": ["http://example.org/"]], [],
        ["redirect_uris": redirects, "token_endpoint_auth_method": "private_key_jwt"],
      ] {
        #expect(try await register(wrong)?.status == 400)
      }
    }
  }
}
