import EinlassJSON
import Foundation
import Testing

/// The reader against JSONTestSuite: `y_` is accepted, `n_` is refused, and `i_` is as the tables
/// below say.
struct JSONTestSuiteTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Vectors/JSONTestSuite")

  /// The file names without `.json`.
  private static func files(_ folder: String, _ prefix: String = "") -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(
      atPath: Self.folder.appending(path: folder).path)
    return (names ?? []).filter { $0.hasPrefix(prefix) }.map { String($0.dropLast(5)) }.sorted()
  }

  private static func outcome(_ folder: String, _ name: String) throws -> String {
    let file = Self.folder.appending(path: "\(folder)/\(name).json")
    let bytes = try Array(Data(contentsOf: file))
    do throws(JSONReadError) {
      let value = try JSONReader.read(bytes)
      #expect(try JSONReader.read(value.bytes()) == value)
      return value.text
    } catch {
      return switch error {
      case .invalidUTF8: "invalidUTF8"
      case .invalidJSON: "invalidJSON"
      case .tooDeep: "tooDeep"
      case .duplicateKey: "duplicateKey"
      }
    }
  }

  private static let refusals = ["invalidUTF8", "invalidJSON", "tooDeep", "duplicateKey"]

  @Test("The whole suite is present")
  func count() {
    #expect(Self.files("test_parsing").count == 318)
    #expect(Self.files("test_transform").count == 22)
  }

  @Test("Texts that every reader must accept are accepted, except duplicate names")
  func accepted() throws {
    let names = Self.files("test_parsing", "y_")
    #expect(names.count == 95)
    for name in names {
      let outcome = try Self.outcome("test_parsing", name)
      let isDuplicate = ["y_object_duplicated_key", "y_object_duplicated_key_and_value"]
        .contains(name)
      #expect(Self.refusals.contains(outcome) == isDuplicate, "\(name)")
      if isDuplicate { #expect(outcome == "duplicateKey", "\(name)") }
    }
  }

  @Test("Texts that every reader must refuse are refused")
  func refused() throws {
    let names = Self.files("test_parsing", "n_")
    #expect(names.count == 188)
    for name in names {
      let outcome = try Self.outcome("test_parsing", name)
      #expect(Self.refusals.contains(outcome) && outcome != "duplicateKey", "\(name): \(outcome)")
    }
  }

  @Test(
    "Where readers may decide, numbers of any size are accepted and lone surrogates refused")
  func decided() throws {
    let names = Self.files("test_parsing", "i_")
    #expect(names.count == 35)
    for name in names {
      let expected: [String] =
        switch name {
        case "i_structure_500_nested_arrays": ["tooDeep"]
        // Only LineFramer removes a byte order mark, at the start of the stream.
        case "i_structure_UTF-8_BOM_empty_object": ["invalidJSON"]
        case _ where name.hasPrefix("i_number"): []
        default: ["invalidJSON", "invalidUTF8"]
        }
      let outcome = try Self.outcome("test_parsing", name)
      let isAsExpected =
        expected.isEmpty ? !Self.refusals.contains(outcome) : expected.contains(outcome)
      #expect(isAsExpected, "\(name): \(outcome)")
    }
  }

  @Test(
    "Values that other readers change are kept or refused, never changed",
    arguments: [
      ("number_-9223372036854775808", "[-9223372036854775808]"),
      ("number_-9223372036854775809", "[-9223372036854775809]"),
      ("number_1.0", "[1.0]"), ("number_1.000000000000000005", "[1.000000000000000005]"),
      ("number_1000000000000000", "[1000000000000000]"),
      ("number_10000000000000000999", "[10000000000000000999]"),
      ("number_1e-999", "[1E-999]"), ("number_1e6", "[1E6]"),
      ("number_9223372036854775807", "[9223372036854775807]"),
      ("number_9223372036854775808", "[9223372036854775808]"),
      ("object_key_nfc_nfd", "{\"\u{e9}\":\"NFC\",\"e\u{301}\":\"NFD\"}"),
      ("object_key_nfd_nfc", "{\"e\u{301}\":\"NFD\",\"\u{e9}\":\"NFC\"}"),
      ("object_same_key_different_values", "duplicateKey"),
      ("object_same_key_same_value", "duplicateKey"),
      ("object_same_key_unclear_values", "duplicateKey"),
      ("string_1_escaped_invalid_codepoint", "invalidJSON"),
      ("string_1_invalid_codepoint", "invalidUTF8"),
      ("string_2_escaped_invalid_codepoints", "invalidJSON"),
      ("string_2_invalid_codepoints", "invalidUTF8"),
      ("string_3_escaped_invalid_codepoints", "invalidJSON"),
      ("string_3_invalid_codepoints", "invalidUTF8"),
      ("string_with_escaped_NULL", #"["A\u0000B"]"#),
    ])
  func transform(name: String, expected: String) throws {
    let outcome = try Self.outcome("test_transform", name)
    #expect(sameBytes(outcome, expected), "\(outcome)")
  }
}
