import EinlassSystem
import Testing

@testable import Einlass

@Suite struct FirstOfTests {
  @Test func `Several ways begin in their order, however many threads there are`() async throws {
    for _ in 0..<5 {
      let begun = Lock<[Int]>([])
      let way = { @Sendable (name: Int) in
        { @Sendable () async -> Result<Int?, Problem> in
          // The first takes its time, so that whoever does not wait for it overtakes it.
          if name == 0 { #expect((0..<2_000_000).reduce(0, &+) > 0) }
          begun.withLock { $0.append(name) }
          await Task.yield()
          return .success(nil)
        }
      }
      await #expect(throws: Setback.self) {
        try await first(of: (0..<4).map(way), or: Problem(.cancelled, "All have ended."))
      }
      #expect(begun.withLock { $0 } == [0, 1, 2, 3])
    }
  }
}
