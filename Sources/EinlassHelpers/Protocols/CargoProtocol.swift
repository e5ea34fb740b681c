internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem
internal import Glibc

/// The program `cargo-credential-einlass`: a credential provider, one JSON line each way.
package struct CargoProtocol: ProgramProtocol {
  package static let program: String? = "cargo"

  package init() {}

  /// The program speaks first.
  package func begins() throws(Failure) -> Bool {
    try TextOutput(1).write(#"{"v":[1]}"# + "\n")
    return true
  }

  package func run(with client: any Client) throws(Failure) {
    guard let input = try? Descriptor.duplicate(STDIN_FILENO) else { return }
    let output = try TextOutput(1)
    var framer = LineFramer(limit: ProgramInput.limitBytes)
    var buffer = [UInt8](repeating: 0, count: 1 << 12)
    while true {
      while let line = framer.next() {
        client.session.startTimer()
        try output.write(answer(line, client).text + "\n")
      }
      guard case .bytes(let count) = input.read(into: &buffer) else { return }
      framer.feed(buffer[..<count])
    }
  }

  private func answer(_ line: LineFramer.Line, _ client: any Client) -> JSONValue {
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
      let service = try client.call("services.resolve", ["address": address])["service"]?.string
      guard service == index || service.map({ $0 + "/" }) == index else {
        return Self.error("url-not-supported")
      }
      let token = try client.token(of: client.target(["address": address]), TokenNeeds())
      return [
        "Ok": .object(
          JSONObject(present: [
            "kind": "get", "token": .string(token.authorization),
            "cache": token.expiresAt == nil ? "session" : "expires",
            "expiration": token.expiresAt.map { JSONValue($0) }, "operation_independent": true,
          ]))
      ]
    } catch {
      let failure = error.asked(by: client.application)
      if case .refused(let refusal) = failure {
        if refusal.reason == "unsafeURL" { return Self.error("url-not-supported") }
        if refusal.reason == "noSystemAccount" {
          complain(failure.line(repeating: client.session.repeated))
          return Self.error("not-found")
        }
      }
      return Self.error("other", failure.line(repeating: client.session.repeated))
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
