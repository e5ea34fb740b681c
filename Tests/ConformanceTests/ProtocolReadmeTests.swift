import EinlassJSON
import Foundation
import Testing

/// The page that explains the protocol names what the document describes, no more and no less.
@Suite struct ProtocolReadmeTests {
  @Test func `every method stands in the page with its class`() throws {
    let described = try methods("clientToServer").filter { $0["x-testMode"] == nil }
      .map { "\($0["name"]?.string ?? "") \($0["x-class"]?.string ?? "")" }
    #expect(
      try rows(below: "## Methods").map { "\($0[0]) \($0[1])" }.sorted() == described.sorted())
  }

  @Test func `every notification stands in the page`() throws {
    let described = try methods("serverToClient").compactMap { $0["name"]?.string }
    #expect(try rows(below: "## Notifications").map { $0[0] }.sorted() == described.sorted())
  }

  /// The first table below a heading, without its head; code marks are taken off.
  private func rows(below heading: String) throws -> [[String]] {
    let page = String(
      decoding: try Data(contentsOf: projectFolder.appending(path: "protocol/README.md")),
      as: UTF8.self)
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0 == heading })
    return lines[start...].drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
      .map { line in
        line.split(separator: "|").map {
          $0.trimmingCharacters(in: .whitespaces).replacing("`", with: "")
        }
      }
  }

  private func methods(_ direction: String) throws -> [JSONValue] {
    let file = projectFolder.appending(path: "protocol/openrpc.json")
    let document = try JSONReader.read(Array(Data(contentsOf: file)))
    return try #require(document["methods"]?.array)
      .filter { $0["x-direction"]?.string == direction }
  }

  @Test func `Every file that the README links to is there`() throws {
    let text = try String(contentsOf: projectFolder.appending(path: "README.md"), encoding: .utf8)
    let names = text.matches(of: /\]\(([^)#:]+)\)/).map { String($0.1) }
    // The promises alone link to more.
    #expect(names.count > 20)
    for name in names {
      let path = projectFolder.appending(path: name).path
      #expect(FileManager.default.fileExists(atPath: path), "\(name)")
    }
  }
}
