internal import ArgumentParser
internal import EinlassJSON

/// `einlassctl credential headers`: the headers of a request as one JSON object.
struct HeadersCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "headers", abstract: "Clients of MCP: one JSON object of HTTP headers",
    discussion: """
      EXAMPLE (headersHelper of an MCP server):
        einlassctl credential headers https://photos.example.com/mcp
      """)
  static let program = "mcp"

  @Argument(help: "The address of the server, or provider/user name.", completion: .accounts)
  var what: String

  @Option(name: .customLong("scope"), help: "The token must have this scope; may be repeated.")
  var scopes: [String] = []

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let token = try console.token(of: console.target(what), TokenNeeds(scopes: scopes))
    let headers: JSONValue = ["Authorization": .string(token.authorization)]
    try TextOutput(1).write(headers.text + "\n")
  }
}

/// `einlassctl credential bazel`: Bazel's credential helper specification.
struct BazelCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "bazel", abstract: "Bazel: --credential_helper=bazel-credential-einlass",
    discussion: #"Reads {"uri": "https://…"} and answers {"headers": {"Authorization": […]}}."#)
  static let program = "bazel"

  @Argument(help: "The operation: get.")
  var operation: String

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  private var address: String?

  private enum CodingKeys: CodingKey { case operation, helper, server }

  mutating func begins() throws(Failure) -> Bool {
    guard operation == "get" else { throw .unusable("There is only the operation get.") }
    address = try ProgramInput.object()["uri"]?.string
    guard address != nil else { throw .badInput(line: 1, "names no uri") }
    return true
  }

  func run(with console: Console) throws(Failure) {
    let target = try console.target(["address": .string(address ?? "")])
    let token = try console.token(of: target, TokenNeeds())
    let answer = JSONValue.object(
      JSONObject(present: [
        "headers": ["Authorization": [.string(token.authorization)]],
        "expires": token.expiresAt.map { .string(timestamp($0)) },
      ]))
    try TextOutput(1).write(answer.text + "\n")
  }
}
