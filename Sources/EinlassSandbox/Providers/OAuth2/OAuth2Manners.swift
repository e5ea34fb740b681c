import EinlassJSON

/// How a provider behaves: the member `manners` of its state. What is missing is as the RFCs have it, strictly.
struct OAuth2Manners: Sendable {
  let json: JSONValue

  /// What may stand there.
  static let shape = StateShape.members([
    ("issuer", .text), ("namesIssuer", .flag), ("consent", .word(["page", "allow", "deny"])),
    ("user", .text), ("pkce", .word(["required", "optional", "unknown"])),
    ("redirectPorts", .word(["any", "exact"])), ("authentication", .texts),
    ("basic", .word(["encoded", "plain"])), ("tokens", .word(["json", "form", "asked"])),
    ("lifetime", .word(["number", "text", "none"])), ("scope", .word(["text", "list", "none"])),
    ("failures", .word(["status", "200"])),
    ("refresh", .word(["rotating", "reusable", "kept", "never"])), ("offlineScope", .text),
    ("accessSeconds", .integer), ("idTokenSeconds", .integer), ("renewsIDToken", .flag),
    ("codeSeconds", .integer), ("refreshSeconds", .integer),
    ("deviceSeconds", .integer), ("intervalSeconds", .integer), ("tellsCompleteAddress", .flag),
    ("scopes", .texts), ("scopeSeparator", .text), ("signingKey", .text),
    ("tokenMethods", .texts), ("takesQuery", .flag), ("tokenType", .text),
    ("applicationHeader", .text), ("deviceDenial", .text), ("requiresPush", .flag),
    ("revocation", .word(["proven", "open", "bearer"])),
  ])

  /// Another issuer than the provider's own address.
  var issuer: String? { json["issuer"]?.string }
  /// Whether every answer to a browser says whose it is. RFC 9207.
  var namesIssuer: Bool { json["namesIssuer"]?.bool ?? true }
  /// What the person says: on the page, or at once without one.
  var consent: String { json["consent"]?.string ?? "page" }
  /// Who sits at the browser; without it the first user.
  var user: String? { json["user"]?.string }
  /// `unknown`: a provider that has never heard of PKCE, and looks at neither parameter.
  var pkce: String { json["pkce"]?.string ?? "required" }
  /// Whether a loopback redirect may have any port. RFC 8252 section 7.3.
  var takesAnyPort: Bool { json["redirectPorts"]?.string ?? "any" == "any" }
  /// How applications with a secret may prove it.
  var authentication: [String] {
    json["authentication"]?.strings ?? ["client_secret_basic", "client_secret_post"]
  }
  /// Whether id and secret are form-encoded before they go into HTTP Basic. RFC 6749 section 2.3.1.
  var decodesBasic: Bool { json["basic"]?.string ?? "encoded" == "encoded" }
  /// Whether token answers are query strings.
  var answersForms: Bool { json["tokens"]?.string == "form" }
  /// Whether they are for those who don't ask for JSON.
  var answersAsAsked: Bool { json["tokens"]?.string == "asked" }
  /// How `expires_in` is written.
  var lifetime: String { json["lifetime"]?.string ?? "number" }
  /// How token answers name the scope.
  var scope: String { json["scope"]?.string ?? "text" }
  /// Whether errors come with a status of success.
  var tellsFailuresWith200: Bool { json["failures"]?.string == "200" }
  /// What a refresh does with the refresh token: another one each time, and the old one used again revokes all of its
  /// family; the same one again and again; the same one without naming it; no refresh tokens at all.
  var refresh: String { json["refresh"]?.string ?? "rotating" }
  /// The scope without which there is no refresh token.
  var offlineScope: String? { json["offlineScope"]?.string }
  var accessSeconds: Int64 { json["accessSeconds"]?.int64 ?? 3600 }
  /// Of id_tokens; without it as long as access tokens.
  var idTokenSeconds: Int64 { json["idTokenSeconds"]?.int64 ?? accessSeconds }
  /// Whether a refresh brings an id_token too. OpenID Connect Core 1.0 section 12.2.
  var renewsIDToken: Bool { json["renewsIDToken"]?.bool ?? true }
  var codeSeconds: Int64 { json["codeSeconds"]?.int64 ?? 60 }
  var refreshSeconds: Int64 { json["refreshSeconds"]?.int64 ?? 86_400 * 30 }
  var deviceSeconds: Int64 { json["deviceSeconds"]?.int64 ?? 600 }
  /// How often a device may ask. RFC 8628 section 3.2.
  var intervalSeconds: Int64 { json["intervalSeconds"]?.int64 ?? 5 }
  /// Whether there is an address with the user code in it.
  var tellsCompleteAddress: Bool { json["tellsCompleteAddress"]?.bool ?? true }
  /// Those that exist; without a list all do.
  var scopes: [String]? { json["scopes"].map(\.strings) }
  var scopeSeparator: Character { json["scopeSeparator"]?.string?.first ?? " " }
  /// The id of the key that signs; without it the first.
  var signingKey: String? { json["signingKey"]?.string }
  /// How the token endpoint may be asked.
  var tokenMethods: [String] { json["tokenMethods"]?.strings ?? ["POST"] }
  /// Whether the token endpoint also looks at the query.
  var takesQuery: Bool { json["takesQuery"]?.bool ?? false }
  var tokenType: String { json["tokenType"]?.string ?? "Bearer" }

  /// Whether browsers have to bring a reference to what was pushed. RFC 9126.
  var requiresPush: Bool { json["requiresPush"]?.bool ?? false }
  /// What a device is told when the person has said no.
  var deviceDenial: String { json["deviceDenial"]?.string ?? "access_denied" }
  /// Who may end a token: the application that proves itself, whoever knows it, or whoever sends it as a bearer.
  var revocation: String { json["revocation"]?.string ?? "proven" }
  /// The header in which questions with a token have to name the application it was issued to.
  var applicationHeader: String? { json["applicationHeader"]?.string }

  /// The scopes in a parameter.
  func split(_ scope: String) -> [String] {
    scope.split(whereSeparator: { $0 == scopeSeparator || $0 == " " }).map(String.init)
  }

  /// These scopes in a token answer.
  func scope(_ scopes: [String]) -> JSONValue? {
    switch scope {
    case "list": JSONValue(scopes)
    case "none": nil
    default: .string(scopes.joined(separator: String(scopeSeparator)))
    }
  }
}
