internal import EinlassJSON

/// The program `bazel-credential-einlass`: Bazel's credential helper specification.
package struct BazelProtocol: ProgramProtocol {
  package static let program: String? = "bazel"

  private let operation: String
  private var address: String?

  package init(operation: String) { self.operation = operation }

  package mutating func begins() throws(Failure) -> Bool {
    guard operation == "get" else { throw .unusable("There is only the operation get.") }
    address = try ProgramInput.object()["uri"]?.string
    guard address != nil else { throw .badInput(line: 1, "names no uri") }
    return true
  }

  package func run(with client: any Client) throws(Failure) {
    let target = try client.target(["address": .string(address ?? "")])
    let token = try client.token(of: target, TokenNeeds())
    let answer = JSONValue.object(
      JSONObject(present: [
        "headers": .object(
          JSONObject(token.headers.map { ($0.name, .array([.string($0.value)])) })),
        "expires": token.expiresAt.map { .string(timestamp($0)) },
      ]))
    try TextOutput(1).write(answer.text + "\n")
  }
}
