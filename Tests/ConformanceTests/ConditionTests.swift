import EinlassJSON
import Foundation
import Testing

/// A parameter that narrows a request is refused with a misspelt name, because the request would do
/// more than was meant if it counted as absent.
@Suite struct ConditionTests {
  /// The methods that ignore unknown parameters: their optional parameters choose a page or a part
  /// of a list, or permit more than the default.
  static let tolerant: Set = [
    "shutdown", "exit", "$/cancelRequest", "initialize", "rpc.discover", "providers.list",
    "providers.add", "providers.remove", "accounts.list", "accounts.update", "accounts.explain",
    "accounts.export",
    "accounts.import", "access.list", "auth.list", "auth.cancel", "avatars.get", "settings.get",
    "users.create", "users.signInWithPassword", "users.current", "users.list",
    "users.providersForEmail", "users.signOut", "store.addKeySlot", "store.removeKeySlot",
    "store.unlock", "store.lock",
    "audit.list", "audit.prune", "prompt.answer", "prompt.list", "network.status",
    "accounts.checkServer", "store.status", "store.check", "store.backup", "store.move",
    "store.rotateKey", "test.advanceClock",
  ]

  @Test func `Each parameter of a method with conditions is refused if its name is misspelt`()
    throws
  {
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    let methods = try Self.methods()
    #expect(
      Set(methods.filter { $0["x-closed"] != true }.compactMap { $0["name"]?.string })
        == Self.tolerant)
    var count = 0
    for method in methods where !Self.tolerant.contains(method["name"]?.string ?? "") {
      let name = try #require(method["name"]?.string)
      for parameter in method["params"]?.array ?? [] {
        let misspelt = try #require(parameter["name"]?.string) + "s"
        let error = try front.answer(name, [misspelt: true])["error"]
        #expect(error?["data"]?["path"]?.string == "/\(misspelt)", "\(name) \(error?.text ?? "")")
        count += 1
      }
    }
    #expect(count > 100)
  }

  @Test(arguments: [
    ("verify", #"{"provider":"p","expect":{"userId":"9999"}}"#, "/expect/userId"),
    ("verify", #"{"provider":"p","expected":{"id":"9999"}}"#, "/expected"),
    (
      "initialize",
      #"{"client":{"name":"a"},"applications":{"github":{"clientId":"c","dpob":true}}}"#,
      "/applications/github/dpob"
    ),
  ])
  func `A misspelt condition is refused with its path`(
    method: String, params: String, path: String
  ) throws {
    try Self.expectInvalidParams(method, params, path)
  }

  @Test(arguments: [
    ("users.signIn", "an account or a sign-in."), ("users.link", "an account or a sign-in."),
    ("users.reauthenticate", "it must be a sign-in."),
  ])
  func `A missing proof is refused with the proofs that the method takes`(
    method: String, ending: String
  ) throws {
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    let message = try front.answer(method)["error"]?["message"]?.string
    #expect(message?.hasSuffix(ending) == true, "\(message ?? "")")
  }

  /// Expects a request to be refused because of one place in its parameters.
  static func expectInvalidParams(_ method: String, _ params: String, _ path: String) throws {
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    let error = try front.answer(method, JSONReader.read(Array(params.utf8)))["error"]
    #expect(error?["data"]?["reason"] == "invalidParams", "\(error?.text ?? "")")
    #expect(error?["data"]?["path"]?.string == path, "\(error?.text ?? "")")
  }

  private static func methods() throws -> [JSONValue] {
    let file = projectFolder.appending(path: "protocol/openrpc.json")
    return try #require(JSONReader.read(Array(Data(contentsOf: file)))["methods"]?.array)
      .filter { $0["x-direction"] == "clientToServer" }
  }
}
