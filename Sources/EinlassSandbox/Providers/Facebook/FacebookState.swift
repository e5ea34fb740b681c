import EinlassJSON

/// The shape and the initial values of Facebook's part of the state.
extension Facebook {
  /// Applications and users by number, tokens by their text. `removed` of a user maps the id of an
  /// application that the user has removed to `true`; a new authorization deletes it. `expiresAt` 0
  /// or missing means never.
  var shape: StateShape {
    .members([
      (
        "applications",
        .map(
          .members([
            ("secret", .text), ("name", .text), ("system", .flag), ("revoked", .flag),
            ("requiresProof", .flag), ("clientToken", .text), ("redirects", .texts),
          ]))
      ),
      (
        "users",
        .map(
          .members([
            ("name", .text), ("email", .text), ("phone", .text), ("checkpointed", .flag),
            ("unconfirmed", .flag), ("passwordChanged", .flag), ("removed", .map(.flag)),
          ]))
      ),
      (
        "tokens",
        .map(
          .members([
            ("application", .text), ("user", .text), ("issuedAt", .integer),
            ("expiresAt", .integer), ("revoked", .flag), ("scopes", .texts), ("audience", .text),
          ]))
      ),
      (
        "codes",
        .map(
          .members([
            ("application", .text), ("user", .text), ("redirect", .text), ("scopes", .texts),
            ("expiresAt", .integer), ("used", .flag),
          ]))
      ),
      (
        "devices",
        .map(
          .members([
            ("application", .text), ("user", .text), ("userCode", .text), ("scopes", .texts),
            ("decision", .word(["pending", "allowed", "denied"])), ("expiresAt", .integer),
            ("askedAt", .integer), ("used", .flag),
          ]))
      ),
      ("consent", .word(["page", "allow", "deny"])),
      ("rateLimits", StateShape.rateLimits),
    ])
  }

  /// Two applications, the system's own application, and one user.
  var demoState: JSONValue {
    [
      "applications": [
        "1234567890": [
          "secret": "0123456789abcdef0123456789abcdef", "name": "Demo",
          // In a real registration, einlass holds either this or the secret. Here one value serves
          // every flow.
          "clientToken": "0123456789abcdef0123456789abcdef",
          "redirects": OAuth2Provider.webRedirects,
        ],
        "2345678901": [
          "secret": "123456789abcdef0123456789abcdef0", "name": "Other", "requiresProof": true,
        ],
        "1000000001": [
          "secret": "f0123456789abcdef0123456789abcde", "name": "System", "system": true,
        ],
      ],
      "users": ["2001": ["name": "Ada Lovelace", "email": "ada@example.org"]],
      "tokens": [
        "2001-system-token": [
          "application": "1000000001", "user": "2001", "scopes": ["email", "public_profile"],
        ]
      ],
    ]
  }

  func account(user: Record, token: Record, of application: Consumer) -> JSONValue {
    [
      "provider": .string(name),
      "username": .string(user["email"] ?? user["phone"] ?? user.id),
      "displayName": .string(user["name"] ?? user.id),
      "subject": .string(user.id),
      "credential": .object(
        JSONObject(present: [
          "type": "oauth2", "token": .string(token.id), "scopes": token.value["scopes"],
          "expiresAt": token.value["expiresAt"]?.int64.flatMap { $0 == 0 ? nil : JSONValue($0) },
          "clientId": .string(application.id),
        ])),
    ]
  }
}
