package import EinlassJSON

/// A token for a program, with the account and the form in which a service takes it.
package struct Token {
  /// The `Credential` of the protocol, of type oauth2 or session.
  package var credential: JSONValue
  package var target: TokenTarget

  /// The access token; the id of a session, or its cookies in the format of a Netscape cookie file.
  package var text: String {
    ["token", "sessionId", "cookies"].lazy.compactMap { credential[$0]?.string }.first ?? ""
  }
  /// Unix seconds; `nil` if unknown.
  package var expiresAt: Int64? { credential["expiresAt"]?.int64 }
  package var idToken: String? { credential["idToken"]?.string }
  /// Unix seconds; `nil` if unknown.
  package var idTokenExpiresAt: Int64? { credential["idTokenExpiresAt"]?.int64 }

  /// The reason why a program cannot send this token; `nil` if it can.
  package func fault(_ needs: TokenNeeds) -> String? {
    guard !isSession else {
      return needs.takesSession
        ? nil
        : "This account has a session at its server and no token. einlassctl token without a form prints the session."
    }
    guard credential["type"]?.string == "oauth2" else {
      return
        "This account signs requests with OAuth 1.0a and has no token to send. Sign with credentials.sign."
    }
    guard credential["tokenType"]?.string != "DPoP" else {
      return
        "This token is bound to a key (DPoP), so no other program can send it. Sign with credentials.sign."
    }
    guard !needs.wantsIDToken || idToken != nil else {
      return credential["scopes"]?.array?.contains("openid") == true
        ? "The account has no id_token: its provider issued none, or none that einlass can verify. Use an account of another provider."
        : "The account has no id_token. Sign in again with --scope openid."
    }
    return nil
  }

  private var isSession: Bool { credential["type"]?.string == "session" }

  /// The value of an `Authorization` header. RFC 6750 section 2.1.
  package var authorization: String { "Bearer \(text)" }

  /// The fields of a request to the service.
  package var headers: [(name: String, value: String)] {
    guard !target.headers.isEmpty else { return [("Authorization", authorization)] }
    let place = "{token}"
    return target.headers.map { member in
      let value = member.value.string ?? ""
      let isToken = value.hasSuffix(place)
      return (member.name, isToken ? value.dropLast(place.count) + text : value)
    }
  }

  /// The token with its account, for `--json`.
  package var json: JSONValue {
    if isSession, var session = credential.object {
      session["account"] = .string(target.account)
      return .object(session)
    }
    return .object(
      JSONObject(present: [
        "token": .string(text), "tokenType": credential["tokenType"],
        "expiresAt": credential["expiresAt"],
        "expires_at": expiresAt.map { .string(timestamp($0)) }, "scopes": credential["scopes"],
        "account": .string(target.account), "provider": target.provider.map(JSONValue.string),
        "username": target.username.map(JSONValue.string),
        "idToken": credential["idToken"], "idTokenExpiresAt": credential["idTokenExpiresAt"],
        "id_token_expires_at": idTokenExpiresAt.map { .string(timestamp($0)) },
      ]))
  }
}

/// The account that a token is taken from.
package struct TokenTarget {
  /// The account's id.
  package var account: String
  package var provider: String?
  /// The user name that the service wants beside the token.
  package var username: String?
  /// The user name of a service that takes any.
  package static let anyUsername = "*"
  /// Whether the service prefers the token as the password of the user name.
  package var isPassword = false
  /// The service's own fields of a request, with a place for the token; empty for the usual one.
  package var headers: [JSONObject.Member] = []
  package var scopes: [String] = []
  package var resource: String?
  /// The address of the service, as it was named; `nil` for a target by its account or provider.
  package var address: String?
}

/// The required properties of a token.
package struct TokenNeeds {
  package var scopes: [String] = []
  /// The protected resource; `nil` for the one of the target.
  package var resource: String?
  /// Seconds; `nil` for einlass's default.
  package var minValidity: Int64?
  /// Whether to ask the provider for a new token even if the stored one is good.
  package var refreshes = false
  /// Whether the id_token is wanted. It may end before the access token.
  package var wantsIDToken = false
  /// Whether the session of an account without a token serves too.
  package var takesSession = false

  package init() {}
}
