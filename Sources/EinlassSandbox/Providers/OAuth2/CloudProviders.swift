import EinlassJSON

/// Providers of clouds and of tools for work, simulated by their public documentation.
extension OAuth2Provider {
  /// Only public applications, which register themselves.
  static let digitalOcean = OAuth2Provider(
    "digitalocean", origins: ["https://cloud.digitalocean.com", "https://api.digitalocean.com"],
    endpoints: [
      "authorization": "/v1/oauth/authorize", "token": "/v1/oauth/token",
      "revocation": "/v1/oauth/revoke", "registration": "/v1/oauth/register",
      "tokenInfo": "/v1/oauth/token/info", "userinfo": "/v2/account",
    ],
    behaviour: ["namesIssuer": false, "accessSeconds": 2_592_000, "revocation": "bearer"],
    tokenMembers: ["info": ["name": "{name}", "email": "{email}", "uuid": "{id}"]],
    person: [
      "account": [
        "uuid": "{id}", "name": "{name}", "email": "{email}", "email_verified": "{emailVerified}",
        "status": "active",
      ]
    ],
    applications: ["demo-digitalocean": ["name": "Demo", "redirects": webRedirects]],
    more: [
      "tokenInfo": [
        "answer": [
          "resource_owner_id": "{#id}", "scopes": "{scopes}", "expires_in_seconds": "{expiresIn}",
          "application": ["uid": "{clientId}"],
        ],
        "refusal": ["id": "Unauthorized", "message": "Unable to authenticate you"],
        "refusalStatus": 401,
      ]
    ])

  /// Refresh tokens have an endpoint of their own, and its responses omit them.
  static let figma = OAuth2Provider(
    "figma", origins: ["https://www.figma.com", "https://api.figma.com"],
    endpoints: [
      "authorization": "/oauth", "token": "/v1/oauth/token", "refresh": "/v1/oauth/refresh",
      "userinfo": "/v1/me",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "authentication": ["client_secret_basic"],
      "basic": "plain", "accessSeconds": 7_776_000, "codeSeconds": 30, "refresh": "kept",
      "tokenType": "bearer", "userinfoScope": "current_user:read",
      "scopes": [
        "current_user:read", "file_comments:read", "file_comments:write", "file_content:read",
        "file_dev_resources:read", "file_dev_resources:write", "file_metadata:read",
        "file_variables:read", "file_variables:write", "file_versions:read", "files:read",
        "library_analytics:read", "library_assets:read", "library_content:read",
        "project_metadata:read", "projects:read", "selections:read",
      ],
    ],
    tokenMembers: ["user_id_string": "{id}"],
    person: ["id": "{id}", "handle": "{name}", "email": "{email}", "img_url": "{avatar}"])

  static let heroku = OAuth2Provider(
    "heroku", origins: ["https://id.heroku.com", "https://api.heroku.com"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/token", "userinfo": "/account",
    ],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "authentication": ["client_secret_post"],
      "accessSeconds": 28_800,
      "scopes": ["global", "identity", "read", "write", "read-protected", "write-protected"],
    ],
    person: ["id": "{id}", "name": "{name}", "email": "{email}", "verified": true])

  static let huggingFace = OAuth2Provider(
    "huggingface", origins: ["https://huggingface.co"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/token", "userinfo": "/oauth/userinfo",
      "device": "/oauth/device", "verification": "/device", "keys": "/oauth/jwks",
      "openIDMetadata": "/.well-known/openid-configuration", "repository": "/ada/hello.git",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "authentication": ["client_secret_basic"],
      "accessSeconds": 28_800, "refreshSeconds": 7_776_000, "tokenType": "bearer",
      "scopes": [
        "openid", "profile", "email", "read-billing", "read-repos", "contribute-repos",
        "write-repos", "manage-repos", "inference-api", "jobs", "webhooks", "write-discussions",
      ],
      "repository": [
        "read": ["read-repos", "write-repos", "manage-repos"],
        "write": ["write-repos", "manage-repos"],
      ],
    ],
    applications: ["demo-huggingface": ["name": "Demo", "redirects": webRedirects]], more: rsaKey)

  /// Devices poll with another grant type. The service that names the person names the application
  /// too, and takes the token in another scheme.
  static let yandex = OAuth2Provider(
    "yandex", origins: ["https://oauth.yandex.com", "https://login.yandex.ru"],
    endpoints: [
      "authorization": "/authorize", "token": "/token", "device": "/device/code",
      "verification": "/device", "tokenInfo": "/info",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "tokenType": "bearer", "deviceGrant": "device_code",
      "tellsCompleteAddress": false,
    ],
    more: [
      "deviceNames": ["verification_uri": "verification_url"],
      "tokenInfo": [
        "token": "oauth",
        "answer": [
          "id": "{id}", "login": "{username}", "client_id": "{clientId}", "real_name": "{name}",
          "default_email": "{email}", "default_avatar_id": "31804/{username}",
        ],
        "refusal": ["error": "unauthorized"], "refusalStatus": 401,
      ],
    ])

  /// The application has its scopes, and requests name none.
  static let zoom = OAuth2Provider(
    "zoom", origins: ["https://zoom.us", "https://api.zoom.us"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/token", "revocation": "/oauth/revoke",
      "userinfo": "/v2/users/me",
    ],
    behaviour: [
      "namesIssuer": false, "authentication": ["client_secret_basic"], "tokenType": "bearer",
      "redirectPorts": "addresses", "accessSeconds": 3600, "refreshSeconds": 7_776_000,
      "grants": ["user:read:user"],
    ],
    person: [
      "id": "{id}", "display_name": "{name}", "email": "{email}", "pic_url": "{avatar}",
    ],
    applications: ["demo-zoom": ["name": "Demo", "redirects": webRedirects]])
}
