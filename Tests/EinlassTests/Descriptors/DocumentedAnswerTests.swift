import EinlassJSON
import Testing

@testable import Einlass

/// The answers of real providers in `Tests/Vectors/Providers`: of token endpoints, and about the
/// person of a token.
@Suite struct DocumentedAnswerTests {
  private struct Token: Equatable {
    var seconds: Int64?
    var scopes: [String]
    var hasRefreshToken = false
    var hasIDToken = false
  }

  /// `nil` for an answer without a token.
  private static let tokens: [String: Token?] = [
    "django-allauth/digitalocean": Token(
      seconds: 2_592_000, scopes: ["read", "write"], hasRefreshToken: true),
    "django-allauth/notion": Token(scopes: ["asked"]),
    "django-allauth/shopify": Token(
      seconds: 86_381,
      scopes: [
        "read_products", "read_customers", "read_inventory",
        "write_merchant_managed_fulfillment_orders", "write_third_party_fulfillment_orders",
        "read_orders", "write_assigned_fulfillment_orders",
      ]),
    // More than 10^10 seconds count as no lifetime.
    "django-allauth/yandex": Token(scopes: ["asked"], hasRefreshToken: true),
    "social-auth-core/bitbucket": Token(seconds: 3600, scopes: ["asked"], hasRefreshToken: true),
    "social-auth-core/github": Token(seconds: 28_800, scopes: ["asked"], hasRefreshToken: true),
    "social-auth-core/github-refresh": Token(seconds: 28_800, scopes: [], hasRefreshToken: true),
    "social-auth-core/gitlab": Token(seconds: 7200, scopes: ["asked"], hasRefreshToken: true),
    "social-auth-core/hubspot": Token(seconds: 1800, scopes: ["asked"], hasRefreshToken: true),
    "social-auth-core/kakao": Token(scopes: ["asked"]),
    "social-auth-core/line": Token(seconds: 2_592_000, scopes: ["asked"], hasRefreshToken: true),
    // Its id_token is empty.
    "social-auth-core/microsoft": Token(seconds: 3600, scopes: ["asked"], hasRefreshToken: true),
    // Its lifetime is 3600.0.
    "social-auth-core/reddit": Token(seconds: 3600, scopes: ["identity"], hasRefreshToken: true),
    "social-auth-core/strava": Token(seconds: 227_615, scopes: ["asked"], hasRefreshToken: true),
    "social-auth-core/twitter": Token(seconds: 7200, scopes: ["users.read"]),
    "social-auth-core/zoom": Token(seconds: 3599, scopes: ["identity"], hasRefreshToken: true),
    "rewritten/apple": Token(
      seconds: 3600, scopes: ["asked"], hasRefreshToken: true, hasIDToken: true),
    "rewritten/discord": Token(
      seconds: 604_800, scopes: ["identify", "email"], hasRefreshToken: true),
    "rewritten/dropbox": Token(
      seconds: 14_400, scopes: ["account_info.read"], hasRefreshToken: true),
    "rewritten/facebook": Token(seconds: 5_183_944, scopes: ["asked"]),
    "rewritten/github-error": nil,
    "rewritten/google": Token(
      seconds: 3599, scopes: ["openid", "https://www.googleapis.com/auth/userinfo.email"],
      hasRefreshToken: true, hasIDToken: true),
    "rewritten/linkedin": Token(
      seconds: 5_183_999, scopes: ["email", "openid", "profile"], hasIDToken: true),
    "rewritten/mastodon": Token(scopes: ["profile"]),
    "rewritten/naver": Token(seconds: 3600, scopes: ["asked"], hasRefreshToken: true),
    "rewritten/sina-weibo": Token(seconds: 1234, scopes: ["asked"]),
    "rewritten/slack": Token(scopes: ["asked"], hasIDToken: true),
    "rewritten/spotify": Token(
      seconds: 3600, scopes: ["user-read-private", "user-read-email"], hasRefreshToken: true),
    "rewritten/twitch": Token(
      seconds: 14_124, scopes: ["channel:moderate", "chat:edit"], hasRefreshToken: true),
    "rewritten/vimeo": Token(scopes: ["private", "public"]),
  ]

  @Test func `Every token answer gives its token, its lifetime and its scopes`() throws {
    let documents = try ProviderDocumentTests.documents("token")
    #expect(Set(documents.keys) == Set(Self.tokens.keys))
    for (name, document) in documents {
      let credential = TokenResponse.credential(
        in: document, scopes: ["asked"], now: 0)
      let token = credential.map {
        Token(
          seconds: $0.expiresAt, scopes: $0.scopes,
          hasRefreshToken: $0.refreshToken != nil, hasIDToken: $0.idToken != nil)
      }
      #expect(token == Self.tokens[name, default: nil], "\(name)")
    }
  }

  /// The person that the built-in descriptor reads: id, name, user name and e-mail address. `nil` for
  /// an answer without the id.
  private static let people: [String: [String?]?] = [
    "django-allauth/bitbucket": [
      "{41c6d04b-dead-cafe-1234-9bffd94346b3}", "pennersr", "pennersr", nil,
    ],
    "django-allauth/discord": ["80351110224678912", "Nelly", "nelly", "nelly@example.com"],
    "django-allauth/discord-former": ["80351110224678912", nil, "Nelly", "nelly@example.com"],
    "django-allauth/dropbox": [
      "dbid:ASDFasd3ASdfasdFAsd1AS2ASDF1aS-DfAs", "All Auth", "allauth@example.com",
      "allauth@example.com",
    ],
    "django-allauth/flickr": ["12345678@N00", nil, "pennersr", nil],
    "django-allauth/microsoft": [
      "16f5a7b6-5a15-4568-aa5a-31bb117e9967", "Anne Weiler", "annew@CIE493742.onmicrosoft.com",
      "annew@CIE493742.onmicrosoft.com",
    ],
    "django-allauth/sina-weibo": ["3195025850", "pennersr", "pennersr", nil],
    "django-allauth/slack": ["U0R7JM", "krane", "krane@slack-corp.com", "krane@slack-corp.com"],
    // Without `account_id`.
    "django-allauth/spotify-former": nil,
    "django-allauth/twitch": ["44322889", "dallas", "dallas", "login@provider.com"],
    "django-allauth/vimeo": ["12345", "AllAuth", nil, nil],
    "social-auth-core/bitbucket": [
      "{397621dc-0f78-329f-8d6d-727396248e3f}", "Foo Bar", "foobar", nil,
    ],
    "social-auth-core/facebook": ["110011001100010", "Foo Bar", nil, nil],
    "social-auth-core/github": ["1", "monalisa foobar", "foobar", "foo@bar.com"],
    "social-auth-core/gitlab": ["123456", "Foo Bar", "foobar", "foobar@example.com"],
    "social-auth-core/google": ["101010101010101010101", "Foo Bar", "foo@bar.com", "foo@bar.com"],
    "social-auth-core/reddit": ["33bma", nil, "foobar", nil],
    "social-auth-core/twitter": ["1234567890123456789", "first last", "twitter_username", nil],
    "rewritten/forgejo": ["17", "Ada", "ada", "ada@example.org"],
    "rewritten/gitea": ["4940", "Gitea User", "giteauser", "giteauser@example.com"],
    "rewritten/linkedin": ["782bbtaQ", "John Doe", "doe@example.com", "doe@example.com"],
    "rewritten/mastodon": ["14715", "infinite love", "trwnh", nil],
    "rewritten/spotify": ["6f0c1d", "Ada", nil, nil],
    // The number above 2^53 is rounded by some readers, and the text is the id.
    "rewritten/twitter-v1": ["2244994945000000001", "Ada Lovelace", "ada", "ada@example.org"],
    "rewritten/tencent-weibo": ["B624064BA065E01CB73F835017FE96FA", "Ada", "ada", nil],
  ]

  @Test func `Every answer about a person is read by the descriptor of its provider`() throws {
    let documents = try ProviderDocumentTests.documents("userinfo")
    #expect(Set(documents.keys) == Set(Self.people.keys))
    for (name, document) in documents {
      let id = String(name.split(separator: "/")[1])
        .replacing("-former", with: "").replacing("-v1", with: "")
      var provider = try ProviderCatalog.builtIn.provider(id)
      if !name.hasSuffix("-v1"),
        let flow = provider.flows.first(where: { $0.tokens?.identity != nil })
      {
        provider = provider.specialized(for: flow)
      }
      let person = provider.identity?.identity(in: document)
      let read = person.map { [$0.id, $0.name, $0.username, $0.email] }
      #expect(read == Self.people[name, default: nil], "\(name)")
    }
  }
}
