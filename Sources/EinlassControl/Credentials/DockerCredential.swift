internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl credential docker`, the program `docker-credential-einlass`.
struct DockerCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "docker", abstract: "docker, podman, skopeo: \"credHelpers\" of config.json",
    discussion: """
      Answers get with a token as the password. erase lets the next get fetch a new token, if it \
      can be renewed. store is refused, because einlass keeps the token itself.

      EXAMPLE (~/.docker/config.json): {"credHelpers": {"registry.example.com": "einlass"}}
      """)

  @Argument(help: "The operation: get, list, store or erase.")
  var operation: String

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  var question: DockerProtocol { DockerProtocol(operation: operation) }

  func run() throws {
    guard operation == "list" else { return try answer() }
    do throws(Failure) { try list() } catch {
      error.report(server.choice, servesProgram: true)
      throw error
    }
  }

  /// Prints the configured services without a path, by host, because docker names registries so.
  private func list() throws(Failure) {
    var names = JSONObject()
    for service in try ConfigurationFile(server).services {
      guard var host = service["address"]?.string else { continue }
      if host.hasPrefix("https://") { host.removeFirst("https://".count) }
      guard !host.contains("/") else { continue }
      names[host] = service["username"] ?? "oauth2"
    }
    try TextOutput(1).write(JSONValue.object(names).text + "\n")
  }
}
