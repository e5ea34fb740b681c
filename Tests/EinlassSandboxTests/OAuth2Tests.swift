import EinlassCrypto
import EinlassJSON
import Foundation
import Testing

@testable import EinlassSandbox

/// The strict OAuth 2.0 provider over real HTTP: code, tokens, refresh, discovery, keys.
@Suite struct OAuth2Tests {
  @Test func `A code gives tokens, and they give the person's identity`() async throws {
    try await TestBrowser.run { sandbox, browser async throws in
      let answer = try browser.answer(try await browser.authorize())
      #expect(answer["state"] == "s/1+2")
      #expect(answer["iss"] == "http://127.0.0.1:\(browser.client.port)")
      let tokens = try await browser.token(["code": answer["code"]])?.json
      #expect(tokens?["token_type"] == "Bearer")
      #expect(tokens?["expires_in"] == 3600)
      #expect(tokens?["scope"] == "openid profile")
      let person = try await browser.userinfo(try #require(tokens?["access_token"]?.string))
      #expect(person?.json?["sub"] == "3001")
      #expect(person?.json?["name"] == "Ada Lovelace")
      #expect(person?.json?["email"] == nil, "that scope was not asked for")
      let checks = try await sandbox.log().flatMap { $0["checks"]?.array ?? [] }
      #expect(checks.allSatisfy { $0["ok"] == true }, "\(checks)")
    }
  }

  @Test func `The consent page shows application and scopes, and its buttons decide`() async throws
  {
    try await TestBrowser.run(consent: "page") { _, browser async throws in
      let page = try #require(try await browser.authorize())
      #expect(page.status == 200)
      let scopes = "<code>openid</code></li><li><code>profile</code>"
      for part in ["Demo wants", scopes, "id=\"allow\"", "id=\"deny\"", "id=\"user\""] {
        #expect(page.text.contains(part), "\(part)")
      }
      let denied = try browser.answer(try await browser.authorize(decision: [("decision", "deny")]))
      #expect(denied["error"] == "access_denied")
      #expect(denied["state"] == "s/1+2")
      #expect(denied["code"] == nil)
      let allowed = try browser.answer(
        try await browser.authorize(decision: [("decision", "allow"), ("user", "3002")]))
      let tokens = try await browser.token(["code": allowed["code"]])?.json
      let token = try #require(tokens?["access_token"]?.string)
      #expect(try await browser.userinfo(token)?.json?["sub"] == "3002")
    }
  }

  @Test(
    arguments: [
      ("client_id", "nobody"), ("client_id", nil), ("redirect_uri", "http://127.0.0.1:4711/other"),
      ("redirect_uri", "http://127.0.0.1.example.org/callback"),
      ("redirect_uri", "http://127.0.0.1:4711/callback/"), ("redirect_uri", nil),
      ("redirect_uri", "http://localhost:4711/callback"),
      ("redirect_uri", "http://127.0.0.1:/callback"),
      ("redirect_uri", "https://127.0.0.1:4711/callback"),
    ] as [(String, String?)])
  func `An unregistered client or redirect address gets an error page without a redirect`(
    name: String, value: String?
  )
    async throws
  {
    try await TestBrowser.run { _, browser async throws in
      var browser = browser
      browser.asked[name] = value
      let reply = try await browser.authorize()
      #expect(reply?.status == 400)
      #expect(reply?.header("location") == nil)
    }
  }

  @Test(
    arguments: [
      ("response_type", "token", "unsupported_response_type"),
      ("code_challenge", nil, "invalid_request"), ("code_challenge", "short", "invalid_request"),
      ("code_challenge_method", "plain", "invalid_request"),
      ("code_challenge_method", nil, "invalid_request"), ("scope", "openid rule", "invalid_scope"),
    ] as [(String, String?, String)])
  func `A faulty authorization request is redirected back with its error`(
    name: String, value: String?, error: String
  )
    async throws
  {
    try await TestBrowser.run { _, browser async throws in
      var browser = browser
      browser.asked[name] = value
      let answer = try browser.answer(try await browser.authorize())
      #expect(answer["error"] == error)
      #expect(answer["state"] == "s/1+2")
    }
  }

  @Test(
    arguments: [
      ("code", "unknown", "invalid_grant"), ("code", nil, "invalid_request"),
      ("code_verifier", String(repeating: "a", count: 43), "invalid_grant"),
      ("code_verifier", nil, "invalid_grant"),
      ("redirect_uri", "http://127.0.0.1:4712/callback", "invalid_grant"),
      ("client_id", "nobody", "invalid_client"), ("client_id", nil, "invalid_client"),
      ("client_id", "secret-openid", "invalid_client"), ("client_secret", "x", "invalid_client"),
      ("grant_type", "password", "unsupported_grant_type"),
    ] as [(String, String?, String)])
  func `A code can only be redeemed with the parameters of its request`(
    name: String, value: String?, error: String
  ) async throws {
    try await TestBrowser.run { _, browser async throws in
      let code = try await browser.code()
      let reply = try await browser.token(
        ["code": code].merging([name: value]) { $1 })
      #expect(reply?.json?["error"]?.string == error)
      #expect(reply?.status == (error == "invalid_client" ? 401 : 400))
      #expect(try await browser.token(["code": code])?.status == 200, "nothing was used up")
    }
  }

  @Test func `A code works once, and a second use revokes its tokens`() async throws {
    try await TestBrowser.run { sandbox, browser async throws in
      let code = try await browser.code()
      let first = try await browser.token(["code": code])?.json
      let token = try #require(first?["access_token"]?.string)
      #expect(try await browser.userinfo(token)?.status == 200)
      #expect(try await browser.token(["code": code])?.json?["error"] == "invalid_grant")
      #expect(try await browser.userinfo(token)?.status == 401)
      let late = try await browser.code()
      try await sandbox.patch(["clockOffsetSeconds": 61])
      #expect(try await browser.token(["code": late])?.json?["error"] == "invalid_grant")
    }
  }

  @Test func `Refresh tokens rotate, and reuse of an old one revokes the family`() async throws {
    try await TestBrowser.run { sandbox, browser async throws in
      let first = try await browser.signIn()
      try await sandbox.patch(["clockOffsetSeconds": 3601])
      let expired = try #require(first["access_token"]?.string)
      #expect(try await browser.userinfo(expired)?.status == 401)
      let old = try #require(first["refresh_token"]?.string)
      let second = try await browser.token(["refresh_token": old], grant: "refresh_token")?.json
      let token = try #require(second?["access_token"]?.string)
      let next = try #require(second?["refresh_token"]?.string)
      #expect(next != old)
      #expect(try await browser.userinfo(token)?.status == 200)
      let wider = ["refresh_token": next, "scope": "openid email"]
      #expect(
        try await browser.token(wider, grant: "refresh_token")?.json?["error"] == "invalid_scope")
      let reused = try await browser.token(["refresh_token": old], grant: "refresh_token")
      #expect(reused?.json?["error"] == "invalid_grant")
      #expect(try await browser.userinfo(token)?.status == 401)
      #expect(
        try await browser.token(["refresh_token": next], grant: "refresh_token")?.json?["error"]
          == "invalid_grant")
    }
  }

  @Test func `A refresh token can be reusable, with or without repetition, or absent`() async throws
  {
    for (manner, isNamed) in [("reusable", true), ("kept", false)] {
      try await TestBrowser.run { sandbox, browser async throws in
        try await sandbox.patch(["openid": ["behaviour": ["refresh": .string(manner)]]])
        let old = try #require(try await browser.signIn()["refresh_token"]?.string)
        for _ in 0..<2 {
          let reply = try await browser.token(["refresh_token": old], grant: "refresh_token")
          #expect(reply?.status == 200)
          #expect(reply?.json?["refresh_token"]?.string == (isNamed ? old : nil))
        }
      }
    }
    try await TestBrowser.run { sandbox, browser async throws in
      try await sandbox.patch(["openid": ["behaviour": ["offlineScope": "offline_access"]]])
      #expect(try await browser.signIn()["refresh_token"] == nil)
      var browser = browser
      browser.asked["scope"] = "openid offline_access"
      #expect(try await browser.signIn()["refresh_token"]?.string != nil)
    }
  }

  @Test func `The client secret is accepted in the header or in the form, but not in both`()
    async throws
  {
    try await TestBrowser.run { _, browser async throws in
      var browser = browser
      browser.application = "secret-openid"
      browser.asked["client_id"] = browser.application
      let secret = "s3cret: with/odd+chars"
      let basic = { (secret: String) in
        [("Authorization", "Basic " + Data("secret-openid:\(secret)".utf8).base64EncodedString())]
      }
      let right = basic(PercentCoding.encode(secret))
      let isGood = { (headers: [(String, String)], changes: [String: String?]) async throws in
        try await browser.token(
          ["code": try await browser.code()].merging(changes) { $1 }, headers: headers)?.status
          == 200
      }
      #expect(try await isGood(right, ["client_id": nil]))
      #expect(try await isGood(right, [:]))
      #expect(try await isGood([], ["client_secret": secret]))
      #expect(try await !isGood(right, ["client_secret": secret]))
      #expect(try await !isGood(right, ["client_id": "demo-openid"]))
      #expect(try await !isGood(basic(secret), [:]), "a plus is a space there")
      #expect(try await !isGood(basic("wrong"), [:]))
      #expect(try await !isGood([], [:]))
      let own = try await browser.token(
        ["client_secret": secret, "scope": "photos"], grant: "client_credentials")
      #expect(own?.json?["scope"] == "photos")
      #expect(own?.json?["refresh_token"] == nil)
    }
  }

  @Test(arguments: ["openIDMetadata", "oauthMetadata"])
  func `The metadata documents name the issuer and its endpoints`(document: String) async throws {
    try await TestBrowser.run { sandbox, browser async throws in
      let path = browser.path(try #require(OAuth2Provider.Endpoint(rawValue: document)))
      let origin = "http://127.0.0.1:\(browser.client.port)"
      let metadata = try #require(try await browser.client.send("GET", path)?.json)
      #expect(metadata["issuer"]?.string == origin)
      #expect(metadata["token_endpoint"]?.string == origin + "/token")
      #expect(metadata["code_challenge_methods_supported"] == ["S256"])
      try await sandbox.patch(["openid": ["behaviour": ["issuer": "https://other.example"]]])
      #expect(
        try await browser.client.send("GET", path)?.json?["issuer"] == "https://other.example")
    }
  }

  /// Returns the header and claims of an id_token if a key of this set verifies its signature.
  private func verified(_ token: String, by keys: JSONValue) throws -> (JSONValue, JSONValue)? {
    let parts = token.split(separator: ".").map(String.init)
    let bytes = { (text: String) in
      var text = text.replacing("-", with: "+").replacing("_", with: "/")
      while text.count % 4 != 0 { text += "=" }
      return Data(base64Encoded: text).map { Array($0) } ?? []
    }
    let header = try JSONReader.read(bytes(parts[0]))
    guard let key = keys["keys"]?.array?.first(where: { $0["kid"] == header["kid"] }) else {
      return nil
    }
    let number = { (name: String) in bytes(key[name]?.string ?? "") }
    let publicKey =
      key["kty"] == "RSA"
      ? PublicKey(rsaModulus: number("n"), exponent: number("e"))
      : PublicKey(curve: .p256, x: number("x"), y: number("y"))
    let isValid = SignatureVerification.isValid(
      bytes(parts[2]), of: Array("\(parts[0]).\(parts[1])".utf8), by: try #require(publicKey),
      key["kty"] == "RSA" ? .rsaPKCS1(.sha256) : .ecdsa(.p256, .sha256))
    #expect(isValid)
    return (header, try JSONReader.read(bytes(parts[1])))
  }

  @Test func `An id_token is signed, and its keys rotate with and without overlap`() async throws {
    try await TestBrowser.run { sandbox, browser async throws in
      let keys = { () async throws in
        try #require(try await browser.client.send("GET", browser.path(.keys))?.json)
      }
      let idToken = { () async throws in
        try #require(try await browser.signIn()["id_token"]?.string)
      }
      let first = try await idToken()
      let old = try await keys()
      let (header, claims) = try #require(try verified(first, by: old))
      #expect(header["alg"] == "RS256")
      #expect(claims["sub"] == "3001")
      #expect(claims["aud"] == "demo-openid")
      #expect(claims["nonce"] == "n1")
      #expect(claims["iss"]?.string == "http://127.0.0.1:\(browser.client.port)")
      #expect(claims["exp"]?.int64 == TestSandbox.now + 3600)
      try await sandbox.patch(["openid": ["behaviour": ["signingKey": "ec-1"]]])
      #expect(try verified(try await idToken(), by: old)?.0["alg"] == "ES256")
      // With overlap: a new key signs, and the old key is still published.
      try await sandbox.patch([
        "openid": [
          "keys": ["rsa-2": ["algorithm": "RS256"]], "behaviour": ["signingKey": "rsa-2"],
        ]
      ])
      let second = try await idToken()
      #expect(try verified(second, by: old) == nil)
      let both = try await keys()
      #expect(try verified(second, by: both) != nil)
      #expect(try verified(first, by: both) != nil)
      // Without overlap: the old key is no longer published.
      try await sandbox.patch(["openid": ["keys": ["rsa-1": .null]]])
      #expect(try verified(first, by: try await keys()) == nil)
      #expect(try verified(second, by: try await keys()) != nil)
    }
  }
}
