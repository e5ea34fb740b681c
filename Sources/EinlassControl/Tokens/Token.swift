internal import EinlassJSON

/// A token for a program, with the account and the form in which a service takes it.
struct Token {
  /// The `Credential` of the protocol, of type oauth2.
  var credential: JSONValue
  var target: TokenTarget

  /// The access token.
  var text: String { credential["token"]?.string ?? "" }
  /// Unix seconds; `nil` if unknown.
  var expiresAt: Int64? { credential["expiresAt"]?.int64 }
  var idToken: String? { credential["idToken"]?.string }
  /// Unix seconds; `nil` if unknown.
  var idTokenExpiresAt: Int64? { credential["idTokenExpiresAt"]?.int64 }

  /// The reason why a program cannot send this token; `nil` if it can.
  func fault(wantingIDToken: Bool) -> String? {
    guard credential["type"]?.string != "session" else {
      return "This account has a session at its server and no token. Read it with credentials.get."
    }
    guard credential["type"]?.string == "oauth2" else {
      return
        "This account signs requests with OAuth 1.0a and has no token to send. Sign with credentials.sign."
    }
    guard credential["tokenType"]?.string != "DPoP" else {
      return
        "This token is bound to a key (DPoP), so no other program can send it. Sign with credentials.sign."
    }
    guard !wantingIDToken || idToken != nil else {
      return "The account has no id_token. Sign in again with --scope openid."
    }
    return nil
  }

  /// The value of an `Authorization` header. RFC 6750 section 2.1.
  var authorization: String { "Bearer \(text)" }

  /// The token with its account, for `--json`.
  var json: JSONValue {
    .object(
      JSONObject(present: [
        "token": .string(text), "tokenType": credential["tokenType"],
        "expiresAt": credential["expiresAt"], "scopes": credential["scopes"],
        "account": .string(target.account), "provider": target.provider.map(JSONValue.string),
        "username": target.username.map(JSONValue.string),
        "idToken": credential["idToken"], "idTokenExpiresAt": credential["idTokenExpiresAt"],
      ]))
  }
}

/// The account that a token is taken from.
struct TokenTarget {
  /// The account's id.
  var account: String
  var provider: String?
  /// The user name that the service wants beside the token.
  var username: String?
  /// Whether the service prefers the token as the password of the user name.
  var isPassword = false
  var scopes: [String] = []
  var resource: String?
}

/// The required properties of a token.
struct TokenNeeds {
  var scopes: [String] = []
  /// The protected resource; `nil` for the one of the target.
  var resource: String?
  /// Seconds; `nil` for einlass's default.
  var minValidity: Int64?
  /// Whether to ask the provider for a new token even if the stored one is good.
  var refreshes = false
  /// Whether the id_token is wanted. It may end before the access token.
  var wantsIDToken = false
}
