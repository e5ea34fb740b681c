import EinlassJSON
import EinlassRPC
import EinlassSystem
import Testing

@testable import EinlassServer

@Suite struct PagesTests {
  @Test func `What fits no line is left out of a list, and the log names it`() throws {
    let written = try Descriptor.memory()
    let log = Log(.warning, to: try Descriptor.duplicate(written.number)) { 0 }
    let entries = [("one", 10), ("two", Pages.limitBytes), ("three", 10)]
    let page = Pages.page(
      "things", entries, limit: nil, log: log, cursor: \.0,
      encode: { .string(String(repeating: "x", count: $0.1)) })
    #expect(page["things"]?.array?.count == 2)
    #expect(page["nextCursor"] == nil)
    let lines = String(decoding: written.contents(), as: UTF8.self)
    #expect(lines.hasSuffix("left out: two\n"))
  }
}
