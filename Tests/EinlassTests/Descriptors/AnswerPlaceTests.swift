import EinlassJSON
import Testing

@testable import Einlass

/// The words for the places and codes in a provider's answers.
struct AnswerPlaceTests {
  private static func reader(_ json: String) throws -> DescriptorReader {
    let value = try JSONReader.read(Array("{\"word\":\(json)}".utf8))
    return try DescriptorReader(value, at: "", provider: "example", members: ["word"])
  }

  @Test(
    "The fault of an answer without an identity names the place, and no value",
    arguments: [
      ("", #"{}"#, "lacks the text /me/key"), ("", #"{"me":{"key":[]}}"#, "lacks the text /me/key"),
      ("", #"{"me":{"key":71}}"#, "is invalid: /me/key is a number, and numericId is not set"),
      (#","numericId":true"#, #"{"me":{"key":"71"}}"#, "lacks the whole number /me/key"),
      (
        #","idPrefix":"/u/""#, #"{"me":{"key":"71"}}"#,
        "is invalid: /me/key does not begin with idPrefix"
      ),
      (
        #","name":"/name","required":["id","name"]"#, #"{"me":{"key":"71"},"name":3}"#,
        "lacks the text /name"
      ),
      ("", #"{"me":{"key":""}}"#, nil),
    ] as [(String, String, String?)])
  func faults(words: String, answer: String, fault: String?) throws {
    let identity = try IdentityDescriptor(
      "word", in: Self.reader(#"{"id":"/me/key"\#(words)}"#))
    let answer = try JSONReader.read(Array(answer.utf8))
    #expect(identity.identity(in: answer) == nil && identity.fault(in: answer) == fault)
    #expect(identity.required.first == .id)
  }

  @Test(
    "A code of a rule matches the same number and the same text",
    arguments: [
      (#"["4003"]"#, "4003", true), ("[4003]", #""4003""#, false), ("[4003]", "4003", true),
      (#"["4003"]"#, "4004", false), (#"["4003"]"#, "4003.0", false),
    ])
  func codes(codes: String, answered: String, matches: Bool) throws {
    let rule = try ErrorRule(
      JSONReader.read(Array(#"{"outcome":"relogin","codes":\#(codes)}"#.utf8)), at: "",
      provider: "example")
    let shape = try ErrorShape(["code": "/code"], at: "", provider: "example")
    let body = Array(#"{"code":\#(answered)}"#.utf8)
    let text = shape.errorText(json: try JSONReader.read(body), body: body)
    let response = HTTPResponse(status: 400, body: body)
    #expect(rule.matches(response, text, at: .token) == matches)
  }

  @Test func `Permissions need neither defaults nor a separator`() throws {
    #expect(try PermissionsDescriptor("word", in: Self.reader("{}")) == PermissionsDescriptor.none)
  }
}
