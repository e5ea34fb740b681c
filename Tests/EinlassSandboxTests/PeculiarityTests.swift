import EinlassJSON
import Foundation
import Testing

@testable import EinlassSandbox

/// Deviations of single providers from the standards.
@Suite struct PeculiarityTests {
  /// The Basic header of a demo application, not percent-encoded.
  private func basic(_ browser: TestBrowser) -> [(String, String)] {
    let text = "\(browser.application):demo-secret"
    return [("Authorization", "Basic " + Data(text.utf8).base64EncodedString())]
  }

  /// Returns the authorization request without PKCE and nonce.
  private func plain(_ browser: TestBrowser, scope: String? = nil) -> TestBrowser {
    var browser = browser
    for name in ["code_challenge", "code_challenge_method", "nonce", "scope"] {
      browser.asked[name] = nil
    }
    browser.asked["scope"] = scope
    return browser
  }

  @Test func `Sequencing accepts only Basic, writes lifetimes as strings and keeps refresh tokens`()
    async throws
  {
    try await TestBrowser.run(.sequencing) { _, browser async throws in
      let browser = plain(browser, scope: "demo")
      let answer = try browser.answer(try await browser.authorize())
      #expect(answer["iss"] == nil)
      let usual: [String: String?] = ["code": answer["code"], "code_verifier": nil]
      #expect(
        try await browser.token(usual.merging(["client_secret": "demo-secret"]) { $1 })?.status
          == 401)
      let tokens = try await browser.token(
        usual.merging(["client_id": nil]) { $1 }, headers: basic(browser))?.json
      #expect(tokens?["expires_in"] == "3600")
      let old: String = try #require(tokens?["refresh_token"]?.string)
      // The refresh endpoint of this provider has a query.
      let reply = try await browser.client.post(
        "/oauth2/token?q=oauth2/token", headers: basic(browser),
        form: [("grant_type", "refresh_token"), ("refresh_token", old)])
      #expect(reply?.json?["access_token"]?.string != nil)
      #expect(reply?.json?["refresh_token"] == nil)
    }
  }

  private static func provider(_ name: String) throws -> OAuth2Provider {
    try #require(OAuth2Provider.all.first { $0.name == name })
  }

  @Test func `LinkedIn refuses a client that sends a code_verifier beside its secret`()
    async throws
  {
    try await TestBrowser.run(Self.provider("linkedin")) { _, browser async throws in
      for (verifier, status) in [(TestBrowser.verifier, 401), (nil, 200)] as [(String?, Int)] {
        let browser = plain(browser, scope: "openid profile")
        let reply = try await browser.token([
          "code": try await browser.code(), "code_verifier": verifier,
          "client_secret": "demo-secret",
        ])
        #expect(reply?.status == status)
        #expect(reply?.json?["error"] == (status == 401 ? "invalid_client" : nil))
      }
    }
  }

  @Test(arguments: [
    ("spotify", "http://localhost:4711/callback", false),
    ("spotify", "http://127.0.0.1:4711/callback", true),
    ("github", "http://localhost:4711/callback", false),
    ("gitlab", "http://[::1]:4711/callback", true),
    ("microsoft", "http://localhost:4711/callback", true),
    ("microsoft", "http://127.0.0.1:4711/callback", false),
    ("discord", "http://localhost:4711/callback", true),
  ]) func `A port counts as the provider says`(
    name: String, redirect: String, isTaken: Bool
  ) async throws {
    try await TestBrowser.run(Self.provider(name)) { _, browser async throws in
      var browser = browser
      browser.asked["redirect_uri"] = redirect
      browser.asked["scope"] = nil
      #expect(try await browser.authorize()?.status == (isTaken ? 302 : 400))
    }
  }

  @Test func `With exact ports only the registered address is taken`() async throws {
    try await TestBrowser.run(Self.provider("discord")) { sandbox, browser async throws in
      let registered = "http://127.0.0.1:4711/callback"
      try await sandbox.patch([
        "discord": [
          "behaviour": ["redirectPorts": "exact"],
          "applications": [browser.application: ["redirects": [.string(registered)]]],
        ]
      ])
      for (redirect, status) in [(registered, 302), ("http://127.0.0.1:4712/callback", 400)] {
        var browser = browser
        browser.asked["redirect_uri"] = redirect
        #expect(try await browser.authorize()?.status == status)
      }
    }
  }

  @Test func `Microsoft's Graph refuses a token for Outlook`() async throws {
    let microsoft = try #require(OAuth2Provider.all.first { $0.name == "microsoft" })
    for (scope, status) in [
      ("User.Read", 200), ("https://outlook.office.com/IMAP.AccessAsUser.All", 401),
    ] {
      try await TestBrowser.run(microsoft) { _, browser async throws in
        var browser = plain(browser, scope: scope)
        browser.asked["redirect_uri"] = "http://localhost:4711/callback"
        let tokens = try await browser.token([
          "code": try await browser.code(), "code_verifier": nil,
        ])?.json
        let token = try #require(tokens?["access_token"]?.string)
        #expect(try await browser.userinfo(token)?.status == status)
      }
    }
  }

  @Test func `GitHub's tokens expire only with the offline scope`() async throws {
    for (scope, lifetime) in [("repo", nil), ("repo offline_access", 28_800)] as [(String, Int64?)]
    {
      try await TestBrowser.run(.gitHub) { _, browser async throws in
        let browser = plain(browser, scope: scope)
        let answer = try await browser.token(
          [
            "code": try await browser.code(), "code_verifier": nil, "client_secret": "demo-secret",
          ], headers: [("Accept", "application/json")])
        #expect(answer?.json?["expires_in"] == lifetime.map { JSONValue($0) })
        #expect((answer?.json?["refresh_token"] == nil) == (lifetime == nil))
      }
    }
  }

  @Test func `Vimeo's tokens never expire and come with the user`() async throws {
    try await TestBrowser.run(.vimeo) { _, browser async throws in
      let browser = plain(browser, scope: "public email")
      let tokens = try await browser.token(
        ["code": try await browser.code(), "code_verifier": nil], headers: basic(browser))?.json
      #expect(tokens?["expires_in"] == nil)
      #expect(tokens?["refresh_token"] == nil)
      #expect(tokens?.at(pointer: "/user/uri") == "/users/3001")
      let token = try #require(tokens?["access_token"]?.string)
      #expect(try await browser.userinfo(token)?.json?["name"] == "Ada Lovelace")
    }
  }

  @Test func `Sina Weibo reads parameters from the query and returns the user's id with the token`()
    async throws
  {
    try await TestBrowser.run(.sinaWeibo) { _, browser async throws in
      let browser = plain(browser)
      let query = [
        Parameter(name: "client_id", value: browser.application),
        Parameter(name: "client_secret", value: "demo-secret"),
        Parameter(name: "grant_type", value: "authorization_code"),
        Parameter(name: "code", value: try await browser.code()),
        Parameter(name: "redirect_uri", value: TestBrowser.redirect),
      ]
      let tokens = try await browser.client.post(
        browser.path(.token) + "?" + query.formEncoded, form: [])?.json
      #expect(tokens?["uid"] == "3001")
      let token = try #require(tokens?["access_token"]?.string)
      let user = try await browser.client.send(
        "GET", "/2/users/show.json?uid=3001&access_token=\(token)")?.json
      #expect(user?["id"] == 3001)
      #expect(user?["idstr"] == "3001")
      #expect(user?["screen_name"] == "ada")
      let again = try await browser.client.post(
        browser.path(.token) + "?" + query.formEncoded, form: [])
      #expect(again?.json?["error_code"] == 21325)
    }
  }

  @Test func `Tencent Weibo answers in form encoding and reports failures with status 200`()
    async throws
  {
    try await TestBrowser.run(.tencentWeibo) { _, browser async throws in
      let browser = plain(browser)
      let usual: [String: String?] = ["code_verifier": nil, "client_secret": "demo-secret"]
      let reply = try #require(
        try await browser.token(usual.merging(["code": try await browser.code()]) { $1 }))
      #expect(reply.header("content-type")?.hasPrefix("application/x-www-form-urlencoded") == true)
      let form = try #require([Parameter](formEncoded: reply.text))
      #expect(form["openid"] == "3001")
      #expect(form["nick"] == "Ada Lovelace")
      #expect(form["access_token"] != nil)
      let failure = try await browser.token(usual.merging(["code": "unknown"]) { $1 })
      #expect(failure?.status == 200)
      #expect([Parameter](formEncoded: failure?.text ?? "")?["errorCode"] == "invalid_grant")
    }
  }
}

extension PeculiarityTests {
  static let names = OAuth2Provider.all.map(\.name)

  @Test(arguments: names)
  func `The token of each provider leads to its user`(name: String) async throws {
    let provider = try #require(OAuth2Provider.all.first { $0.name == name })
    try await TestBrowser.run(provider) { _, browser async throws in
      var browser = browser
      let behaviour = OAuth2Behaviour(json: provider.demoState["behaviour"] ?? .null)
      browser.asked["scope"] = behaviour.scope(forFilling: "person")
      for needed in behaviour.pageParameters {
        browser.asked[needed.name] = needed.value.string
      }
      let record = provider.demoState[at: "applications", browser.application]
      let redirects = record?["redirects"]?.strings ?? []
      if redirects.count == 1 { browser.asked["redirect_uri"] = redirects[0] }
      if behaviour.redirectPorts == "localhost" {
        browser.asked["redirect_uri"] = "http://localhost:4711/callback"
      }
      let ways = behaviour.authentication
      let way =
        record?["authentication"]?.string ?? (record?["secret"] == nil ? "none" : ways.first)
      let secret = record?["secret"]?.string ?? ""
      let basic = Data("\(browser.application):\(secret)".utf8).base64EncodedString()
      let reply = try #require(
        try await browser.token(
          [
            "code": try await browser.code(),
            "code_verifier": behaviour.pkce == "refused" ? nil : TestBrowser.verifier,
            "client_secret": way == "client_secret_post" ? secret : nil,
          ],
          headers: way == "client_secret_basic" ? [("Authorization", "Basic \(basic)")] : []))
      #expect(reply.status == 200, "\(reply.text)")
      let token =
        reply.json?["access_token"]?.string
        ?? [Parameter](formEncoded: reply.text)?["access_token"]
      guard provider.demoState[at: "endpoints", "userinfo"] != nil else { return }
      let person = try await browser.userinfo(try #require(token))
      #expect(person?.status == 200)
      #expect(person?.text.contains("3001") == true || name == "spotify")
    }
  }
}
