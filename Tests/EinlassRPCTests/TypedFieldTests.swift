import EinlassJSON
import Testing

@testable import EinlassRPC

struct TypedFieldTests {
  private static let name = TypedField.required("name", .identifier, "A name.")
  private static let limit = TypedField.optional("limit", .integer(1...9), "A limit.")
  private static let revoke = TypedField.optional("revoke", .boolean, default: true, "A flag.")
  private static let scopes = TypedField.optional("scopes", .identifiers(max: 2), "Scopes.")
  private static let client = TypedField.optional(
    "client", .object(fields(name)), default: [:], "A client.")

  private static let descriptor = MethodDescriptor(
    "test", .immediate, "A method.", params: fields(name, limit, revoke, scopes, client))

  @Test func `A handler reads validated parameters with their types`() throws {
    let params: JSONObject = [
      "name": "ada", "limit": 3, "revoke": false, "scopes": ["a", "b"],
      "client": ["name": "editor"],
    ]
    try Self.descriptor.validate(params, components: { _ in nil })
    #expect(params[Self.name] == "ada" && params[Self.limit] == 3 && !params[Self.revoke])
    #expect(params[Self.scopes] == ["a", "b"] && params[Self.client][Self.name] == "editor")
  }

  @Test func `An absent member is nil or the declared default`() throws {
    let params: JSONObject = ["name": "ada"]
    try Self.descriptor.validate(params, components: { _ in nil })
    #expect(params[Self.limit] == nil && params[Self.revoke] && params[Self.scopes] == nil)
  }

  @Test func `A secret member with a default value stays secret`() {
    let text = TypedField.optional(
      "text", .string(maxBytes: 9), default: "", "A text.", isSecret: true)
    #expect(text.field.isSecret && !text.field.isRequired)
  }

  @Test(arguments: [["name": 1], ["name": "ada", "limit": "3"], [:]] as [JSONObject])
  func `The validation refuses parameters that a field cannot read`(_ params: JSONObject) {
    #expect(throws: RPCError.self) {
      try Self.descriptor.validate(params, components: { _ in nil })
    }
  }

  @Test func `Parameters that were not validated are read without a crash`() {
    let params: JSONObject = ["name": 1, "limit": "3", "client": []]
    #expect(params[Self.name].isEmpty && params[Self.limit] == nil)
    #expect(params[Self.client].members.isEmpty)
  }
}
