import EinlassJSON

/// The shape and the initial values of Flickr's part of the state.
extension Flickr {
  /// Applications by consumer key, users by NSID, tokens and temporary tokens by their text.
  var shape: StateShape {
    let application = StateShape.members([
      ("secret", .text), ("name", .text), ("system", .flag), ("revoked", .flag),
      ("redirects", .texts),
    ])
    let user = StateShape.members([
      ("username", .text), ("name", .text), ("iconServer", .text),
    ])
    let token = StateShape.members([
      ("secret", .text), ("application", .text), ("user", .text), ("expiresAt", .integer),
      ("revoked", .flag),
    ])
    return .members(
      [
        ("applications", .map(application)), ("users", .map(user)), ("tokens", .map(token)),
        ("nonces", .map(.integer)),
      ] + ThreeLegged.shapes)
  }

  var demoState: JSONValue {
    [
      "applications": ["demo-flickr-key": ["secret": "demo-flickr-secret", "name": "Demo"]],
      "users": [
        "12037949754@N01": ["username": "Bees", "name": "Cal Henderson"],
        "12037949755@N01": ["username": "ada", "name": "Ada Lovelace", "iconServer": "65535"],
      ],
    ]
  }

  func account(user: Record, token: Record, of application: Consumer) -> JSONValue {
    [
      "provider": .string(name), "username": .string(user["username"] ?? user.id),
      "subject": .string(user.id),
      "credential": [
        "type": "oauth1", "key": .string(token.id), "secret": .string(token["secret"] ?? ""),
        "clientId": .string(application.id), "clientSecret": .string(application.secret),
      ],
    ]
  }
}
