import EinlassJSON
import Testing

@Suite("JSON for files")
struct JSONLinesTests {
  @Test("A value with its name, indentation and comma fits into 100 characters, or is broken")
  func width() {
    func member(_ count: Int) -> JSONValue {
      ["name": [.string(String(repeating: "x", count: count))], "other": .string(long)]
    }
    #expect(member(85).lines.split(separator: "\n")[1].utf8.count == 100)
    #expect(member(86).lines.split(separator: "\n")[1] == #"  "name": ["#)
  }

  private let long = String(repeating: "x", count: 97)

  @Test("A longer value is broken after each element")
  func breaks() {
    let text = long
    #expect(JSONValue.array([.string(text)]).lines == "[\n  \"\(text)\"\n]\n")
    let value: JSONValue = ["a": ["b": 1, "c": []], "d": .string(text), "e": [:]]
    #expect(
      value.lines == """
        {
          "a": {"b": 1, "c": []},
          "d": "\(text)",
          "e": {}
        }

        """)
  }

  @Test("Characters outside of ASCII are escaped, and the value stays the same")
  func escapes() throws {
    let value: JSONValue = ["ä": "\u{200B}\u{2028}🙂\"\\\n"]
    #expect(value.lines == #"{"\u00e4": "\u200b\u2028\ud83d\ude42\"\\\n"}"# + "\n")
    #expect(try JSONReader.read(Array(value.lines.utf8.dropLast())) == value)
  }
}
