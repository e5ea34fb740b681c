import EinlassJSON
import Foundation
import Testing

/// T-59: what names somebody holds no character that breaks a line, hides, or turns the text around it.
@Suite struct IdentityFieldTests {
  /// Controls of either set, line ends, marks of direction, what has no width.
  private static let characters: [UInt32] =
    Array(0x00...0x1F) + Array(0x7F...0x9F) + [0x061C, 0xFEFF]
    + Array(0x200B...0x200F) + Array(0x2028...0x202E) + Array(0x2060...0x2069)

  /// A method, its parameters with `@` where the character goes, and which member is refused.
  private static let fields: [(method: String, params: String, path: String)] = [
    ("initialize", #"{"client":{"name":"edi@tor"}}"#, "/client/name"),
    ("accounts.add", #"{"provider":"face@book","username":"a","credential":$}"#, "/provider"),
    ("accounts.add", #"{"provider":"facebook","username":"a@b","credential":$}"#, "/username"),
    (
      "accounts.add",
      #"{"provider":"facebook","username":"a","displayName":"a@b","credential":$}"#, "/displayName"
    ),
    (
      "accounts.add", #"{"provider":"facebook","username":"a","subject":"1@","credential":$}"#,
      "/subject"
    ),
    (
      "accounts.add",
      #"{"provider":"facebook","username":"a","credential":{"type":"oauth2","token":"t","clientId":"1@"}}"#,
      "/credential/clientId"
    ),
    ("accounts.update", #"{"account":"a_@"}"#, "/account"),
    ("accounts.remove", #"{"account":"a_@"}"#, "/account"),
    (
      "access.set", #"{"provider":"facebook","state":"granted","application":"editor@"}"#,
      "/application"
    ),
    (
      "access.set", #"{"provider":"facebook","state":"granted","permissions":["email@"]}"#,
      "/permissions/0"
    ),
    ("access.reset", #"{"provider":"facebook","application":"@editor"}"#, "/application"),
    ("auth.perform", #"{"provider":"face@book"}"#, "/provider"),
    ("auth.perform", #"{"provider":"facebook","account":"a_@"}"#, "/account"),
    ("auth.cancel", #"{"flow":"f_@"}"#, "/flow"),
    ("prompt.answer", #"{"prompt":"p_@","action":"accept"}"#, "/prompt"),
    ("verify", #"{"provider":"facebook","account":"a_@"}"#, "/account"),
    (
      "credentials.sign", #"{"account":"a_@","method":"GET","url":"https://a.example"}"#,
      "/account"
    ),
  ]

  @Test func `No name holds a character that breaks, hides or turns text`() async throws {
    try await onThread {
      let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
      defer { program.terminate() }
      for field in Self.fields {
        for character in Self.characters {
          let answer = try Self.answer(of: program, field.method, field.params, character)
          let what = "\(field.method) \(field.path) U+\(String(character, radix: 16))"
          #expect(answer["error"]?["code"]?.int64 == -32602, "\(what): \(answer.text)")
          #expect(answer["error"]?["data"]?["path"]?.string == field.path, "\(what)")
        }
      }
      // The negative control: it is the character that is refused.
      let fine = try Self.answer(
        of: program, "access.set",
        #"{"provider":"facebook","state":"granted","application":"e@ditor"}"#, 0xE9)
      #expect(fine["result"] != nil)
    }
  }

  private static func answer(
    of program: SpawnedProgram, _ method: String, _ params: String, _ character: UInt32
  ) throws -> JSONValue {
    let digits = String(character, radix: 16)
    let escape = "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    let credential = #"{"type":"oauth2","token":"t","clientId":"1"}"#
    let params = params.replacing("$", with: credential).replacing("@", with: escape)
    try program.send(
      Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#.utf8) + [0x0A])
    while let line = try program.line() {
      let message = try JSONReader.read(line)
      if message["id"] != nil { return message }
    }
    throw SpawnedProgram.Failure(description: "The output ended.")
  }
}
