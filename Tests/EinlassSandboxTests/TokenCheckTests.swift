import EinlassJSON
import Foundation
import Testing

@testable import EinlassSandbox

/// The endpoints that name the application of a token.
@Suite struct TokenCheckTests {
  /// A request about a token, with the proof of an application.
  struct Check: Sendable, CustomTestStringConvertible {
    var provider: String
    var target: String
    var application: String
    /// Whether only the applications with a secret may ask, and for their own tokens alone.
    var isProven = false, isOwn = false
    /// The status for a token that nobody has.
    var refusal: Int
    var request:
      @Sendable (_ token: String, _ proof: (id: String, secret: String)) -> (
        String, [(String, String)], String
      )

    var testDescription: String { provider }
  }

  private static let form = ("Content-Type", "application/x-www-form-urlencoded")
  private static func basic(_ proof: (id: String, secret: String)) -> (String, String) {
    ("Authorization", "Basic \(Data("\(proof.id):\(proof.secret)".utf8).base64EncodedString())")
  }

  static let checks = [
    Check(
      provider: "github", target: "/applications/demo-github/token", application: "demo-github",
      isProven: true, isOwn: true, refusal: 404
    ) { ("POST", [basic($1)], #"{"access_token":"\#($0)"}"#) },
    Check(
      provider: "gitlab", target: "/oauth/token/info", application: "demo-gitlab", refusal: 401
    ) { token, _ in ("GET", [("Authorization", "Bearer \(token)")], "") },
    Check(
      provider: "discord", target: "/api/oauth2/@me", application: "demo-discord", refusal: 401
    ) { token, _ in ("GET", [("Authorization", "Bearer \(token)")], "") },
    Check(
      provider: "twitch", target: "/oauth2/validate", application: "demo-twitch", refusal: 401
    ) { token, _ in ("GET", [("Authorization", "OAuth \(token)")], "") },
    Check(
      provider: "yandex", target: "/info?format=json", application: "demo-yandex", refusal: 401
    ) { token, _ in ("GET", [("Authorization", "OAuth \(token)")], "") },
    Check(
      provider: "line", target: "/oauth2/v2.1/verify?access_token={token}",
      application: "demo-line",
      refusal: 400
    ) { _, _ in ("GET", [], "") },
    Check(
      provider: "digitalocean", target: "/v1/oauth/token/info", application: "demo-digitalocean",
      refusal: 401
    ) { token, _ in ("GET", [("Authorization", "Bearer \(token)")], "") },
    Check(provider: "google", target: "/tokeninfo", application: "demo-google", refusal: 400) {
      token, _ in ("POST", [("Authorization", "Bearer \(token)")], "")
    },
    Check(
      provider: "linkedin", target: "/oauth/v2/introspectToken", application: "demo-linkedin",
      isProven: true, refusal: 200
    ) { ("POST", [form], "client_id=\($1.id)&client_secret=\($1.secret)&token=\($0)") },
    Check(
      provider: "gitea", target: "/login/oauth/introspect", application: "secret-gitea",
      isProven: true, refusal: 200
    ) { ("POST", [form, basic($1)], "token=\($0)") },
    Check(
      provider: "sina-weibo", target: "/oauth2/get_token_info", application: "demo-sina-weibo",
      refusal: 401
    ) { token, _ in ("POST", [form], "access_token=\(token)") },
  ]

  @Test("The check of a token is as strict as the provider's page", arguments: checks)
  func strict(check: Check) async throws {
    let provider = try #require(OAuth2Provider.all.first { $0.name == check.provider })
    let other = provider.demoState[at: "applications", check.application] ?? .null
    try await TestBrowser.run(provider) { sandbox, browser async throws in
      func token(of application: String) -> JSONValue {
        ["application": .string(application), "user": "3001", "scopes": ["a", "b"]]
      }
      try await sandbox.patch([
        check.provider: [
          "applications": ["other-application": other],
          "tokens": .object(
            JSONObject([
              ("OWN", token(of: check.application)), ("OTHER", token(of: "other-application")),
              ("OLD", token(of: check.application).merging(["expiresAt": 1])),
            ])),
        ]
      ])
      func ask(
        _ token: String, as id: String? = nil, _ secret: String = "demo-secret"
      ) async throws -> Reply {
        let (method, headers, body) = check.request(token, (id ?? check.application, secret))
        return try #require(
          try await browser.client.send(
            method, check.target.replacing("{token}", with: token), headers: headers,
            body: Array(body.utf8)))
      }
      let own = try await ask("OWN")
      #expect(own.status == 200 && own.text.contains(#""\#(check.application)""#), "\(own.text)")
      let foreign = try await ask("OTHER")
      #expect(foreign.status == (check.isOwn ? 404 : 200))
      #expect(foreign.text.contains("other-application") != check.isOwn)
      for token in ["UNKNOWN", "OLD"] {
        let refused = try await ask(token)
        #expect(refused.status == check.refusal)
        #expect(!refused.text.contains(check.application))
      }
      guard check.isProven else { return }
      for (id, secret) in [(check.application, "wrong"), ("nobody", "demo-secret")] {
        #expect(try await ask("OWN", as: id, secret).status == 401)
      }
      // GitHub's address names the application that asks.
      let asOther = try await ask("OWN", as: "other-application")
      #expect(asOther.status == (check.isOwn ? 404 : 200))
    }
  }

  @Test func `Gitea's public application may not ask, and Twitch takes no other scheme`()
    async throws
  {
    for (name, method, header, body) in [
      ("gitea", "POST", Self.basic(("demo-gitea", "")), "token=OWN"),
      ("twitch", "GET", ("Authorization", "Bearer OWN"), ""),
    ] {
      let provider = try #require(OAuth2Provider.all.first { $0.name == name })
      try await TestBrowser.run(provider) { sandbox, browser async throws in
        try await sandbox.patch([
          name: ["tokens": ["OWN": ["application": .string("demo-\(name)"), "user": "3001"]]]
        ])
        let reply = try await browser.client.send(
          method, browser.path(.tokenInfo), headers: [Self.form, header], body: Array(body.utf8))
        #expect(reply?.status == 401, "\(reply?.text ?? "")")
      }
    }
  }
}
