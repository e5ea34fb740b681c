import EinlassSystem
import Foundation
import Testing

@Suite struct SleepThreadTests {
  @Test func `Sleeping tasks wake when their time has come, and not before`() async throws {
    let thread = try SleepThread(name: "test-sleep")
    let woken = Lock<[Int]>([])
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for milliseconds in [300, 0, 150] {
        group.addTask {
          let isOver = try await thread.sleep(until: Deadline(milliseconds: milliseconds))
          #expect(isOver)
          #expect(ContinuousClock.now - start >= .milliseconds(milliseconds - 2))
          woken.withLock { $0.append(milliseconds) }
        }
      }
      try await group.waitForAll()
    }
    #expect(woken.withLock { $0.count } == 3)
    // The thread has ended, so this starts another.
    #expect(try await thread.sleep(until: Deadline(milliseconds: 1)))
  }

  @Test func `A cancelled task stops sleeping at once, whenever it was cancelled`() async throws {
    let thread = try SleepThread(name: "test-sleep")
    let tasks = (0..<200).map { number in
      (number, Task { try await thread.sleep(until: Deadline(milliseconds: 3_600_000)) })
    }
    for (number, task) in tasks {
      for _ in 0..<number % 5 { await Task.yield() }
      task.cancel()
    }
    for (_, task) in tasks { #expect(try await !task.value) }
    // Negative control: a task that nobody cancels.
    #expect(try await thread.sleep(until: Deadline(milliseconds: 1)))
  }
}
