import EinlassJSON

/// The OAuth 2.0 providers: their paths and peculiarities.
extension OAuth2Provider {
  /// In the order of the announcement.
  static let all = [openID, sequencing, vimeo, sinaWeibo, tencentWeibo] + web

  /// A strict provider with all features: discovery, keys, devices and registration. It imitates no
  /// real one.
  static let openID = OAuth2Provider(
    "openid",
    endpoints: [
      "authorization": "/authorize", "token": "/token", "device": "/device_authorization",
      "verification": "/device", "revocation": "/revoke", "introspection": "/introspect",
      "userinfo": "/userinfo", "registration": "/register", "keys": "/keys", "pushed": "/par",
      "openIDMetadata": "/.well-known/openid-configuration",
      "oauthMetadata": "/.well-known/oauth-authorization-server",
    ],
    behaviour: [
      "scopes": ["openid", "profile", "email", "offline_access", "photos"],
      "takesAssertions": true,
    ],
    applications: [
      "demo-openid": ["name": "Demo", "redirects": redirects],
      "secret-openid": [
        "secret": "s3cret: with/odd+chars", "name": "Demo with a secret", "redirects": redirects,
      ],
    ],
    more: ["keys": ["rsa-1": ["algorithm": "RS256"], "ec-1": ["algorithm": "ES256"]]])

  /// HTTP Basic authentication, a lifetime as a string, and refresh responses without a refresh
  /// token.
  static let sequencing = OAuth2Provider(
    "sequencing", origins: ["https://sequencing.com", "https://api.sequencing.com"],
    endpoints: ["authorization": "/oauth2/authorize", "token": "/oauth2/token"],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "authentication": ["client_secret_basic"],
      "basic": "plain", "lifetime": "text", "refresh": "kept", "tokenType": "bearer",
      "scopes": ["demo", "external"],
    ])

  /// Tokens without expiry, with the user in the token response.
  static let vimeo = OAuth2Provider(
    "vimeo", origins: ["https://api.vimeo.com"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/access_token", "userinfo": "/me",
      "device": "/oauth/device", "deviceToken": "/oauth/device/authorize", "verification": "/code",
      "revocation": "/tokens",
    ],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "authentication": ["client_secret_basic"],
      "basic": "plain", "lifetime": "none", "refresh": "never", "tokenType": "bearer",
      "revocation": "bearer",
    ],
    tokenMembers: ["user": vimeoUser], person: vimeoUser,
    more: [
      "deviceNames": [
        "verification_uri": "activate_link", "verification_uri_complete": "authorize_link",
      ]
    ])

  /// No PKCE, secrets in the form or query, and the user's id in the token response.
  static let sinaWeibo = OAuth2Provider(
    "sina-weibo", origins: ["https://api.weibo.com"],
    endpoints: [
      "authorization": "/oauth2/authorize", "token": "/oauth2/access_token",
      "userinfo": "/2/users/show.json", "revocation": "/oauth2/revokeoauth2",
      "tokenInfo": "/oauth2/get_token_info",
    ],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "authentication": ["client_secret_post"],
      "refresh": "never", "scope": "none", "scopeSeparator": ",", "takesQuery": true,
      "revocation": "open",
    ],
    tokenMembers: ["remind_in": "3600", "uid": "{id}"],
    errorCodes: [
      "invalid_request": 21323, "invalid_client": 21324, "invalid_grant": 21325,
      "unauthorized_client": 21326, "unsupported_grant_type": 21328, "access_denied": 21330,
      "temporarily_unavailable": 21331, "invalid_token": 21332,
    ],
    person: [
      "id": "{#id}", "idstr": "{id}", "screen_name": "{username}", "name": "{name}",
      "profile_image_url": "{avatar}", "avatar_large": "{avatar}", "avatar_hd": "{avatar}",
    ],
    more: [
      "tokenInfo": [
        "method": "POST", "token": "open",
        "answer": [
          "uid": "{#id}", "appkey": "{clientId}", "scope": "{scope}", "expire_in": "{expiresIn}",
        ],
      ]
    ])

  /// Token responses in query form.
  static let tencentWeibo = OAuth2Provider(
    "tencent-weibo", origins: ["https://open.t.qq.com"],
    endpoints: [
      "authorization": "/cgi-bin/oauth2/authorize", "token": "/cgi-bin/oauth2/access_token",
      "userinfo": "/api/user/info",
    ],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "authentication": ["client_secret_post"],
      "tokens": "form", "tokenMethods": ["POST", "GET"], "takesQuery": true, "scope": "none",
      "failures": "200",
    ],
    tokenMembers: ["openid": "{id}", "name": "{username}", "nick": "{name}"],
    errorNames: ["error": "errorCode", "error_description": "errorMsg"],
    person: [
      "ret": 0, "errcode": 0, "msg": "ok", "seqid": 1,
      "data": [
        "name": "{username}", "nick": "{name}", "head": "{avatar}", "openid": "{id}",
        "email": "{email}",
      ],
    ])

  static let redirects: JSONValue = [
    "http://127.0.0.1/callback", "http://[::1]/callback", "einlass:/callback",
  ]

  /// The redirects of applications at the providers of the web, with a form for each provider.
  static let webRedirects: JSONValue = [
    "http://127.0.0.1/callback", "http://127.0.0.1/", "http://[::1]/callback",
    "http://localhost/callback", "einlass:/callback", "https://example.org/callback",
    "https://api.weibo.com/oauth2/default.html",
    "https://www.facebook.com/connect/login_success.html",
  ]

  static let secretApplication: JSONValue = [
    "secret": "demo-secret", "name": "Demo", "redirects": webRedirects,
  ]

  private static let vimeoUser: JSONValue = [
    "uri": "/users/{id}", "name": "{name}", "link": "https://vimeo.com/{username}",
    "pictures": [
      "sizes": [
        ["width": 30, "link": "{avatar}?s=30"], ["width": 72, "link": "{avatar}?s=72"],
        ["width": 75, "link": "{avatar}?s=75"], ["width": 100, "link": "{avatar}"],
      ]
    ], "email": "{email}",
  ]

  init(
    _ name: String, origins: [String] = [], endpoints: JSONValue, behaviour: JSONValue,
    tokenMembers: JSONValue? = nil, errorMembers: JSONValue? = nil, errorCodes: JSONValue? = nil,
    errorNames: JSONValue? = nil, person: JSONValue? = nil,
    applications: JSONValue? = nil, more: JSONValue = [:]
  ) {
    let state = JSONObject(present: [
      "endpoints": endpoints, "behaviour": behaviour, "tokenMembers": tokenMembers,
      "errorMembers": errorMembers, "errorCodes": errorCodes, "errorNames": errorNames,
      "person": person,
      "applications": applications ?? ["demo-\(name)": Self.secretApplication],
      "users": [
        "3001": Self.user("ada", "Ada Lovelace", "ada@example.org"),
        "3002": Self.user("grace", "Grace Hopper", "grace@example.org"),
        "3003": Self.user("alan", "Alan Turing", "alan@example.org", isVerified: false),
        "3004": Self.user("emmy", "Emmy Noether", "emmy@example.org", isVerified: false),
      ],
    ])
    self.init(
      name: name, origins: origins, demoState: JSONValue.object(state).merging(more))
  }

  /// - Parameter isVerified: Whether the provider has verified the address.
  private static func user(
    _ username: String, _ name: String, _ email: String, isVerified: Bool = true
  ) -> JSONValue {
    [
      "username": .string(username), "name": .string(name), "email": .string(email),
      "emailVerified": .bool(isVerified),
      "avatar": .string("https://images.example.org/\(username).png"),
    ]
  }
}
