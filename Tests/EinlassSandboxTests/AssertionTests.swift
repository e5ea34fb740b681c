import EinlassJSON
import Foundation
import Testing

@testable import EinlassSandbox

/// RFC 7523, RFC 8693 and the Identity Assertion JWT Authorization Grant at the strict provider.
@Suite struct AssertionTests {
  private static let types = "urn:ietf:params:oauth:token-type:"
  private static let secret = "s3cret: with/odd+chars"

  /// A sandbox whose demo application has the second application's id in its assertions.
  private func run(
    _ body: (TestSandbox, TestBrowser, _ issuer: String, _ idToken: String) async throws -> Void
  ) async throws {
    try await TestBrowser.run { sandbox, browser async throws in
      try await sandbox.patch([
        "openid": ["applications": ["demo-openid": ["clientThere": "secret-openid"]]]
      ])
      let idToken = try #require(try await browser.signIn()["id_token"]?.string)
      try await body(sandbox, browser, "http://127.0.0.1:\(browser.client.port)", idToken)
    }
  }

  private func exchanged(
    _ browser: TestBrowser, _ idToken: String, _ changes: [String: String?]
  ) async throws -> JSONValue? {
    let form: [String: String?] = [
      "subject_token": idToken, "subject_token_type": Self.types + "id_token",
    ]
    return try await browser.token(
      form.merging(changes) { $1 }, grant: OAuth2Provider.tokenExchange)?.json
  }

  private func assertion(
    _ browser: TestBrowser, _ idToken: String, for audience: String,
    _ changes: [String: String?] = [:]
  ) async throws -> String {
    let asked: [String: String?] = [
      "requested_token_type": Self.types + "id-jag", "audience": audience,
    ]
    let answer = try await exchanged(browser, idToken, asked.merging(changes) { $1 })
    #expect(answer?["issued_token_type"]?.string == Self.types + "id-jag")
    #expect(answer?["token_type"] == "N_A")
    return try #require(answer?["access_token"]?.string)
  }

  private func redeem(
    _ browser: TestBrowser, _ assertion: String, _ changes: [String: String?] = [:]
  ) async throws -> JSONValue? {
    let form: [String: String?] = [
      "assertion": assertion, "client_id": "secret-openid", "client_secret": Self.secret,
    ]
    return try await browser.token(
      form.merging(changes) { $1 }, grant: OAuth2Provider.jwtBearer)?.json
  }

  @Test func `An id_token becomes an assertion, and the assertion a token of its person`()
    async throws
  {
    try await run { _, browser, issuer, idToken async throws in
      let text = try await assertion(
        browser, idToken, for: issuer, ["resource": "https://mcp.example/", "scope": "photos"])
      let answer = try await redeem(
        browser, text, ["resource": "https://mcp.example/", "scope": "photos"])
      #expect(answer?["scope"] == "photos" && answer?["refresh_token"] == nil)
      let token = try #require(answer?["access_token"]?.string)
      #expect(try await browser.userinfo(token)?.json?["sub"] == "3001")
    }
  }

  @Test(
    arguments: [
      ("audience", "https://other.example", "invalid_target"), ("audience", nil, "invalid_request"),
      ("subject_token", "opaque", "invalid_grant"), ("subject_token", nil, "invalid_request"),
      ("subject_token_type", Self.types + "saml2", "invalid_request"),
      ("subject_token_type", nil, "invalid_request"),
    ] as [(String, String?, String)])
  func `A faulty request for an assertion is refused`(name: String, value: String?, error: String)
    async throws
  {
    try await run { _, browser, issuer, idToken async throws in
      var asked: [String: String?] = [
        "requested_token_type": Self.types + "id-jag", "audience": issuer,
      ]
      asked[name] = .some(value)
      #expect(try await exchanged(browser, idToken, asked)?["error"]?.string == error)
    }
  }

  @Test func `An id_token of another application or after its end is not exchanged`() async throws {
    try await run { sandbox, browser, _, idToken async throws in
      let other: [String: String?] = [
        "client_id": "secret-openid", "client_secret": Self.secret,
      ]
      #expect(try await exchanged(browser, idToken, other)?["error"] == "invalid_grant")
      let answer = try await exchanged(browser, idToken, ["scope": "openid"])
      #expect(answer?["issued_token_type"]?.string == Self.types + "access_token")
      #expect(answer?["access_token"]?.string != nil)
      try await sandbox.patch(["clockOffsetSeconds": 3601])
      #expect(try await exchanged(browser, idToken, [:])?["error"] == "invalid_grant")
    }
  }

  @Test(
    arguments: [
      ("client_id", "demo-openid", "invalid_grant"),
      ("resource", "https://other.example/", "invalid_target"), ("resource", nil, "invalid_target"),
      ("scope", "photos email", "invalid_scope"), ("assertion", nil, "invalid_request"),
      ("assertion", "a.b.c", "invalid_grant"),
    ] as [(String, String?, String)])
  func `An assertion is bound to its application, resource and scope`(
    name: String, value: String?, error: String
  ) async throws {
    try await run { _, browser, issuer, idToken async throws in
      let text = try await assertion(
        browser, idToken, for: issuer, ["resource": "https://mcp.example/", "scope": "photos"])
      var asked: [String: String?] = ["resource": "https://mcp.example/", "scope": "photos"]
      asked[name] = .some(value)
      if name == "client_id" { asked["client_secret"] = .some(nil) }
      #expect(try await redeem(browser, text, asked)?["error"]?.string == error)
    }
  }

  @Test func `An assertion works once, until its end, and only with its signature`() async throws {
    try await run { sandbox, browser, issuer, idToken async throws in
      let used = try await assertion(browser, idToken, for: issuer)
      #expect(try await redeem(browser, used)?["access_token"] != nil)
      #expect(try await redeem(browser, used)?["error"] == "invalid_grant")
      let forged = try await assertion(browser, idToken, for: issuer)
      let parts = forged.split(separator: ".")
      let signature = (parts[2].first == "A" ? "Q" : "A") + parts[2].dropFirst()
      #expect(
        try await redeem(browser, "\(parts[0]).\(parts[1]).\(signature)")?["error"]
          == "invalid_grant")
      let late = try await assertion(browser, idToken, for: issuer)
      try await sandbox.patch(["clockOffsetSeconds": 301])
      #expect(try await redeem(browser, late)?["error"] == "invalid_grant")
    }
  }

  @Test func `Only assertions of trusted issuers for this server count`() async throws {
    try await run { sandbox, browser, issuer, idToken async throws in
      // The same server under another name makes assertions for its former name.
      try await sandbox.patch([
        "openid": [
          "behaviour": ["issuer": "https://idp.example"], "trusted": ["openid": .string(issuer)],
        ]
      ])
      let renamed = try await browser.signIn()["id_token"]?.string
      let foreign = try await assertion(browser, try #require(renamed), for: issuer)
      #expect(try await redeem(browser, foreign)?["error"] == "invalid_grant", "for another name")
      try await sandbox.patch([
        "openid": ["behaviour": ["issuer": .string(issuer)], "trusted": ["openid": .null]]
      ])
      #expect(try await redeem(browser, foreign)?["error"] == "invalid_grant", "untrusted")
      try await sandbox.patch(["openid": ["trusted": ["openid": "https://idp.example"]]])
      #expect(try await redeem(browser, foreign)?["access_token"] != nil)
      #expect(try await exchanged(browser, idToken, [:])?["access_token"] != nil)
    }
  }

  @Test func `Without takesAssertions both grants are unknown`() async throws {
    try await run { sandbox, browser, issuer, idToken async throws in
      let text = try await assertion(browser, idToken, for: issuer)
      try await sandbox.patch(["openid": ["behaviour": ["takesAssertions": false]]])
      #expect(try await redeem(browser, text)?["error"] == "unsupported_grant_type")
      #expect(try await exchanged(browser, idToken, [:])?["error"] == "unsupported_grant_type")
    }
  }
}
