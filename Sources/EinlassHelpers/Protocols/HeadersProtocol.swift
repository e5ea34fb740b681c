internal import EinlassJSON

/// The program `headers-credential-einlass`: the headers of a request as one JSON object.
package struct HeadersProtocol: ProgramProtocol {
  package static let program: String? = "mcp"

  /// The address of the server, or the name of the account.
  private let name: String
  private let scopes: [String]

  package init(_ name: String, scopes: [String] = []) { (self.name, self.scopes) = (name, scopes) }

  package func run(with client: any Client) throws(Failure) {
    var needs = TokenNeeds()
    needs.scopes = scopes
    let token = try client.token(of: client.target(name), needs)
    let headers = JSONValue.object(
      JSONObject(token.headers.map { ($0.name, .string($0.value)) }))
    try TextOutput(1).write(headers.text + "\n")
  }
}
