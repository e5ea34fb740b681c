import Einlass
import EinlassJSON
import EinlassRPC
import EinlassSystem
import Testing

@testable import EinlassServer

@Suite struct PagesTests {
  @Test func `An entry that is too long for a line is left out of a list, and the log names it`()
    throws
  {
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

  @Test(arguments: [0, 1, 7, 99, 100, 101, 102, 250, 950], [nil, 1, 7, 100, 101, 1000])
  func `Every entry of a store that is read piece by piece is on exactly one page`(
    count: Int, limit: Int64?
  ) throws {
    var found: [Int] = []
    var start = 0
    while true {
      let page = try Pages.page(
        "things", limit: limit, log: .silent, cursor: { String($0) },
        encode: { .string(String(repeating: "x", count: 300) + String($0)) },
        piece: { (last: Int?, most) throws(Problem) in
          Array(((last ?? start) + 1..<max(count, last ?? start) + 1).prefix(most))
        })
      found += (page["things"]?.array ?? []).compactMap { Int($0.string?.dropFirst(300) ?? "") }
      guard let cursor = page["nextCursor"]?.string.flatMap({ Int($0) }) else { break }
      #expect(cursor == found.last && cursor < count)
      start = cursor
    }
    #expect(found == Array(1..<count + 1))
  }
}
