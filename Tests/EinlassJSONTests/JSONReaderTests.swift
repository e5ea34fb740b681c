import EinlassJSON
import Testing

struct JSONReaderTests {
  @Test(
    "Accepted texts are written again with the same meaning",
    arguments: [
      ("{}", "{}"), (" [ ] ", "[]"), ("\t\r\n1 ", "1"), ("-0", "-0"), ("1e400", "1e400"),
      ("1.50", "1.50"), ("9007199254740993", "9007199254740993"), ("0e1", "0e1"),
      (#"{"b":1,"a":[true,false,null]}"#, #"{"b":1,"a":[true,false,null]}"#),
      (#""a\/b\u0041\u00e4""#, #""a/bAä""#), (#""\uD83D\uDE00""#, #""😀""#),
      (#""\u0000""#, #""\u0000""#),
      ("\"\u{7f}\u{85}\u{2028}\u{2029}\u{2027}\"", #""\u007f\u0085\u2028\u2029‧""#),
      (#""\b\f\n\r\t\"\\""#, #""\b\f\n\r\t\"\\""#), ("\"ä€😀\"", "\"ä€😀\""), ("\"\"", "\"\""),
      (#"{"":0}"#, #"{"":0}"#), (#"{"K":1,"\#u{212A}":2}"#, #"{"K":1,"\#u{212A}":2}"#),
      ("{\"\u{e4}\":1,\"a\u{308}\":2}", "{\"\u{e4}\":1,\"a\u{308}\":2}"),
    ])
  func accepts(text: String, written: String) throws {
    let value = try JSONReader.read(Array(text.utf8))
    #expect(sameBytes(value.text, written))
    #expect(try JSONReader.read(value.bytes()) == value)
  }

  @Test("No character that ends a line for some reader is written unescaped")
  func controls() throws {
    for value in Array(0..<0x20) + [0x7F, 0x85, 0x2028, 0x2029] as [UInt32] {
      let scalar = try #require(Unicode.Scalar(value))
      let bytes = JSONValue.string(String(scalar)).bytes()
      #expect(bytes.allSatisfy { (0x20...0x7E).contains($0) }, "U+\(String(value, radix: 16))")
      #expect(try JSONReader.read(bytes) == .string(String(scalar)))
    }
  }

  @Test(
    "Texts outside the grammar of RFC 8259 are refused",
    arguments: [
      "", " ", "{", "}", "[1,]", "[,1]", "{\"a\":1,}", "{a:1}", "{'a':1}", "{\"a\" 1}", "{\"a\":}",
      "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "Infinity", "nul", "truex", "True",
      "1 2", "{}{}", "[1 2]", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\t\"", "\"\u{0}\"",
      #""\uD800""#, #""\uDC00""#, #""\uD800\u0041""#, #""\uD800x""#, #""\uD800\uD800""#,
      "/**/1", "1//", "\u{feff}{}", "{}\u{0}", "\u{b}1", "\u{a0}1", "--1", "[\"a\":1]",
      "{\"a\",1}",
    ])
  func refuses(text: String) throws {
    #expect {
      try JSONReader.read(Array(text.utf8))
    } throws: {
      if case .invalidJSON = $0 as? JSONReadError { true } else { false }
    }
  }

  @Test(
    "Invalid UTF-8 is refused, never replaced",
    arguments: [
      [0xFF], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
      [0xC3], [0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xE2, 0x82],
    ] as [[UInt8]])
  func invalidUTF8(bytes: [UInt8]) {
    #expect(throws: JSONReadError.invalidUTF8) { try JSONReader.read([0x22] + bytes + [0x22]) }
  }

  @Test("UTF-16 is refused, with or without a byte order mark")
  func utf16() {
    #expect(throws: JSONReadError.self) { try JSONReader.read([0x7B, 0, 0x7D, 0]) }
    #expect(throws: JSONReadError.invalidUTF8) {
      try JSONReader.read([0xFF, 0xFE, 0x7B, 0, 0x7D, 0])
    }
  }

  @Test(
    "Nesting up to the limit is read, and one level more is too deep",
    arguments: [1, 63, 64, 65, 512, 100_000])
  func depth(_ depth: Int) throws {
    for (open, middle, close) in [("[", "", "]"), ("{\"a\":", "1", "}")] {
      let opened = String(repeating: open, count: depth)
      let text = opened + middle + String(repeating: close, count: depth)
      if depth <= 64 {
        _ = try JSONReader.read(Array(text.utf8))
      } else {
        #expect(throws: JSONReadError.tooDeep) { try JSONReader.read(Array(text.utf8)) }
      }
      #expect(throws: JSONReadError.self) { try JSONReader.read(Array(opened.utf8)) }
    }
  }

  @Test(
    "A repeated member name is refused at any depth, also when it is escaped differently",
    arguments: [
      #"{"a":1,"a":1}"#, #"[{"x":{"a":1,"b":2,"a":3}}]"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":2}"#,
      "{" + (0..<40).map { "\"k\($0)\":0" }.joined(separator: ",") + ",\"k7\":1}",
    ])
  func duplicates(text: String) throws {
    #expect(throws: JSONReadError.self) { try JSONReader.read(Array(text.utf8)) }
    let document = try JSONReader.readDocument(Array(text.utf8).span)
    #expect(document.hasDuplicateKeys)
  }

  @Test("A duplicate name does not hide a later syntax error")
  func duplicateThenGarbage() {
    #expect(throws: JSONReadError.invalidJSON(offset: 12)) {
      try JSONReader.read(Array(#"{"a":1,"a":2]"#.utf8))
    }
  }

  @Test("A hundred thousand different names are no duplicates")
  func manyNames() throws {
    let text = "{" + (0..<100_000).map { "\"\($0)\":0" }.joined(separator: ",") + "}"
    #expect(try JSONReader.read(Array(text.utf8)).object?.members.count == 100_000)
  }

  @Test("A slice of a buffer is read on its own")
  func slice() throws {
    let bytes = Array("xx[1]yy".utf8)
    #expect(try JSONReader.read(bytes[2..<5]) == [1])
  }

  @Test("An object that keeps its text is written the same, also after a change")
  func keptText() throws {
    var object = try #require(try JSONReader.read(Array(#"{"a":1,"b":[{}]}"#.utf8)).object)
    object = object.keepingText()
    #expect(JSONValue.object(object).text == #"{"a":1,"b":[{}]}"#)
    object["a"] = 2
    #expect(JSONValue.object(object).text == #"{"a":2,"b":[{}]}"#)
    object = object.keepingText()
    object["b"] = nil
    #expect(JSONValue.object(object).text == #"{"a":2}"#)
    let doubled = object.keepingText().map { [$0.value, $0.value] }
    #expect(JSONValue.object(doubled).text == #"{"a":[2,2]}"#)
  }
}
