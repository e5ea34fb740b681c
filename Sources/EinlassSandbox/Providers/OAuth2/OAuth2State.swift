import EinlassJSON

/// The state of an OAuth 2.0 provider.
extension OAuth2Provider {
  /// Applications are keyed by client id, users by subject, and codes and tokens by their text.
  ///
  /// - `tokenMembers` are added to token responses, `errorMembers` to errors.
  /// - `errorCodes` adds a number to an error.
  /// - `errorNames` and `deviceNames` rename the members of errors and device responses.
  /// - `person` is the userinfo response, `emails` the response of the endpoint for email
  ///   addresses, `profile` that of a second service for tokens of its own. In them, `{id}` or another member name in braces is replaced by the user's value,
  ///   and `{#id}` by the id as a number.
  ///
  /// - `tokenInfo` is the endpoint that answers about a token. `token` says where the token and the
  ///   application's proof are: `bearer` and `oauth` in the header of that scheme, without a proof;
  ///   `open` in the form and `query` in the query, without one; `post` in the form with id and
  ///   secret; `basic` in the form with HTTP Basic; `application` in JSON with HTTP Basic, for the application of the path and
  ///   its own tokens alone. `answer` is filled as `person`, and has the token's `{clientId}`,
  ///   `{scopes}`, `{scope}`, `{expiresIn}`, `{expiresInText}`, `{expiresAt}` and `{expires}`.
  ///   `refusal` with `refusalStatus` answers about another token.
  /// - An application with `device` false gets no device codes.
  /// - `trusted` has the issuers whose assertions the provider accepts, by the sandbox's name of the
  ///   provider that signs them. It makes assertions for them too. `assertions` has the ids of the
  ///   used ones. An application's `clientThere` is its client id in assertions for other servers.
  ///
  /// A key without `key` is generated when it is needed.
  var shape: StateShape {
    .members([
      (
        "endpoints",
        .members(Endpoint.allCases.map { ($0.rawValue, StateShape.text) })
      ),
      ("behaviour", OAuth2Behaviour.shape),
      ("tokenMembers", .map(.anything)),
      ("errorMembers", .map(.anything)), ("errorCodes", .map(.integer)),
      ("errorNames", .map(.text)), ("deviceNames", .map(.text)),
      ("person", .map(.anything)), ("emails", .anything), ("profile", .map(.anything)),
      (
        "tokenInfo",
        .members([
          ("method", .text),
          ("token", .word(["bearer", "oauth", "open", "post", "basic", "application", "query"])),
          ("answer", .map(.anything)), ("refusal", .map(.anything)), ("refusalStatus", .integer),
        ])
      ),
      (
        "applications",
        .map(
          .members([
            ("secret", .text), ("name", .text), ("system", .flag), ("revoked", .flag),
            ("redirects", .texts), ("authentication", .text), ("clientThere", .text),
            ("device", .flag),
          ]))
      ),
      ("users", .map(.map(.anything))),
      ("trusted", .map(.text)), ("assertions", .map(.integer)),
      (
        "keys",
        .map(
          .members([
            ("algorithm", .word(SigningKey.Algorithm.allCases.map(\.rawValue))), ("key", .text),
          ]))
      ),
      (
        "codes",
        .map(
          .members([
            ("application", .text), ("user", .text), ("redirect", .text), ("challenge", .text),
            ("nonce", .text), ("scopes", .texts), ("resource", .text), ("expiresAt", .integer),
            ("family", .text),
          ]))
      ),
      (
        "pushed",
        .map(
          .members([
            ("application", .text), ("parameters", .map(.text)), ("expiresAt", .integer),
          ]))
      ),
      (
        "families",
        .map(
          .members([
            ("application", .text), ("user", .text), ("scopes", .texts), ("resource", .text),
            ("revoked", .flag), ("renewableAt", .integer),
          ]))
      ),
      (
        "tokens",
        .map(
          .members([
            ("application", .text), ("user", .text), ("family", .text), ("scopes", .texts),
            ("issuedAt", .integer), ("expiresAt", .integer), ("revoked", .flag),
          ]))
      ),
      (
        "refreshTokens",
        .map(
          .members([
            ("family", .text), ("expiresAt", .integer), ("used", .flag), ("revoked", .flag),
          ]))
      ),
      (
        "devices",
        .map(
          .members([
            ("userCode", .text), ("application", .text), ("scopes", .texts), ("user", .text),
            ("decision", .word(["pending", "allowed", "denied"])), ("expiresAt", .integer),
            ("intervalSeconds", .integer), ("askedAt", .integer), ("used", .flag),
          ]))
      ),
      ("rateLimits", StateShape.rateLimits),
    ])
  }

  /// Fills a template with a user's values. Omits a member that is a placeholder without a value.
  static func fill(_ template: JSONValue, with user: Record) -> JSONValue? {
    switch template {
    case .string("{id}"): return .string(user.id)
    case .string("{#id}"): return Int64(user.id).map { JSONValue($0) } ?? .string(user.id)
    case .string(let text) where text.hasPrefix("{") && text.hasSuffix("}"):
      return user.value[String(text.dropFirst().dropLast())]
    case .string(let text):
      var filled = text.replacing("{id}", with: user.id)
      for member in user.value.object?.members ?? [] {
        if let value = member.value.string {
          filled = filled.replacing("{\(member.name)}", with: value)
        }
      }
      return .string(filled)
    case .array(let elements): return .array(elements.compactMap { fill($0, with: user) })
    case .object(let object):
      return .object(
        JSONObject(
          object.members.compactMap { member in
            fill(member.value, with: user).map { (member.name, $0) }
          }))
    default: return template
    }
  }

  func user(_ id: String, in world: World) -> Record? {
    world.state[at: name, "users", id].map { Record(id: id, value: $0) }
  }

  /// Returns the user at the browser: the hinted one, the one named in the state, or the first.
  func person(hint: String?, in world: World) -> Record? {
    let users = (world.state[at: name, "users"]?.object?.members ?? [])
      .map { Record(id: $0.name, value: $0.value) }
    let wanted = [hint, behaviour(in: world).user].compactMap { $0 }
    for name in wanted {
      let found = users.first { user in
        [user.id, user["username"], user["email"]].contains {
          $0.map { sameBytes($0, name) } ?? false
        }
      }
      if let found { return found }
    }
    return users.first
  }
}
