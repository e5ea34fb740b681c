import EinlassJSON

/// The shape and the initial values of Twitter's part of the state.
extension Twitter {
  /// Applications by consumer key, users by number, tokens and temporary tokens by their text.
  var shape: StateShape {
    .members(
      [
        (
          "applications",
          .map(
            .members([
              ("secret", .text), ("name", .text), ("system", .flag), ("revoked", .flag),
              ("reverseAuth", .flag), ("email", .flag), ("redirects", .texts),
            ]))
        ),
        (
          "users",
          .map(
            .members([
              ("screenName", .text), ("name", .text), ("email", .text), ("avatar", .text),
              ("suspended", .word(["no", "error", "page"])), ("locked", .flag),
              ("passwordChanged", .flag),
            ]))
        ),
        (
          "tokens",
          .map(
            .members([
              ("secret", .text), ("application", .text), ("user", .text), ("expiresAt", .integer),
              ("revoked", .flag),
            ]))
        ),
        ("nonces", .map(.integer)),
        ("rateLimits", StateShape.rateLimits),
      ] + ThreeLegged.shapes)
  }

  /// Two applications, the system's own application, and users without a flaw and with each kind of
  /// flaw.
  var demoState: JSONValue {
    [
      "applications": [
        "demo-twitter-key": [
          "secret": "demo-twitter-secret", "name": "Demo", "reverseAuth": true, "email": true,
        ],
        "other-twitter-key": [
          "secret": "other-twitter-secret", "name": "Other", "reverseAuth": true, "email": false,
        ],
        "system-twitter-key": [
          "secret": "system-twitter-secret", "name": "System", "system": true,
        ],
      ],
      "users": [
        "1001": user("ada", "Ada Lovelace", ["email": "ada@example.org"]),
        "1002": user("grace", "Grace Hopper"),
        "1003": user("mallory", "Mallory (suspended)", ["suspended": "error"]),
        "1004": user("trudy", "Trudy (suspended, page)", ["suspended": "page"]),
        "1005": user("oscar", "Oscar (locked)", ["locked": true]),
        "1006": user("peggy", "Peggy (password changed)", ["passwordChanged": true]),
      ],
      "tokens": .object(
        JSONObject(
          (1001...1006).map { id in
            (
              "\(id)-system-token",
              [
                "secret": .string("\(id)-system-secret"), "application": "system-twitter-key",
                "user": .string(String(id)),
              ]
            )
          })),
    ]
  }

  private func user(_ screenName: String, _ name: String, _ more: JSONValue = [:]) -> JSONValue {
    let record: JSONValue = [
      "screenName": .string(screenName), "name": .string(name),
      "avatar": .string("https://images.example.org/\(screenName)_normal.png"),
    ]
    return record.merging(more)
  }

  func account(user: Record, token: Record, of application: Consumer) -> JSONValue {
    [
      "provider": .string(name),
      "username": .string(user["screenName"] ?? user.id),
      "displayName": .string(user["name"] ?? user.id),
      "subject": .string(user.id),
      "credential": [
        "type": "oauth1", "key": .string(token.id), "secret": .string(token["secret"] ?? ""),
        "clientId": .string(application.id), "clientSecret": .string(application.secret),
      ],
    ]
  }
}
