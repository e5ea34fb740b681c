import EinlassJSON
import Testing

struct JSONFileTests {
  @Test(
    arguments: [
      ("{}", nil), ("\u{feff}{}", nil), ("{\r\n}\r\n", nil),
      ("", "is empty"), (" \n", "is empty"), ("\u{feff}", "is empty"),
      ("\u{feff}\u{feff}{}", "is not JSON at line 1, column 1"),
      ("{\n  // a\n  \"a\": 1}", "is not JSON at line 2, column 3"),
      ("{\"a\": 1,\n}", "is not JSON at line 2, column 1"),
      ("\u{feff}{\"é\" 1}", "is not JSON at line 1, column 6"),
      ("{", "is not JSON at line 1, column 2"), ("{}\n{}", "is not JSON at line 2, column 1"),
      (#"{"a":1,"a":2}"#, #"has the name "a" twice"#),
      (#"{"\n":1,"\n":2}"#, #"has the name "\n" twice"#),
      (String(repeating: "[", count: 65), "is nested too deeply"),
    ] as [(String, String?)])
  func `A file is read, or the place of its fault is named`(text: String, fault: String?) {
    #expect(Self.fault(Array(text.utf8)) == fault)
  }

  @Test func `Another encoding than UTF-8 is named`() {
    #expect(Self.fault([0xFF, 0xFE, 0x7B, 0, 0x7D, 0]) == "is UTF-16 and not UTF-8")
    #expect(Self.fault([0xFE, 0xFF, 0, 0x7B, 0, 0x7D]) == "is UTF-16 and not UTF-8")
    #expect(Self.fault([0x22, 0xE9, 0x22]) == "is not UTF-8")
  }

  private static func fault(_ bytes: [UInt8]) -> String? {
    do throws(JSONFile.Fault) {
      _ = try JSONFile.read(bytes)
      return nil
    } catch { return error.explanation }
  }
}
