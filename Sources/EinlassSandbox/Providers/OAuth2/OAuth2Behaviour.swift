import EinlassJSON

/// A provider's behaviour: the member `behaviour` of its state. The defaults follow the RFCs
/// strictly.
struct OAuth2Behaviour: Sendable {
  let json: JSONValue

  static let shape = StateShape.members([
    ("issuer", .text), ("namesIssuer", .flag), ("consent", .word(["page", "allow", "deny"])),
    ("user", .text), ("pkce", .word(["required", "optional", "unknown", "refused"])),
    ("redirectPorts", .word(["any", "addresses", "localhost", "exact"])),
    ("authentication", .texts),
    ("basic", .word(["encoded", "plain"])), ("tokens", .word(["json", "form", "asked"])),
    ("lifetime", .word(["number", "text", "none", "offline"])),
    ("scope", .word(["text", "list", "none"])),
    ("failures", .word(["status", "200"])),
    ("refresh", .word(["rotating", "reusable", "kept", "never"])), ("offlineScope", .text),
    ("refreshPauseSeconds", .integer), ("deviceScopes", .texts), ("deviceScopeName", .text),
    ("accessSeconds", .integer), ("idTokenSeconds", .integer), ("renewsIDToken", .flag),
    ("codeSeconds", .integer), ("refreshSeconds", .integer),
    ("deviceSeconds", .integer), ("intervalSeconds", .integer), ("tellsCompleteAddress", .flag),
    ("scopes", .texts), ("scopeSeparator", .text), ("signingKey", .text),
    ("tokenMethods", .texts), ("takesQuery", .flag), ("takesJSON", .flag), ("tokenType", .text),
    ("pageParameters", .map(.text)), ("userinfoQuery", .text), ("revokedName", .text),
    ("applicationHeader", .text), ("userinfoScope", .text), ("profileScope", .text),
    ("deviceDenial", .text), ("deviceGrant", .text),
    ("requiresPush", .flag), ("registersByForm", .flag), ("takesAssertions", .flag),
    ("idTokenAudience", .text),
    ("revocation", .word(["proven", "open", "bearer"])), ("grants", .texts),
    ("repository", RepositoryRights.shape),
  ])

  /// An issuer that differs from the provider's address.
  var issuer: String? { json["issuer"]?.string }
  /// Whether authorization responses contain `iss` (RFC 9207).
  var namesIssuer: Bool { json["namesIssuer"]?.bool ?? true }
  /// `page` shows a page; `allow` and `deny` decide without one.
  var consent: String { json["consent"]?.string ?? "page" }
  /// The user at the browser; `nil` for the first user.
  var user: String? { json["user"]?.string }
  /// `unknown` ignores both PKCE parameters, and `refused` refuses a client that sends a verifier.
  var pkce: String { json["pkce"]?.string ?? "required" }
  /// The redirects that may have any port (RFC 8252 section 7.3): `any` of this machine, `addresses`
  /// alone and not the name localhost, `localhost` alone, or none with `exact`.
  var redirectPorts: String { json["redirectPorts"]?.string ?? "any" }
  /// The authentication methods of applications with a secret.
  var authentication: [String] {
    json["authentication"]?.strings ?? ["client_secret_basic", "client_secret_post"]
  }
  /// Whether id and secret are form-encoded in HTTP Basic (RFC 6749 section 2.3.1).
  var decodesBasic: Bool { json["basic"]?.string ?? "encoded" == "encoded" }
  /// Whether token responses are in query form.
  var answersForms: Bool { json["tokens"]?.string == "form" }
  /// Whether token responses are in query form unless the client accepts JSON.
  var answersAsAsked: Bool { json["tokens"]?.string == "asked" }
  /// Returns the type of `expires_in`: `number`, `text` or `none`. With `offline` in the state, only
  /// tokens with the offline scope expire.
  func lifetime(of scopes: [String]) -> String {
    let word = json["lifetime"]?.string ?? "number"
    guard word == "offline" else { return word }
    return offlineScope.map(scopes.contains) == true ? "number" : "none"
  }
  /// The type of the scope in token responses: `text`, `list` or `none`.
  var scope: String { json["scope"]?.string ?? "text" }
  /// Whether errors have status 200.
  var tellsFailuresWith200: Bool { json["failures"]?.string == "200" }
  /// The use of refresh tokens. `rotating`: each refresh issues a new one, and reuse of an old one
  /// revokes its family. `reusable`: the same one is returned. `kept`: it stays valid, and
  /// responses omit it. `never`: there are none.
  var refresh: String { json["refresh"]?.string ?? "rotating" }
  /// The scope required for a refresh token.
  var offlineScope: String? { json["offlineScope"]?.string }
  var accessSeconds: Int64 { json["accessSeconds"]?.int64 ?? 3600 }
  /// The lifetime of id_tokens; by default that of access tokens.
  var idTokenSeconds: Int64 { json["idTokenSeconds"]?.int64 ?? accessSeconds }
  /// Whether a refresh response includes an id_token (OpenID Connect Core 1.0 section 12.2).
  var renewsIDToken: Bool { json["renewsIDToken"]?.bool ?? true }
  var codeSeconds: Int64 { json["codeSeconds"]?.int64 ?? 60 }
  var refreshSeconds: Int64 { json["refreshSeconds"]?.int64 ?? 86_400 * 30 }
  /// The seconds after an access token within which its refresh token is refused; 0 for none.
  var refreshPauseSeconds: Int64 { json["refreshPauseSeconds"]?.int64 ?? 0 }
  /// The scopes that devices may have; `nil` for those of every flow.
  var deviceScopes: [String]? { json["deviceScopes"].map(\.strings) }
  /// The required parameter with a device's scopes, if it is not the optional `scope` of RFC 8628.
  var deviceScopeName: String? { json["deviceScopeName"]?.string }
  var deviceSeconds: Int64 { json["deviceSeconds"]?.int64 ?? 600 }
  /// The polling interval of devices (RFC 8628 section 3.2).
  var intervalSeconds: Int64 { json["intervalSeconds"]?.int64 ?? 5 }
  /// Whether device responses contain `verification_uri_complete`.
  var tellsCompleteAddress: Bool { json["tellsCompleteAddress"]?.bool ?? true }
  /// The supported scopes; `nil` for any.
  var scopes: [String]? { json["scopes"].map(\.strings) }
  /// The scopes of all tokens, for every request; `nil` for the requested ones.
  var grants: [String]? { json["grants"].map(\.strings) }
  var repository: RepositoryRights { RepositoryRights(json: json["repository"]) }
  var scopeSeparator: Character { json["scopeSeparator"]?.string?.first ?? " " }
  /// The id of the signing key; `nil` for the first key.
  var signingKey: String? { json["signingKey"]?.string }
  /// The HTTP methods of the token endpoint.
  var tokenMethods: [String] { json["tokenMethods"]?.strings ?? ["POST"] }
  /// Whether the token endpoint also reads the query.
  var takesQuery: Bool { json["takesQuery"]?.bool ?? false }
  /// Whether the token and revocation endpoints take JSON, and no form.
  var takesJSON: Bool { json["takesJSON"]?.bool ?? false }
  var tokenType: String { json["tokenType"]?.string ?? "Bearer" }
  /// Parameters that authorization requests must have, with these values.
  var pageParameters: [JSONObject.Member] { json["pageParameters"]?.object?.members ?? [] }
  /// A field that the GraphQL query of a userinfo request must have.
  var userinfoQuery: String? { json["userinfoQuery"]?.string }
  /// The parameter with the token to revoke.
  var revokedName: String { json["revokedName"]?.string ?? "token" }

  /// Whether authorization requests must be pushed first (RFC 9126).
  var requiresPush: Bool { json["requiresPush"]?.bool ?? false }
  /// Whether an application registers itself by a form with its scopes, as at Mastodon.
  var registersByForm: Bool { json["registersByForm"]?.bool ?? false }
  /// A further audience of id_tokens.
  var idTokenAudience: String? { json["idTokenAudience"]?.string }
  /// Whether the grants of RFC 7523 and RFC 8693 are supported.
  var takesAssertions: Bool { json["takesAssertions"]?.bool ?? false }
  /// The error code for a polling device after a denial.
  var deviceDenial: String { json["deviceDenial"]?.string ?? "access_denied" }
  /// The grant type of a polling device with its code in `code`; `nil` for the one of RFC 8628.
  var deviceGrant: String? { json["deviceGrant"]?.string }
  /// The authorization of a revocation: `proven` requires client authentication, `open` only the
  /// token in the form, and `bearer` the token as a bearer token.
  var revocation: String { json["revocation"]?.string ?? "proven" }
  /// The header that userinfo requests must have, with the client id of the token.
  var applicationHeader: String? { json["applicationHeader"]?.string }
  /// Returns the scope that a token must have for a userinfo request, or for one of `profile`.
  func scope(forFilling template: String) -> String? {
    json[template == "profile" ? "profileScope" : "userinfoScope"]?.string
  }

  /// Splits a scope parameter.
  func split(_ scope: String) -> [String] {
    scope.split(whereSeparator: { $0 == scopeSeparator || $0 == " " }).map(String.init)
  }

  /// Returns the scopes in the form of a token response.
  func scope(_ scopes: [String]) -> JSONValue? {
    switch scope {
    case "list": JSONValue(scopes)
    case "none": nil
    default: .string(scopes.joined(separator: String(scopeSeparator)))
    }
  }
}
