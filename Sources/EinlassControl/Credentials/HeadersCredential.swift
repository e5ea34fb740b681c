internal import ArgumentParser
internal import EinlassHelpers

/// `einlassctl credential headers`: the headers of a request as one JSON object.
struct HeadersCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "headers", abstract: "Clients of MCP: one JSON object of HTTP headers",
    discussion: """
      EXAMPLE (headersHelper of an MCP server):
        einlassctl credential headers https://photos.example.com/mcp
      """)

  @Argument(help: "The address of the server, or provider/user name.", completion: .accounts)
  var what: String

  @Option(name: .customLong("scope"), help: "The token must have this scope; may be repeated.")
  var scopes: [String] = []

  @Flag(help: "Print {\"headers\": {…}, \"expires_at\": …} instead, as nono takes it.")
  var nested = false

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  var question: HeadersProtocol { HeadersProtocol(what, scopes: scopes, isNested: nested) }
}
