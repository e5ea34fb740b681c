internal import ArgumentParser
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem
internal import Glibc

/// `einlassctl credential cargo`: a credential provider of cargo, one JSON line each way.
struct CargoCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "cargo", abstract: "cargo: credential-provider of a registry",
    discussion: """
      Answers only for a sparse index at a service: cargo sends the token to the hosts that the \
      index names, so a host of a provider does not suffice.

      EXAMPLE (~/.cargo/config.toml):
        [registries.example]
        index = "sparse+https://registry.example.com/index/"
        credential-provider = ["cargo-credential-einlass"]
      """)
  static let program = "cargo"

  @Flag(name: .customLong("cargo-plugin"), help: .hidden)
  var isPlugin = false

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  /// The program speaks first.
  func begins() throws(Failure) -> Bool {
    try TextOutput(1).write(#"{"v":[1]}"# + "\n")
    return true
  }

  func run(with console: Console) throws(Failure) {
    guard let input = try? Descriptor.duplicate(STDIN_FILENO) else { return }
    let output = try TextOutput(1)
    var framer = LineFramer(limit: ProgramInput.limitBytes)
    var buffer = [UInt8](repeating: 0, count: 1 << 12)
    while true {
      while let line = framer.next() {
        console.startTimer()
        try output.write(answer(line, console).text + "\n")
      }
      guard case .bytes(let count) = input.read(into: &buffer) else { return }
      framer.feed(buffer[..<count])
    }
  }

  private func answer(_ line: LineFramer.Line, _ console: Console) -> JSONValue {
    guard case .text(let bytes) = line, let request = try? JSONReader.read(bytes),
      request["v"]?.int64 == 1, let registry = request["registry"]?["index-url"]?.string
    else { return Self.error("other", "The request is not one of version 1 with an index-url.") }
    guard request["kind"]?.string == "get" else { return Self.error("operation-not-supported") }
    // Any other index is a git repository, and anybody may have one at a provider.
    guard registry.hasPrefix("sparse+"), request["registry"]?["name"]?.string != "crates-io" else {
      return Self.error("url-not-supported")
    }
    let index = String(registry.dropFirst("sparse+".count))
    let address = JSONValue.string(index)
    do throws(Failure) {
      // The index names the hosts that get the token, and a file of anybody's on the same host may be
      // one. So the person has to have chosen it, and not its host.
      let service = try console.call("services.resolve", ["address": address])["service"]?.string
      guard service == index || service.map({ $0 + "/" }) == index else {
        return Self.error("url-not-supported")
      }
      let token = try console.token(of: console.target(["address": address]), TokenNeeds())
      return [
        "Ok": .object(
          JSONObject(present: [
            "kind": "get", "token": .string(token.authorization),
            "cache": token.expiresAt == nil ? "session" : "expires",
            "expiration": token.expiresAt.map { JSONValue($0) }, "operation_independent": true,
          ]))
      ]
    } catch {
      let failure = error.asked(by: actsAs)
      if case .refused(let refusal) = failure {
        if refusal.reason == "unsafeURL" { return Self.error("url-not-supported") }
        if refusal.reason == "noSystemAccount" {
          complain(failure.line(repeating: server.repeated))
          return Self.error("not-found")
        }
      }
      return Self.error("other", failure.line(repeating: server.repeated))
    }
  }

  private static func error(_ kind: String, _ message: String? = nil) -> JSONValue {
    [
      "Err": .object(
        JSONObject(present: [
          "kind": .string(kind), "message": message.map(JSONValue.string),
          "caused-by": message == nil ? nil : [],
        ]))
    ]
  }
}
