import EinlassJSON

/// Providers of the web, simulated by their public documentation.
extension OAuth2Provider {
  static let web = [
    apple, atlassian, bitbucket, bitbucketDataCenter, digitalOcean, discord, dropbox, fastmail,
    figma, forgejo, gitea, gitHub, gitLab, google, heroku, huggingFace, line, linear, linkedIn,
    mastodon, microsoft, notion, reddit, salesforce, slack, spotify, strava, twitch, x, yandex,
    zoom,
  ]

  /// No userinfo endpoint: the id_token has the profile. Loopback redirects cannot be registered.
  private static let apple = OAuth2Provider(
    "apple", origins: ["https://appleid.apple.com"],
    endpoints: [
      "authorization": "/auth/authorize", "token": "/auth/token", "keys": "/auth/keys",
      "revocation": "/auth/revoke", "openIDMetadata": "/.well-known/openid-configuration",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "authentication": ["client_secret_post"],
      "refresh": "kept", "refreshPauseSeconds": 86_400, "scopes": ["openid", "email", "name"],
    ],
    applications: [
      "demo-apple": [
        "secret": "demo-secret", "name": "Demo", "redirects": ["https://example.org/callback"],
      ]
    ], more: rsaKey)

  private static let discord = OAuth2Provider(
    "discord", origins: ["https://discord.com"],
    endpoints: [
      "authorization": "/oauth2/authorize", "token": "/api/oauth2/token",
      "revocation": "/api/oauth2/token/revoke", "userinfo": "/api/users/@me",
      "tokenInfo": "/api/oauth2/@me",
    ],
    behaviour: ["pkce": "optional", "namesIssuer": false, "accessSeconds": 604_800],
    person: [
      "id": "{id}", "username": "{username}", "global_name": "{name}", "email": "{email}",
      "avatar": "hash-of-{username}",
      "verified": "{emailVerified}",
    ],
    more: [
      "tokenInfo": [
        "answer": [
          "application": ["id": "{clientId}", "name": "Demo"], "scopes": "{scopes}",
          "expires": "{expires}", "user": ["id": "{id}", "username": "{username}"],
        ],
        "refusal": ["message": "401: Unauthorized", "code": 0], "refusalStatus": 401,
      ]
    ])

  private static let dropbox = OAuth2Provider(
    "dropbox", origins: ["https://www.dropbox.com", "https://api.dropboxapi.com"],
    endpoints: [
      "authorization": "/oauth2/authorize", "token": "/oauth2/token",
      "userinfo": "/2/users/get_current_account", "revocation": "/2/auth/token/revoke",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "accessSeconds": 14_400, "refresh": "kept",
      "tokenType": "bearer", "revocation": "bearer",
    ],
    tokenMembers: ["account_id": "dbid:{id}", "uid": "{id}"],
    person: [
      "account_id": "dbid:{id}", "name": ["display_name": "{name}"], "email": "{email}",
      "email_verified": "{emailVerified}", "profile_photo_url": "{avatar}",
    ])

  /// Refresh responses omit the refresh token.
  private static let google = OAuth2Provider(
    "google",
    origins: [
      "https://accounts.google.com", "https://oauth2.googleapis.com", "https://www.googleapis.com",
      "https://openidconnect.googleapis.com",
    ],
    endpoints: [
      "authorization": "/o/oauth2/v2/auth", "token": "/token", "revocation": "/revoke",
      "userinfo": "/v1/userinfo", "keys": "/oauth2/v3/certs", "device": "/device/code",
      "verification": "/device", "openIDMetadata": "/.well-known/openid-configuration",
      "tokenInfo": "/tokeninfo",
    ],
    behaviour: [
      "pkce": "optional", "accessSeconds": 3599, "refresh": "kept", "revocation": "open",
      "redirectPorts": "addresses", "authentication": ["client_secret_post"],
      "deviceScopes": [
        "openid", "email", "profile", "https://www.googleapis.com/auth/drive.appdata",
        "https://www.googleapis.com/auth/drive.file", "https://www.googleapis.com/auth/youtube",
        "https://www.googleapis.com/auth/youtube.readonly",
      ],
    ],
    more: rsaKey.merging([
      "tokenInfo": [
        "method": "POST",
        "answer": [
          "azp": "{clientId}", "aud": "{clientId}", "sub": "{id}", "scope": "{scope}",
          "expires_in": "{expiresInText}", "email": "{email}",
        ],
        "refusal": ["error": "invalid_token", "error_description": "Invalid Value"],
        "refusalStatus": 400,
      ]
    ]))

  private static let linkedIn = OAuth2Provider(
    "linkedin", origins: ["https://www.linkedin.com", "https://api.linkedin.com"],
    endpoints: [
      "authorization": "/oauth/v2/authorization", "token": "/oauth/v2/accessToken",
      "userinfo": "/v2/userinfo", "keys": "/oauth/openid/jwks",
      "tokenInfo": "/oauth/v2/introspectToken",
    ],
    behaviour: [
      "pkce": "refused", "namesIssuer": false, "authentication": ["client_secret_post"],
      "accessSeconds": 5_184_000, "refresh": "never", "scopeSeparator": ",",
      "scopes": ["openid", "profile", "email", "w_member_social"],
    ],
    more: rsaKey.merging([
      "tokenInfo": [
        "method": "POST", "token": "post",
        "answer": [
          "active": true, "client_id": "{clientId}", "status": "active", "scope": "{scope}",
          "expires_at": "{expiresAt}", "auth_type": "3L",
        ],
        "refusal": ["active": false],
      ]
    ]))

  private static let mastodonScopes =
    ["profile", "read", "write", "push", "follow"]
    + [
      "accounts", "blocks", "bookmarks", "favourites", "filters", "follows", "lists", "mutes",
      "notifications", "search", "statuses",
    ].map { "read:\($0)" }
    + [
      "accounts", "blocks", "bookmarks", "conversations", "favourites", "filters", "follows",
      "lists",
      "media", "mutes", "notifications", "reports", "statuses",
    ].map { "write:\($0)" }

  private static let mastodon = OAuth2Provider(
    "mastodon", origins: ["https://mastodon.social"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/token", "revocation": "/oauth/revoke",
      "userinfo": "/api/v1/accounts/verify_credentials", "registration": "/api/v1/apps",
      "oauthMetadata": "/.well-known/oauth-authorization-server",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "lifetime": "none", "refresh": "never",
      "redirectPorts": "addresses", "registersByForm": true,
      "scopes": JSONValue(mastodonScopes),
    ],
    person: [
      "id": "{id}", "username": "{username}", "acct": "{username}", "display_name": "{name}",
      "avatar": "{avatar}",
    ])

  /// A token with scopes of Outlook is none for Graph, which names the person. Azure DevOps names the
  /// person for its own tokens.
  private static let microsoft = OAuth2Provider(
    "microsoft",
    origins: [
      "https://login.microsoftonline.com", "https://graph.microsoft.com",
      "https://app.vssps.visualstudio.com",
    ],
    endpoints: [
      "authorization": "/common/oauth2/v2.0/authorize", "token": "/common/oauth2/v2.0/token",
      "device": "/common/oauth2/v2.0/devicecode", "verification": "/devicelogin",
      "userinfo": "/v1.0/me", "profile": "/_apis/profile/profiles/me",
      "keys": "/common/discovery/v2.0/keys",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "offlineScope": "offline_access",
      "accessSeconds": 4299, "tellsCompleteAddress": false, "redirectPorts": "localhost",
      "deviceDenial": "authorization_declined", "userinfoScope": "User.Read",
      "profileScope": "499b84ac-1321-427f-aa17-267ca6975798/vso.profile",
    ],
    person: [
      "id": "{id}", "displayName": "{name}", "userPrincipalName": "{email}", "mail": "{email}",
    ],
    applications: ["demo-microsoft": ["name": "Demo", "redirects": webRedirects]],
    more: rsaKey.merging([
      "profile": ["id": "{id}", "displayName": "{name}", "emailAddress": "{email}"]
    ]))

  private static let reddit = OAuth2Provider(
    "reddit", origins: ["https://www.reddit.com", "https://oauth.reddit.com"],
    endpoints: [
      "authorization": "/api/v1/authorize", "token": "/api/v1/access_token",
      "revocation": "/api/v1/revoke_token", "userinfo": "/api/v1/me",
    ],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "accessSeconds": 86_400, "refresh": "kept",
      "authentication": ["client_secret_basic"], "basic": "plain", "tokenType": "bearer",
    ],
    person: ["id": "{id}", "name": "{username}", "icon_img": "{avatar}"],
    // An installed application has an empty secret and sends it by HTTP Basic.
    applications: [
      "demo-reddit": [
        "name": "Demo", "redirects": webRedirects, "authentication": "client_secret_basic",
      ]
    ])

  /// Every token response and error has the member `ok`. Errors have status 200.
  private static let slack = OAuth2Provider(
    "slack", origins: ["https://slack.com"],
    endpoints: [
      "authorization": "/openid/connect/authorize", "token": "/api/openid.connect.token",
      "userinfo": "/api/openid.connect.userInfo", "keys": "/openid/connect/keys",
      "revocation": "/api/auth.revoke",
      "openIDMetadata": "/.well-known/openid-configuration",
    ],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "failures": "200", "lifetime": "none",
      "refresh": "never", "revocation": "bearer",
    ],
    tokenMembers: ["ok": true], errorMembers: ["ok": false], more: rsaKey)

  private static let spotify = OAuth2Provider(
    "spotify", origins: ["https://accounts.spotify.com", "https://api.spotify.com"],
    endpoints: ["authorization": "/authorize", "token": "/api/token", "userinfo": "/v1/me"],
    behaviour: [
      "pkce": "optional", "namesIssuer": false, "refresh": "kept", "refreshSeconds": 15_552_000,
      "redirectPorts": "addresses",
    ],
    person: [
      "account_id": "{id}", "id": "{username}", "display_name": "{name}", "email": "{email}",
      "images": [["url": "{avatar}", "width": 300]],
    ])

  /// Scopes are separated by commas, and token responses name none.
  private static let strava = OAuth2Provider(
    "strava", origins: ["https://www.strava.com"],
    endpoints: [
      "authorization": "/oauth/authorize", "token": "/oauth/token",
      "revocation": "/oauth/deauthorize", "userinfo": "/api/v3/athlete",
    ],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "authentication": ["client_secret_post"],
      "accessSeconds": 21_600, "scope": "none", "scopeSeparator": ",", "revocation": "open",
      "scopes": [
        "read", "read_all", "profile:read_all", "profile:write", "activity:read",
        "activity:read_all", "activity:write",
      ],
    ],
    tokenMembers: ["athlete": ["id": "{#id}"]],
    person: [
      "id": "{#id}", "username": "{username}", "firstname": "{name}", "profile": "{avatar}",
    ])

  /// Token responses have scopes as a list. Userinfo requests need the client id in a header.
  private static let twitch = OAuth2Provider(
    "twitch", origins: ["https://id.twitch.tv", "https://api.twitch.tv"],
    endpoints: [
      "authorization": "/oauth2/authorize", "token": "/oauth2/token",
      "revocation": "/oauth2/revoke", "userinfo": "/helix/users", "keys": "/oauth2/keys",
      "device": "/oauth2/device", "verification": "/activate", "tokenInfo": "/oauth2/validate",
    ],
    behaviour: [
      "pkce": "unknown", "namesIssuer": false, "authentication": ["client_secret_post"],
      "scope": "list", "accessSeconds": 14_124, "refresh": "reusable", "tokenType": "bearer",
      "applicationHeader": "Client-Id", "revocation": "open", "deviceScopeName": "scopes",
    ],
    person: [
      "data": [
        [
          "id": "{id}", "login": "{username}", "display_name": "{name}", "email": "{email}",
          "profile_image_url": "{avatar}",
        ]
      ]
    ],
    more: rsaKey.merging([
      "tokenInfo": [
        "token": "oauth",
        "answer": [
          "client_id": "{clientId}", "login": "{username}", "scopes": "{scopes}",
          "user_id": "{id}", "expires_in": "{expiresIn}",
        ],
        "refusal": ["status": 401, "message": "invalid access token"], "refusalStatus": 401,
      ]
    ]))

  private static let x = OAuth2Provider(
    "x", origins: ["https://x.com", "https://api.x.com"],
    endpoints: [
      "authorization": "/i/oauth2/authorize", "token": "/2/oauth2/token",
      "revocation": "/2/oauth2/revoke", "userinfo": "/2/users/me",
    ],
    behaviour: [
      "namesIssuer": false, "accessSeconds": 7200, "offlineScope": "offline.access",
      "tokenType": "bearer",
    ],
    person: [
      "data": [
        "id": "{id}", "name": "{name}", "username": "{username}", "profile_image_url": "{avatar}",
        "confirmed_email": "{email}",
      ]
    ])

  static let rsaKey: JSONValue = ["keys": ["rsa-1": ["algorithm": "RS256"]]]
}
