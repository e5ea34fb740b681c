import EinlassJSON
import Testing

@Suite struct MatcherTests {
  @Test(arguments: [
    (#"{"a":1}"#, #"{"a":1}"#),
    (#"{"a":1,"b":"$any"}"#, #"{"b":[],"a":1}"#),
    (#"{"a":"$string"}"#, #"{"a":"text"}"#),
    (#"{"error":{"code":1,"message":"…"}}"#, #"{"error":{"code":1,"message":"Another."}}"#),
    (#"[1,"$any"]"#, #"[1,null]"#),
    (#"{"a":"$ref:ada","b":"/u/$ref:ada/x"}"#, #"{"a":"a_7","b":"/u/a_7/x"}"#),
  ])
  func `Values that the rules allow match`(expected: String, actual: String) throws {
    #expect(try difference(expected, actual) == nil)
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"a":2}"#),
    (#"{"a":1}"#, #"{"a":1,"b":2}"#),
    (#"{"a":1,"b":"$any"}"#, #"{"a":1}"#),
    (#"{"a":"$string"}"#, #"{"a":7}"#),
    (#"{"error":{"message":"…"}}"#, #"{"error":{"message":""}}"#),
    (#"{"error":{"message":"…"}}"#, #"{"error":{}}"#),
    (#"{"result":{"message":"a"}}"#, #"{"result":{"message":"b"}}"#),
    (#"[1,2]"#, #"[2,1]"#),
    (#"[1]"#, #"[1,2]"#),
    (#"{"a":"$ref:ada"}"#, #"{"a":"a_8"}"#),
    (#"{"a":"1"}"#, #"{"a":1}"#),
    (#"{"a":"é"}"#, "{\"a\":\"e\u{301}\"}"),
  ])
  func `Values that differ are found`(expected: String, actual: String) throws {
    #expect(try difference(expected, actual) != nil)
  }

  @Test func `A captured value can be referred to`() {
    var matcher = Matcher()
    #expect(matcher.difference(expected: "$capture:p", actual: "p_1") == nil)
    #expect(matcher.resolved(["prompt": "$ref:p"]) == ["prompt": "p_1"])
  }

  private func difference(_ expected: String, _ actual: String) throws -> String? {
    var matcher = Matcher()
    matcher.capture("ada", "a_7")
    return matcher.difference(expected: try json(expected), actual: try json(actual))
  }

  private func json(_ text: String) throws -> JSONValue {
    try JSONReader.read(Array(text.utf8))
  }
}
