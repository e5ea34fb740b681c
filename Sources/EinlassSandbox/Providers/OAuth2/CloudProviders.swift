import EinlassJSON

/// Providers of clouds and of tools for work, simulated by their public documentation.
extension OAuth2Provider {
  /// Token requests in JSON. The page wants an audience and its consent screen.
  static let atlassian = OAuth2Provider(
    "atlassian", origins: ["https://auth.atlassian.com", "https://api.atlassian.com"],
    endpoints: ["authorization": "/authorize", "token": "/oauth/token", "userinfo": "/me"],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "authentication": ["client_secret_post"],
      "takesJSON": true, "offlineScope": "offline_access", "userinfoScope": "read:me",
      "refreshSeconds": 7_776_000,
      "pageParameters": ["audience": "api.atlassian.com", "prompt": "consent"],
    ],
    person: [
      "account_type": "atlassian", "account_id": "{id}", "name": "{name}", "email": "{email}",
      "picture": "{avatar}", "nickname": "{username}",
    ])

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

  /// Only public applications. The session of JMAP names the person.
  static let fastmail = OAuth2Provider(
    "fastmail", origins: ["https://api.fastmail.com"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/refresh",
      "revocation": "/oauth/revoke", "userinfo": "/jmap/session",
    ],
    behaviour: [
      "namesIssuer": false, "tokenType": "bearer", "codeSeconds": 600, "revocation": "bearer",
      "userinfoScope": "urn:ietf:params:jmap:core",
      "scopes": JSONValue(
        ["core", "mail", "submission", "vacationresponse"].map { "urn:ietf:params:jmap:\($0)" }
          + ["maskedemail"].map { "https://www.fastmail.com/dev/\($0)" }
          + ["imap", "pop", "smtp", "carddav", "caldav"].map {
            "https://www.fastmail.com/dev/protocol-\($0)"
          }),
    ],
    person: [
      "username": "{email}", "primaryAccounts": ["urn:ietf:params:jmap:core": "{id}"],
      "apiUrl": "https://api.fastmail.com/jmap/api/",
    ],
    applications: ["demo-fastmail": ["name": "Demo", "redirects": webRedirects]])

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

  /// Refresh tokens stay, and a token to check is in the query.
  static let line = OAuth2Provider(
    "line", origins: ["https://access.line.me", "https://api.line.me"],
    endpoints: [
      "authorization": "/oauth2/v2.1/authorize", "token": "/oauth2/v2.1/token",
      "revocation": "/oauth2/v2.1/revoke", "tokenInfo": "/oauth2/v2.1/verify",
      "userinfo": "/v2/profile",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "authentication": ["client_secret_post"],
      "accessSeconds": 2_592_000, "refresh": "reusable", "refreshSeconds": 7_776_000,
      "revokedName": "access_token", "userinfoScope": "profile",
      "scopes": ["profile", "openid", "email"],
    ],
    person: ["userId": "{id}", "displayName": "{name}", "pictureUrl": "{avatar}"],
    more: [
      "tokenInfo": [
        "token": "query",
        "answer": ["scope": "{scope}", "client_id": "{clientId}", "expires_in": "{expiresIn}"],
        "refusal": ["error": "invalid_request", "error_description": "access token expired"],
        "refusalStatus": 400,
      ]
    ])

  /// Only GraphQL names the person. Scopes are separated by commas.
  static let linear = OAuth2Provider(
    "linear", origins: ["https://linear.app", "https://api.linear.app"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/token", "revocation": "/oauth/revoke",
      "userinfo": "/graphql",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "accessSeconds": 86_399, "scopeSeparator": ",",
      "revocation": "bearer", "userinfoQuery": "viewer",
      "scopes": [
        "read", "write", "issues:create", "comments:create", "timeSchedule:write", "admin",
      ],
    ],
    person: [
      "data": [
        "viewer": ["id": "{id}", "name": "{name}", "email": "{email}", "avatarUrl": "{avatar}"]
      ]
    ],
    applications: ["demo-linear": ["name": "Demo", "redirects": webRedirects]])

  /// Requests about tokens in JSON with HTTP Basic. There are no scopes, and tokens do not end. The
  /// answer with the token names the person.
  static let notion = OAuth2Provider(
    "notion", origins: ["https://api.notion.com"],
    endpoints: [
      "authorization": "/v1/oauth/authorize", "token": "/v1/oauth/token",
      "revocation": "/v1/oauth/revoke",
    ],
    behaviour: [
      "pkce": "refused", "namesIssuer": false, "authentication": ["client_secret_basic"],
      "basic": "plain", "takesJSON": true, "tokenType": "bearer", "lifetime": "none",
      "scope": "none", "scopes": [], "pageParameters": ["owner": "user"],
    ],
    tokenMembers: [
      "bot_id": "{id}", "workspace_id": "workspace-of-{id}", "workspace_name": "Work of {username}",
      "owner": [
        "type": "user",
        "user": [
          "object": "user", "id": "user-{id}", "name": "{name}", "avatar_url": "{avatar}",
          "type": "person", "person": ["email": "{email}"],
        ],
      ],
    ])

  /// An external client app without a secret, with PKCE and rotation. Tokens end with a session of
  /// unknown length.
  static let salesforce = OAuth2Provider(
    "salesforce", origins: ["https://login.salesforce.com"],
    endpoints: [
      "authorization": "/services/oauth2/authorize", "token": "/services/oauth2/token",
      "revocation": "/services/oauth2/revoke", "userinfo": "/services/oauth2/userinfo",
      "keys": "/id/keys",
    ],
    behaviour: [
      "namesIssuer": false, "lifetime": "none", "offlineScope": "refresh_token",
      "revocation": "open", "userinfoScope": "openid",
    ],
    tokenMembers: ["instance_url": "https://example.my.salesforce.com"],
    person: [
      "sub": "https://login.salesforce.com/id/00D000000000001/{id}", "user_id": "{id}",
      "organization_id": "00D000000000001", "preferred_username": "{username}", "name": "{name}",
      "email": "{email}", "email_verified": "{emailVerified}", "picture": "{avatar}",
    ],
    applications: ["demo-salesforce": ["name": "Demo", "redirects": webRedirects]], more: rsaKey)

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
