import EinlassJSON
import Foundation
import Testing

/// JSON null for a parameter that a front end does not have.
@Suite struct NullTests {
  /// The optional parameters that refuse null, because the request would do more, or trust more, than
  /// was meant.
  static let refusing = Set([
    "verify expect", "access.set accounts", "accounts.signOut requireRevocation",
    "accounts.remove requireRevocation", "providers.configure dpop",
    "providers.configure idTokenAlgorithm", "users.link user", "users.update user",
    "users.unlink user", "users.delete user", "verify expect/id", "verify expect/clientId",
    "verify expect/scopes", "verify expect/nonce", "accounts.signIn resource",
    "accounts.renew resource", "credentials.get resource", "credentials.reject resource",
    "credentials.sign resource", "credentials.get scopes", "credentials.get address",
    "credentials.reject address", "credentials.reject onlyRenewable", "accounts.signIn account",
  ]).union(
    ["accounts.signIn", "auth.perform", "users.signIn", "users.link", "users.reauthenticate"]
      .flatMap {
        ["\($0) server/trustedPublicKey", "\($0) server/caFile", "\($0) page/maxAgeSeconds"]
      })

  @Test func `Each optional parameter may be null, except conditions and pins`() throws {
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    let document = try Self.document()
    var (found, count): (Set<String>, Int) = ([], 0)
    for method in document["methods"]?.array ?? []
    where method["x-direction"] == "clientToServer" && method["x-testMode"] != true {
      let name = try #require(method["name"]?.string)
      let all = method["params"]?.array ?? []
      guard name != "initialize" else { continue }
      var required = JSONObject()
      for parameter in all where parameter["required"] == true {
        required[parameter["name"]?.string ?? ""] = Self.sample(parameter["schema"], document)
      }
      for (path, schema) in all.flatMap({ Self.optional($0, document) }) {
        let parameter = path.joined(separator: "/")
        func isRefused(_ value: JSONValue?) throws -> Bool {
          var params = required
          params[path[0]] =
            path.count == 1 ? value : .object(JSONObject(present: [path[1]: value]))
          let data = try front.answer(name, .object(params))["error"]?["data"]
          return data?["reason"] == "invalidParams" && data?["path"]?.string == "/\(parameter)"
        }
        // A rule over several parameters may demand one of them.
        guard try !isRefused(nil) else { continue }
        if try isRefused(.null) { found.insert("\(name) \(parameter)") }
        count += 1
        // The control: a value of another type is refused.
        guard schema != [:] else { continue }
        #expect(try isRefused(schema?["type"] == "integer" ? "x" : 7), "\(name) \(parameter)")
      }
    }
    #expect(count > 200)
    #expect(found == Self.refusing)
  }

  @Test(
    arguments: [
      "processId", "locale", "capabilities", "applications", "protocolVersion", "client.title",
      "client.version", "capabilities.prompts", "capabilities.changes", "applications.github",
      "applications.github.clientSecret", "applications.github.redirect",
    ])
  func `A front end that writes null for the members that it lacks can introduce itself`(
    path: String
  ) throws {
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    var params: JSONObject = ["client": ["name": "editor"]]
    let steps = path.split(separator: ".").map(String.init)
    switch steps.count {
    case 1: params[steps[0]] = .null
    case 2:
      var group: JSONObject = steps[0] == "client" ? ["name": "editor"] : [:]
      group[steps[1]] = .null
      params[steps[0]] = .object(group)
    default:
      var registration: JSONObject = ["clientId": "c"]
      registration[steps[2]] = .null
      params["applications"] = ["github": .object(registration)]
    }
    #expect(try front.answer("initialize", .object(params))["error"] == nil)
  }

  @Test(
    arguments: [
      ("initialize", #"{"client":null}"#, "/client"),
      ("initialize", #"{"client":{"name":null}}"#, "/client/name"),
      (
        "initialize",
        #"{"client":{"name":"a"},"applications":{"github":{"clientId":"c","idTokenAlgorithm":null}}}"#,
        "/applications/github/idTokenAlgorithm"
      ),
      (
        "initialize", #"{"client":{"name":"a"},"capabilities":{"prompts":[null]}}"#,
        "/capabilities/prompts/0"
      ),
      ("verify", #"{"provider":"p","account":"a","expect":{"id":null}}"#, "/expect/id"),
      ("verify", #"{"provider":"p","account":"a","expect":{"clientId":null}}"#, "/expect/clientId"),
      ("verify", #"{"provider":"p","account":"a","expect":{"scopes":null}}"#, "/expect/scopes"),
      ("verify", #"{"provider":"p","account":"a","expect":{"nonce":null}}"#, "/expect/nonce"),
      ("accounts.signOut", #"{"account":"a","accuont":null}"#, "/accuont"),
    ])
  func `A null is refused for a required member, a condition, a pin and an unknown name`(
    method: String, params: String, path: String
  ) throws {
    try ConditionTests.expectInvalidParams(method, params, path)
  }

  /// Returns the paths and schemas of an optional parameter and of its members, if it is an object
  /// that has only optional ones.
  private static func optional(
    _ parameter: JSONValue, _ document: JSONValue
  ) -> [(path: [String], schema: JSONValue?)] {
    guard parameter["required"] == false, let name = parameter["name"]?.string else { return [] }
    var schema = parameter["schema"]
    schema = schema?["allOf"]?.array?.first ?? schema
    if let reference = schema?["$ref"]?.string {
      schema = document.at(pointer: String(reference.dropFirst()))
    }
    let members = schema?["required"] == nil ? schema?["properties"]?.object?.members ?? [] : []
    var found: [(path: [String], schema: JSONValue?)] = [([name], parameter["schema"])]
    for member in members { found.append(([name, member.name], member.value)) }
    return found
  }

  private static func document() throws -> JSONValue {
    let file = projectFolder.appending(path: "protocol/openrpc.json")
    return try JSONReader.read(Array(Data(contentsOf: file)))
  }

  /// Returns a value that fits a schema of the document.
  private static func sample(_ schema: JSONValue?, _ document: JSONValue) -> JSONValue {
    if let name = schema?["$ref"]?.string {
      return sample(document.at(pointer: String(name.dropFirst())), document)
    }
    if let one = (schema?["allOf"] ?? schema?["oneOf"])?.array?.first {
      return sample(one, document)
    }
    switch schema?["type"] {
    case "boolean": return false
    case "integer": return schema?["minimum"] ?? 1
    case "array": return []
    case "object":
      var object = JSONObject()
      for name in schema?["required"]?.array ?? [] {
        guard let name = name.string else { continue }
        object[name] = sample(schema?["properties"]?[name], document)
      }
      return .object(object)
    default: return schema?["const"] ?? schema?["enum"]?.array?.first ?? "x"
    }
  }
}
