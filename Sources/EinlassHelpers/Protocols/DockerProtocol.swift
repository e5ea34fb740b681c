internal import EinlassJSON

/// The program `docker-credential-einlass`.
package struct DockerProtocol: ProgramProtocol {
  package static let program: String? = "docker"

  /// The text by which docker recognises that a helper has nothing, so that it goes on without.
  private static let nothing = "credentials not found in native keychain"

  /// The names under which docker keeps its own sign-in to its public registry. They are no
  /// registries.
  private static let ownNames = ["access-token", "refresh-token"].map {
    "https://index.docker.io/v1/\($0)"
  }

  private let operation: String
  private var address = ""

  package init(operation: String) { self.operation = operation }

  package mutating func begins() throws(Failure) -> Bool {
    switch operation {
    case "get", "erase":
      let bytes = try ProgramInput.read()
      let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
      guard !line.isEmpty, line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw .badInput(line: 1, "is not the address of a registry")
      }
      address = String(decoding: line, as: UTF8.self)
      return true
    case "store":
      throw .unusable("einlass keeps its tokens itself. Sign in with einlassctl sign-in.")
    default: throw .unusable("There are only the operations get, list, store and erase.")
    }
  }

  /// Returns the address of a registry that docker names by host and port. docker speaks plain http
  /// only to this machine, and tries https first.
  package static func address(of registry: String, _ client: any Client) throws(Failure) -> String {
    guard !registry.contains("/") else { return registry }
    let isHere = registry.hasPrefix("127.") || registry.hasPrefix("[::1]")
    guard isHere, try !client.serves("https://\(registry)") else { return "https://\(registry)" }
    return "http://\(registry)"
  }

  package func run(with client: any Client) throws(Failure) {
    if Self.ownNames.contains(address) {
      guard operation == "get" else { return }
      try TextOutput(1).write(Self.nothing + "\n")
      throw .unusable("docker keeps this sign-in itself.")
    }
    let target: TokenTarget
    do throws(Failure) {
      let address = try Self.address(of: address, client)
      target = try client.target(["address": .string(address)])
    } catch {
      // Of a registry that nobody serves there is nothing to forget.
      if operation == "erase", case .refused(let refusal) = error,
        refusal.data["detail"]?.string == "notServed"
      {
        return
      }
      // For a store that cannot be read docker stops, and shows the failure.
      if operation == "get", case .refused(let refusal) = error,
        refusal.reason != "accountStoreFailure"
      {
        try TextOutput(1).write(Self.nothing + "\n")
      }
      throw error
    }
    guard operation == "get" else {
      try client.renewLater(target)
      return
    }
    let token = try client.token(of: target, TokenNeeds())
    let answer: JSONValue = [
      "ServerURL": .string(address), "Username": .string(target.username ?? "oauth2"),
      "Secret": .string(token.text),
    ]
    try TextOutput(1).write(answer.text + "\n")
  }
}
