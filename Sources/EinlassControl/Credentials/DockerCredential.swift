internal import ArgumentParser
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
  static let program = "docker"

  /// The text by which docker recognises that a helper has nothing, so that it goes on without.
  private static let nothing = "credentials not found in native keychain"

  @Argument(help: "The operation: get, list, store or erase.")
  var operation: String

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  private var address = ""

  private enum CodingKeys: CodingKey { case operation, helper, server }

  mutating func begins() throws(Failure) -> Bool {
    switch operation {
    case "get", "erase":
      let bytes = try ProgramInput.read()
      let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
      guard !line.isEmpty, line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw .badInput(line: 1, "is not the address of a registry")
      }
      address = String(decoding: line, as: UTF8.self)
      return true
    case "list":
      try list()
      return false
    case "store":
      throw .unusable("einlass keeps its tokens itself. Sign in with einlassctl sign-in.")
    default: throw .unusable("There are only the operations get, list, store and erase.")
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

  /// Returns the address of a registry that docker names by host and port. docker speaks plain http
  /// only to this machine, and tries https first.
  static func address(of registry: String, _ console: Console) throws(Failure) -> String {
    guard !registry.contains("/") else { return registry }
    let isHere = registry.hasPrefix("127.") || registry.hasPrefix("[::1]")
    guard isHere, try !console.serves("https://\(registry)") else { return "https://\(registry)" }
    return "http://\(registry)"
  }

  func run(with console: Console) throws(Failure) {
    let target: TokenTarget
    do throws(Failure) {
      let address = try Self.address(of: address, console)
      target = try console.target(["address": .string(address)])
    } catch {
      // For a store that cannot be read docker stops, and shows the failure.
      if operation == "get", case .refused(let refusal) = error,
        refusal.reason != "accountStoreFailure"
      {
        try TextOutput(1).write(Self.nothing + "\n")
      }
      throw error
    }
    guard operation == "get" else {
      try console.renewLater(target)
      return
    }
    let token = try console.token(of: target, TokenNeeds())
    let answer: JSONValue = [
      "ServerURL": .string(address), "Username": .string(target.username ?? "oauth2"),
      "Secret": .string(token.text),
    ]
    try TextOutput(1).write(answer.text + "\n")
  }
}
