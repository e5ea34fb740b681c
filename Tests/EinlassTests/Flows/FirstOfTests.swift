import EinlassSystem
import Testing

@testable import Einlass

@Suite struct FirstOfTests {
  @Test func `Several ways begin in their order, however many threads there are`() async throws {
    for _ in 0..<200 {
      let begun = Lock<[Int]>([])
      let way = { @Sendable (name: Int) in
        { @Sendable () async -> Result<Int?, Problem> in
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
