import EinlassJSON
import Foundation
import Testing

/// Identifiers and names contain no character that breaks a line, is invisible or changes the text
/// direction. Paths and addresses contain no NUL.
@Suite struct IdentityFieldTests {
  /// Control characters, line separators, bidirectional controls and zero-width characters.
  private static let characters: [UInt32] =
    Array(0x00...0x1F) + Array(0x7F...0x9F) + [0x061C, 0xFEFF]
    + Array(0x200B...0x200F) + Array(0x2028...0x202E) + Array(0x2060...0x2069)

  /// Names for people may contain joiners, because some scripts need them. No look-up uses these
  /// names.
  private static let names = ["/client/title", "/descriptor/name", "/displayName", "/name"]
  private static let joiners: [UInt32] = [0x200C, 0x200D]

  /// A method, its parameters with `@` as the place of the character, and the refused member. The
  /// identifiers of the protocol document are added below.
  private static let fields: [(method: String, params: String, path: String)] = [
    ("initialize", #"{"client":{"name":"editor","title":"Edi@tor"}}"#, "/client/title"),
    (
      "initialize", #"{"client":{"name":"editor"},"applications":{"facebook":{"clientId":"1@"}}}"#,
      "/applications/facebook/clientId"
    ),
    ("providers.configure", #"{"provider":"facebook","clientId":"1@"}"#, "/clientId"),
    ("providers.add", #"{"descriptor":{"id":"a@b","name":"A"}}"#, "/descriptor/id"),
    (
      "providers.add",
      #"{"descriptor":{"id":"a","name":"A@","like":"mastodon","origins":{"https://mastodon.social":"https://a.example"}}}"#,
      "/descriptor/name"
    ),
    ("providers.add", #"{"issuer":"https://exam@ple.org"}"#, "/issuer"),
    ("accounts.signIn", #"{"resource":"https://exam@ple.org"}"#, "/resource"),
    ("accounts.add", #"{"provider":"facebook","username":"a@b","credential":$}"#, "/username"),
    (
      "accounts.add",
      #"{"provider":"facebook","username":"a","displayName":"a@b","credential":$}"#, "/displayName"
    ),
    (
      "accounts.add",
      #"{"provider":"facebook","username":"a","credential":{"type":"oauth2","token":"t","clientId":"1@"}}"#,
      "/credential/clientId"
    ),
  ]

  /// Returns every parameter with the schema of an identifier in the protocol document, also in
  /// objects, lists and keys of maps.
  private static func identifiers() throws -> [(method: String, params: String, path: String)] {
    let file = projectFolder.appending(path: "protocol/openrpc.json")
    let document = try JSONReader.read(Array(Data(contentsOf: file)))
    var found: [(method: String, params: String, path: String)] = []
    for method in document["methods"]?.array ?? []
    where method["x-direction"]?.string == "clientToServer" {
      guard let name = method["name"]?.string, let params = method["params"]?.array else {
        continue
      }
      let required = params.filter { $0["required"]?.bool == true }
      for param in params {
        guard let member = param["name"]?.string, let schema = param["schema"] else { continue }
        for (value, path) in marked(schema, document) {
          // The other required parameters follow, because the error names the first invalid one.
          let others = required.filter { $0["name"] != param["name"] }.map { other in
            (other["name"]?.string ?? "", plain(other["schema"] ?? [:]))
          }
          let members = JSONObject([(member, value)] + others)
          found.append((name, JSONValue.object(members).text, "/\(member)\(path)"))
        }
      }
    }
    return found
  }

  /// Returns the values of a schema with `@` in one identifier each, and the identifier's path.
  private static func marked(
    _ schema: JSONValue, _ document: JSONValue
  ) -> [(value: JSONValue, path: String)] {
    if let whole = schema["allOf"]?.array?.first { return marked(whole, document) }
    if let name = schema["$ref"]?.string {
      if name.hasSuffix("/Identifier") || name.hasSuffix("/Name") { return [("a@b", "")] }
      return document.at(pointer: String(name.dropFirst())).map { marked($0, document) } ?? []
    }
    if let items = schema["items"] {
      return marked(items, document).map { (.array([$0.value]), "/0\($0.path)") }
    }
    if let shapes = schema["oneOf"]?.array { return shapes.flatMap { marked($0, document) } }
    var found: [(value: JSONValue, path: String)] = []
    if let value = schema["additionalProperties"] {
      found.append((["a@b": plain(value)], "/a@b"))
      found += marked(value, document).map { (["x": $0.value], "/x\($0.path)") }
    }
    let members = schema["properties"]?.object?.members ?? []
    let required = schema["required"]?.array?.compactMap(\.string) ?? []
    for member in members {
      let others = members.filter { required.contains($0.name) && $0.name != member.name }
      for (value, path) in marked(member.value, document) {
        found.append(
          (
            .object(
              JSONObject([(member.name, value)] + others.map { ($0.name, plain($0.value)) })),
            "/\(member.name)\(path)"
          ))
      }
    }
    return found
  }

  /// Returns a valid value of the schema.
  private static func plain(_ schema: JSONValue) -> JSONValue {
    if let word = schema["const"] ?? schema["enum"]?.array?.first { return word }
    if let shape = schema["oneOf"]?.array?.first { return plain(shape) }
    switch schema["type"]?.string {
    case "object":
      let required = schema["required"]?.array?.compactMap(\.string) ?? []
      let members = (schema["properties"]?.object?.members ?? []).filter {
        required.contains($0.name)
      }
      return .object(JSONObject(members.map { ($0.name, plain($0.value)) }))
    case "array": return []
    case "integer": return schema["minimum"] ?? 1
    case "boolean": return true
    default: return "x"
    }
  }

  @Test(arguments: Pieces.allCases)
  func `An identifier or name with an invisible or control character is refused`(pieces: Pieces)
    async throws
  {
    let fields = try Self.identifiers() + Self.fields
    #expect(fields.count > 60)
    try await onThread {
      let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
      defer { program.terminate() }
      // All characters in one piece, and some of them in smaller pieces.
      let characters =
        pieces == .whole ? Self.characters : [0x00, 0x0A, 0x0D, 0x85, 0x2028, 0x202E]
      for field in fields {
        for character in characters
        where !(Self.names.contains(field.path) && Self.joiners.contains(character)) {
          let answer = try Self.answer(of: program, field.method, field.params, character, pieces)
          let what = "\(field.method) \(field.path) U+\(String(character, radix: 16))"
          let text = Unicode.Scalar(character).map { String(Character($0)) } ?? ""
          let path = field.path.replacing("@", with: text)
          let error = answer["error"]
          // 1028 is the error for an invalid address.
          #expect([-32602, 1028].contains(error?["code"]?.int64), "\(what): \(answer.text)")
          #expect(error?["data"]?["path"]?.string == path, "\(what): \(answer.text)")
        }
      }
      // Negative control: another character is accepted.
      let fine = try Self.answer(
        of: program, "access.set",
        #"{"provider":"facebook","state":"granted","application":"e@ditor"}"#, 0xE9, pieces)
      #expect(fine["result"] != nil)
    }
  }

  @Test func `A name for people may contain the joiners of its script`() async throws {
    try await onThread {
      let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
      defer { program.terminate() }
      for joiner in Self.joiners {
        let added = try Self.answer(
          of: program, "accounts.add",
          #"{"provider":"github","username":"u\#(joiner)","displayName":"علی@رضا","credential":$}"#,
          joiner)
        #expect(added["error"] == nil, "\(added.text)")
      }
      let list = try Self.answer(of: program, "accounts.list", "{}", 0)
      let shown = list["result"]?["accounts"]?.array?.compactMap { $0["displayName"]?.string }
      #expect(Set(shown ?? []) == ["علی\u{200C}رضا", "علی\u{200D}رضا"])
      // A name of joiners alone is empty to the eye.
      let blank = try Self.answer(
        of: program, "accounts.add",
        #"{"provider":"github","username":"u","displayName":"@@","credential":$}"#, 0x200D)
      #expect(blank["error"]?["code"] == -32602)
    }
  }

  @Test func `A path with NUL is refused, because the system would cut it off there`() async throws
  {
    try await onThread {
      let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
      defer { program.terminate() }
      for method in ["accounts.export", "accounts.import", "store.backup"] {
        let refused = try Self.answer(of: program, method, #"{"path":"/nowhere/a@b"}"#, 0)
        #expect(refused["error"]?["code"]?.int64 == -32602)
        #expect(refused["error"]?["data"]?["path"]?.string == "/path")
        // Negative control: any other character may be in a path.
        let other = try Self.answer(of: program, method, #"{"path":"/nowhere/a@b"}"#, 0xE9)
        #expect(other["error"]?["code"]?.int64 == 1009, "\(other.text)")
      }
    }
  }

  private static func answer(
    of program: SpawnedProgram, _ method: String, _ params: String, _ character: UInt32,
    _ pieces: Pieces = .whole
  ) throws -> JSONValue {
    let digits = String(character, radix: 16)
    let escape = "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    let credential = #"{"type":"oauth2","token":"t","clientId":"1"}"#
    let params = params.replacing("$", with: credential).replacing("@", with: escape)
    try program.send(
      Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#.utf8) + [0x0A],
      in: pieces)
    while let line = try program.line() {
      let message = try JSONReader.read(line)
      if message["id"] != nil { return message }
    }
    throw SpawnedProgram.Failure(description: "The output ended.")
  }
}
