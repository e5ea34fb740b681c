internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl providers metadata`.
struct ProvidersMetadata: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "metadata",
    abstract: "Print a client ID metadata document to publish.",
    discussion: """
      A server that knows no client of yours can read this document instead of a registration. \
      Publish it at the https address that you name, without a redirect, and set the address in \
      the configuration file: {"clientMetadata": "https://example.org/einlass.json"}.

      EXAMPLE: einlassctl providers metadata https://example.org/einlass.json
      """)

  @Argument(help: "The https address at which you will publish it.")
  var address: String

  @Option(help: "The name of the client on the server's page.")
  var name = "einlass"

  func validate() throws {
    // The rule of `clientMetadata` in the configuration file.
    let parts = address.dropFirst("https://".count).split(
      separator: "/", omittingEmptySubsequences: false)
    guard address.hasPrefix("https://"), address.utf8.count <= 256, parts.count > 1,
      parts.first?.isEmpty == false, parts.last?.isEmpty == false,
      !parts.contains(where: { $0 == "." || $0 == ".." }),
      address.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"?#@\\".utf8.contains($0) })
    else {
      throw ValidationError(
        "The address must be https, with a path that ends in a name, and without ?, # and @.")
    }
  }

  func run() throws {
    let document: JSONValue = [
      "client_id": .string(address), "client_name": .string(name),
      "application_type": "native",
      "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
      "grant_types": [
        "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
      ],
      "response_types": ["code"], "token_endpoint_auth_method": "none",
    ]
    try TextOutput(1).write(document.indented() + "\n")
  }
}
