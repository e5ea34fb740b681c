import EinlassJSON
import Foundation
import Testing

/// Every provider of the catalogue against its part of the sandbox, by its descriptor alone.
@Suite struct CatalogueTests {
  /// The flows for an interactive sign-in.
  static let ways = ["authorizationCode"]

  @Test func `A sign-in with each provider succeeds at the sandbox`() throws {
    let sandbox = try Sandbox()
    defer { sandbox.terminate() }
    for provider in try sandbox.state().object?.members ?? [] {
      guard provider.value["behaviour"] != nil else { continue }
      try sandbox.patch([provider.name: ["behaviour": ["consent": "allow"]]])
    }
    try sandbox.patch(["facebook": ["consent": "allow"]])
    let folder = try TemporaryFolder()
    let frontEnd = try FrontEnd([
      "--store", "memory", "--providers", folder.file("providers.json", try Self.catalogue().text),
      "--config", folder.file("config.json", Self.configuration(sandbox).text),
    ])
    defer { frontEnd.terminate() }
    try frontEnd.call(
      "initialize", ["client": ["name": "tests"], "capabilities": ["prompts": ["openURL"]]])
    var count = 0
    for provider in try Self.providers(frontEnd) {
      let id = provider["id"]?.string ?? ""
      for way in Self.ways where provider["flowKinds"]?.array?.contains(.string(way)) == true {
        do { try Self.signIn(provider, way, frontEnd) } catch {
          Issue.record("\(id), \(way): \(error)")
        }
        count += 1
      }
    }
    #expect(count == 39)
  }

  @Test func `With the sandbox no provider needs a port that another program may have`() throws {
    let sandbox = try Sandbox()
    defer { sandbox.terminate() }
    let file = projectFolder.appending(path: "Sources/Einlass/Descriptors/providers.json")
    let builtIn = try JSONReader.read(Array(Data(contentsOf: file)))["providers"]?.array ?? []
    let withPorts = builtIn.filter { $0 != Self.withoutPorts($0) }
    #expect(withPorts.count == 18)
    for provider in withPorts {
      let id = provider["id"]?.string ?? ""
      let redirect = sandbox.ready["config"]?["applications"]?["*"]?[id]?["redirect"]?.string
      #expect(
        ["http://127.0.0.1/callback", "http://localhost/callback"].contains(redirect), "\(id)")
    }
  }

  /// Returns the descriptor of `clients/RECIPES.md`, with its fixed port replaced by any free port.
  private static func catalogue() throws -> JSONValue {
    ["providers": [withoutPorts(try ownServer())]]
  }

  /// The only descriptor in `clients/RECIPES.md`: a server of Bitbucket Data Center.
  private static func ownServer() throws -> JSONValue {
    let page = try String(
      contentsOf: projectFolder.appending(path: "clients/RECIPES.md"), encoding: .utf8)
    let block = page.components(separatedBy: "```json\n").first { $0.contains("/rest/oauth2/") }
    let text = try #require(block?.components(separatedBy: "```").first)
    return try JSONReader.read(Array(text.utf8))
  }

  private static func withoutPorts(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let elements): .array(elements.map(withoutPorts))
    case .object(let object):
      .object(
        JSONObject(
          object.members.filter { $0.name != "ports" }.map { ($0.name, withoutPorts($0.value)) }))
    default: value
    }
  }

  /// Returns the sandbox's configuration with a redirect address where the catalogue has none, and
  /// with the registration of a flow that needs its own.
  private static func configuration(_ sandbox: Sandbox) -> JSONValue {
    (sandbox.ready["config"] ?? [:]).merging([
      "applications": [
        "*": [
          "apple": ["redirect": "https://example.org/callback"],
          "twitter": ["clientId": "demo-x", "clientSecret": "demo-secret"],
          "bitbucket.example.com": [
            "clientId": "demo-bitbucket-data-center", "clientSecret": "demo-secret",
          ],
        ]
      ]
    ])
  }

  private static func providers(_ frontEnd: FrontEnd) throws -> [JSONValue] {
    var providers: [JSONValue] = []
    var cursor: JSONValue?
    repeat {
      let page = try frontEnd.call(
        "providers.list", .object(JSONObject(present: ["cursor": cursor])))
      providers += page["providers"]?.array ?? []
      cursor = page["nextCursor"]
    } while cursor != nil
    return providers
  }

  private static func signIn(_ listed: JSONValue, _ way: String, _ frontEnd: FrontEnd) throws {
    let provider = listed["id"]?.string ?? ""
    try frontEnd.send(
      id: provider, "accounts.signIn",
      ["provider": .string(provider), "flowKind": .string(way)])
    var message = try frontEnd.next()
    while message["method"] != "prompt.opened", message["id"] == nil {
      message = try frontEnd.next()
    }
    guard let page = message["params"]?["url"]?.string,
      let prompt = message["params"]?["prompt"]
    else { throw FrontEnd.Refused(answer: message) }
    let place = try Sandbox.redirect(from: page)
    if place.hasPrefix("http://") {
      #expect(try Sandbox.browse(place) == 200, "\(provider)")
    } else {
      try frontEnd.call(
        "prompt.answer", ["prompt": prompt, "action": "accept", "redirectURL": .string(place)])
    }
    while message["id"]?.string != provider { message = try frontEnd.next() }
    guard let account = message["result"]?["account"] else {
      throw FrontEnd.Refused(answer: message)
    }
    let accounts = try frontEnd.call("accounts.list", ["provider": .string(provider)])
    let stored = accounts["accounts"]?.array?.first { $0["account"] == account }
    #expect(stored?["health"] == "ok", "\(provider)")
    #expect(stored?["username"]?.string?.isEmpty == false, "\(provider)")
    // These return no identity.
    let subjects: [JSONValue?] =
      ["bitbucket.example.com", "outlook", "sequencing"].contains(provider)
      ? [nil] : ["3001", "dbid:3001", "ada", "2001"]
    #expect(subjects.contains(stored?["subject"]), "\(provider)")
    try frontEnd.call("access.set", ["provider": .string(provider), "state": "granted"])
    let answer = try frontEnd.call("credentials.get", ["account": account])
    #expect(answer["credential"]?["type"] == "oauth2", "\(provider)")
    let email: JSONValue? = listed["can"]?["email"] == true ? "ada@example.org" : nil
    #expect(stored?["email"] == email, "\(provider)")
    let removed = try frontEnd.call("accounts.remove", ["account": account])
    let canRevoke = listed["can"]?["revoke"] == true
    #expect(removed["revoked"]?.array?.isEmpty == !canRevoke, "\(provider): \(removed)")
  }
}
