import EinlassSystem
import Testing

@testable import Einlass

@Suite struct FirstOfTests {
  @Test func `Concurrent operations start in their order with any number of threads`() async throws
  {
    for _ in 0..<5 {
      let begun = Lock<[Int]>([])
      let way = { @Sendable (name: Int) in
        { @Sendable () async -> Result<Int?, Problem> in
          // The first one is slow, so that an unordered start would let the others overtake it.
          if name == 0 { #expect((0..<2_000_000).reduce(0, &+) > 0) }
          begun.withLock { $0.append(name) }
          await Task.yield()
          return .success(nil)
        }
      }
      await #expect(throws: FlowFailure.self) {
        try await first(of: (0..<4).map(way), or: Problem(.cancelled, "All have ended."))
      }
      #expect(begun.withLock { $0 } == [0, 1, 2, 3])
    }
  }
}
