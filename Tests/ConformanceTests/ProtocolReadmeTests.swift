import EinlassJSON
import Foundation
import Testing

/// protocol/README.md names exactly the methods, notifications and errors of the protocol document.
@Suite struct ProtocolReadmeTests {
  @Test func `Every method is in the page with its class`() throws {
    let described = try methods("clientToServer").filter { $0["x-testMode"] == nil }
      .map { "\($0["name"]?.string ?? "") \($0["x-class"]?.string ?? "")" }
    #expect(
      try rows(below: "## Methods").map { "\($0[0]) \($0[1])" }.sorted() == described.sorted())
  }

  @Test func `Every notification is in the page`() throws {
    let described = try methods("serverToClient").compactMap { $0["name"]?.string }
    #expect(try rows(below: "## Notifications").map { $0[0] }.sorted() == described.sorted())
  }

  /// Returns the first table below a heading, without its head and without code marks.
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

  @Test func `The page has an example of every kind of prompt, with members of the document`()
    throws
  {
    let file = projectFolder.appending(path: "protocol/openrpc.json")
    let kinds = try #require(
      JSONReader.read(Array(Data(contentsOf: file)))["components"]?["schemas"]?["Prompt"]?[
        "oneOf"]?.array)
    let page = try String(
      contentsOf: projectFolder.appending(path: "protocol/README.md"), encoding: .utf8)
    let examples = try page.split(separator: "\n").filter { $0.hasPrefix(#"{"kind": "#) }
      .map { try JSONReader.read(Array($0.utf8)) }
    #expect(examples.compactMap { $0["kind"]?.string } == kinds.compactMap { $0["title"]?.string })
    for (example, kind) in zip(examples, kinds) {
      for name in example.object?.members.map(\.name) ?? [] {
        #expect(kind["properties"]?[name] != nil, "\(kind["title"]?.text ?? "") \(name)")
      }
    }
  }

  @Test func `The page has the code of every error`() throws {
    let file = projectFolder.appending(path: "protocol/errors.json")
    let errors = try #require(JSONReader.read(Array(Data(contentsOf: file)))["errors"]?.array)
    try #require(errors.count > 25)
    let described = errors.map { "\($0["code"]?.text ?? "") \($0["reason"]?.string ?? "")" }
    #expect(try rows(below: "## Errors").map { "\($0[0]) \($0[1])" } == described)
  }
}
