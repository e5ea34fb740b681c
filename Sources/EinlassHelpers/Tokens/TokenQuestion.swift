internal import EinlassJSON

/// `einlassctl token`.
package struct TokenQuestion: ProgramProtocol {
  /// The forms of the output.
  package enum Form: Sendable {
    case header, curl, idToken
    /// A lease of fnox: the variable of a program with the token.
    case lease(String)
  }

  package static let program: String? = nil

  /// The name of the account, or an address.
  private let name: String
  private let form: Form?
  private var needs: TokenNeeds

  package init(_ name: String, _ needs: TokenNeeds = TokenNeeds(), as form: Form? = nil) {
    (self.name, self.form, self.needs) = (name, form, needs)
    if case .idToken? = form { self.needs.wantsIDToken = true }
    if form == nil { self.needs.takesSession = true }
  }

  package func run(with client: any Client) throws(Failure) {
    let token = try client.token(of: client.target(name), needs)
    try client.report(token.json, [printed(token)])
  }

  private func printed(_ token: Token) -> String {
    switch form {
    case nil: token.text
    case .header: token.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    case .curl:
      (headersForCurl(token) + urlForCurl(token)).joined(separator: "\n")
    case .idToken: token.idToken ?? ""
    case .lease(let variable):
      JSONValue.object(
        JSONObject(present: [
          "credentials": [variable: .string(token.text)],
          "expires_at": token.expiresAt.map { .string(timestamp($0)) },
          "expiresAt": token.expiresAt.map { JSONValue($0) },
        ])
      ).text
    }
  }

  private func headersForCurl(_ token: Token) -> [String] {
    token.target.headers.isEmpty
      ? [setting("oauth2-bearer", token.text)]
      : token.headers.map { setting("header", "\($0.name): \($0.value)") }
  }

  private func urlForCurl(_ token: Token) -> [String] {
    guard let address = token.target.address, address.holds("://") else { return [] }
    return [setting("url", address)]
  }

  /// Returns a line of a configuration of curl.
  private func setting(_ name: String, _ value: String) -> String {
    "\(name) = \(JSONValue.string(value).text)"
  }
}
