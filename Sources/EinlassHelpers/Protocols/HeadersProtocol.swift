internal import EinlassJSON

/// The program `headers-credential-einlass`: the headers of a request as one JSON object, or below
/// `headers` beside the end of the token.
package struct HeadersProtocol: ProgramProtocol {
  package static let program: String? = "mcp"

  /// The address of the server, or the name of the account.
  private let name: String
  private let scopes: [String]
  private let isNested: Bool

  package init(_ name: String, scopes: [String] = [], isNested: Bool = false) {
    (self.name, self.scopes, self.isNested) = (name, scopes, isNested)
  }

  package func run(with client: any Client) throws(Failure) {
    var needs = TokenNeeds()
    needs.scopes = scopes
    let token = try client.token(of: client.target(name), needs)
    let headers = JSONValue.object(
      JSONObject(token.headers.map { ($0.name, .string($0.value)) }))
    let nested = JSONObject(present: [
      "headers": headers, "expires_at": token.expiresAt.map { .string(timestamp($0)) },
      "expiresAt": token.expiresAt.map { JSONValue($0) },
    ])
    try TextOutput(1).write((isNested ? .object(nested) : headers).text + "\n")
  }
}
