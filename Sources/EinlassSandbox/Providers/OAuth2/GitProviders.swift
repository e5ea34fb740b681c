import EinlassJSON

/// Providers with repositories of git, simulated by their public documentation.
extension OAuth2Provider {
  static let bitbucket = OAuth2Provider(
    "bitbucket", origins: ["https://bitbucket.org", "https://api.bitbucket.org"],
    endpoints: [
      "authorization": "/site/oauth2/authorize", "token": "/site/oauth2/access_token",
      "userinfo": "/2.0/user", "emails": "/2.0/user/emails", "repository": "/ada/hello.git",
    ],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "accessSeconds": 7200,
      "authentication": ["client_secret_basic"], "basic": "plain", "refreshSeconds": 7_776_000,
      "tokenType": "bearer", "grants": ["account", "email", "repository:write"],
      "repository": [
        "read": ["repository", "repository:write"], "write": ["repository:write"],
      ],
    ],
    person: [
      "uuid": "{id}", "username": "{username}", "display_name": "{name}",
      "links": ["avatar": ["href": "{avatar}"]],
    ],
    more: [
      "emails": [
        "values": [
          ["email": "old-{email}", "is_primary": false, "is_confirmed": true],
          ["email": "{email}", "is_primary": true, "is_confirmed": true],
        ]
      ]
    ])

  /// A server of one's own. No endpoint names the token's owner.
  static let bitbucketDataCenter = OAuth2Provider(
    "bitbucket-data-center", origins: ["https://bitbucket.example.com"],
    endpoints: [
      "authorization": "/rest/oauth2/latest/authorize", "token": "/rest/oauth2/latest/token",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "authentication": ["client_secret_post"],
      "tokenType": "bearer",
      "scopes": ["PUBLIC_REPOS", "REPO_READ", "REPO_WRITE", "REPO_ADMIN"],
    ])

  /// Each token has all rights of its person.
  static let forgejo = giteaServer("forgejo", at: "https://codeberg.org")
  /// A token has all rights of its person unless it has a scope of the server's own.
  static let gitea = giteaServer(
    "gitea", at: "https://gitea.com", endpoints: ["tokenInfo": "/login/oauth/introspect"],
    repository: [
      "read": ["read:repository", "write:repository"], "write": ["write:repository"],
      "unlimited": ["openid", "profile", "email", "groups"],
    ], applications: ["secret-gitea": secretApplication],
    more: [
      "tokenInfo": [
        "method": "POST", "token": "basic",
        "answer": [
          "active": true, "scope": "{scope}", "username": "{username}", "sub": "{id}",
          "aud": ["{clientId}"],
        ],
        "refusal": ["active": false],
      ]
    ])

  /// A server of Gitea, or of Forgejo, which has the same endpoints.
  private static func giteaServer(
    _ name: String, at origin: String, endpoints: JSONValue = [:], repository: JSONValue = [:],
    applications: JSONValue = [:], more: JSONValue = [:]
  ) -> OAuth2Provider {
    let usual: JSONValue = [
      "authorization": "/login/oauth/authorize", "token": "/login/oauth/access_token",
      "userinfo": "/login/oauth/userinfo", "keys": "/login/oauth/keys",
      "openIDMetadata": "/.well-known/openid-configuration", "repository": "/ada/hello.git",
    ]
    let demo: JSONValue = ["demo-\(name)": ["name": "Demo", "redirects": webRedirects]]
    return OAuth2Provider(
      name, origins: [origin], endpoints: usual.merging(endpoints),
      behaviour: [
        "pkce": "optional", "namesIssuer": false, "basic": "plain", "tokenType": "bearer",
        "repository": repository,
      ], applications: demo.merging(applications), more: rsaKey.merging(more))
  }

  /// Token responses are forms unless the client accepts JSON. Errors have status 200, and scopes
  /// are separated by commas. Only tokens with the scope offline_access expire.
  static let gitHub = OAuth2Provider(
    "github", origins: ["https://github.com", "https://api.github.com"],
    endpoints: [
      "authorization": "/login/oauth/authorize", "token": "/login/oauth/access_token",
      "device": "/login/device/code", "verification": "/login/device", "userinfo": "/user",
      "emails": "/user/emails", "tokenDeletion": "/applications/{clientId}/token",
      "applicationForm": "/settings/applications/new", "tokenForm": "/settings/tokens/new",
      "repository": "/ada/hello.git",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "tokens": "asked", "failures": "200",
      "lifetime": "offline", "offlineScope": "offline_access", "accessSeconds": 28_800,
      "refreshSeconds": 15_897_600, "scopeSeparator": ",", "tokenType": "bearer",
      "authentication": ["client_secret_post", "client_secret_basic", "none"],
      "tellsCompleteAddress": false, "redirectPorts": "addresses",
      // A repository that a token may not see does not exist for it.
      "repository": [
        "read": ["repo"], "write": ["repo"], "workflows": ["workflow"], "hides": true,
      ],
    ],
    person: [
      "id": "{#id}", "login": "{username}", "name": "{name}", "email": .null,
      "avatar_url": "{avatar}",
    ],
    more: [
      "emails": [
        ["email": "old-{email}", "primary": false, "verified": true, "visibility": .null],
        ["email": "{email}", "primary": true, "verified": true, "visibility": "private"],
      ],
      "tokenInfo": [
        "method": "POST", "token": "application",
        "answer": [
          "id": 1, "scopes": "{scopes}", "app": ["client_id": "{clientId}", "name": "Demo"],
          "expires_at": "{expires}", "user": ["login": "{username}", "id": "{#id}"],
        ],
        "refusal": ["message": "Not Found", "status": "404"], "refusalStatus": 404,
      ],
    ])

  static let gitLab = OAuth2Provider(
    "gitlab", origins: ["https://gitlab.com"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/token", "revocation": "/oauth/revoke",
      "introspection": "/oauth/introspect", "tokenInfo": "/oauth/token/info",
      "userinfo": "/api/v4/user",
      "device": "/oauth/authorize_device", "verification": "/oauth/device",
      "keys": "/oauth/discovery/keys", "openIDMetadata": "/.well-known/openid-configuration",
      "repository": "/ada/hello.git",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "accessSeconds": 7200,
      "redirectPorts": "addresses",
      "scopes": [
        "api", "read_api", "read_user", "read_repository", "write_repository", "openid", "profile",
        "email",
      ],
      "repository": [
        "read": ["read_repository", "write_repository", "api"],
        "write": ["write_repository", "api"],
      ],
    ],
    person: [
      "id": "{#id}", "username": "{username}", "name": "{name}", "email": "{email}",
      "avatar_url": "{avatar}",
    ],
    more: rsaKey.merging([
      "tokenInfo": [
        "answer": [
          "resource_owner_id": "{#id}", "scope": "{scopes}", "expires_in": "{expiresIn}",
          "application": ["uid": "{clientId}"],
        ]
      ]
    ]))
}
