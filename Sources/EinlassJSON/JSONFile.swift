/// Reads the JSON files that a person writes.
public enum JSONFile {
  /// The reason why a file is no JSON text.
  public struct Fault: Error, Equatable {
    /// The end of a sentence that begins with the name of the file, without its full stop.
    public var explanation: String

    public init(explanation: String) { self.explanation = explanation }
  }

  /// Returns the value. One byte order mark is skipped, because some editors write it (RFC 8259
  /// section 8.1).
  public static func read(_ bytes: [UInt8]) throws(Fault) -> JSONValue {
    guard !bytes.starts(with: [0xFF, 0xFE]), !bytes.starts(with: [0xFE, 0xFF]) else {
      throw Fault(explanation: "is UTF-16 and not UTF-8")
    }
    let text = bytes[(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)...]
    guard !text.allSatisfy({ " \t\r\n".utf8.contains($0) }) else {
      throw Fault(explanation: "is empty")
    }
    do throws(JSONReadError) { return try JSONReader.read(text) } catch {
      throw Fault(explanation: explanation(of: error, in: text))
    }
  }

  private static func explanation(
    of error: JSONReadError, in text: ArraySlice<UInt8>
  ) -> String {
    switch error {
    case .invalidUTF8: return "is not UTF-8"
    case .tooDeep: return "is nested too deeply"
    case .duplicateKey(let name): return "has the name \(JSONValue.string(name).text) twice"
    case .invalidJSON(let offset):
      let lines = text.prefix(offset).split(
        separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      // A character has one byte that does not continue another one.
      let column = (lines.last ?? []).count { $0 & 0xC0 != 0x80 } + 1
      return "is not JSON at line \(lines.count), column \(column)"
    }
  }
}
