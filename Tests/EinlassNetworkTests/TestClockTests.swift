import Einlass
import EinlassNetwork
import Testing

@Suite struct TestClockTests {
  private func outcome(_ wait: () async throws(Problem) -> Void) async -> Problem? {
    do throws(Problem) { try await wait() } catch { return error }
    return nil
  }

  /// Lets other tasks run until this many are asleep.
  private func waitForSleepers(_ count: Int, on clock: TestClock) async {
    while clock.sleeperCount != count { await Task.yield() }
  }

  @Test func `The clock's time changes only when the clock is advanced, and never goes back`() {
    let clock = TestClock(startingAt: 1_000)
    #expect(clock.now == 1_000)
    clock.advance(.milliseconds(1500))
    #expect(clock.now == 1_001)
    clock.advance(.milliseconds(500))
    #expect(clock.now == 1_002)
    clock.advance(.seconds(-5))
    #expect(clock.now == 1_002)
  }

  @Test func `Sleeping tasks wake when their time has come, and not before`() async throws {
    let clock = TestClock(startingAt: 0)
    let effects = LiveEffects.make(clock: clock)
    let short = Task { try await effects.sleepUntil(5) }
    let long = Task { try await effects.sleepUntil(60) }
    await waitForSleepers(2, on: clock)
    clock.advance(.seconds(4))
    #expect(clock.sleeperCount == 2)
    clock.advance(.seconds(1))
    try await short.value
    #expect(clock.sleeperCount == 1)
    clock.advance(.seconds(3600))
    try await long.value
    #expect(effects.now() == 3605)
  }

  @Test func `Sleeping until the present or the past returns at once`() async throws {
    let clock = TestClock(startingAt: 100)
    try await clock.sleep(until: 100)
    clock.advance(.seconds(60))
    try await clock.sleep(until: 130)
  }

  @Test func `A cancelled task stops sleeping, or does not begin to`() async {
    let clock = TestClock(startingAt: 0)
    let task = Task { await outcome { () throws(Problem) in try await clock.sleep(until: 5) } }
    await waitForSleepers(1, on: clock)
    task.cancel()
    #expect(await task.value?.reason == .cancelled)
    #expect(clock.sleeperCount == 0)
    let second = Task {
      while !Task.isCancelled { await Task.yield() }
      return await outcome { () throws(Problem) in try await clock.sleep(until: 5) }
    }
    second.cancel()
    #expect(await second.value?.reason == .cancelled)
  }

  @Test func `A cancelled task does not sleep by the real clock either`() async {
    let effects = LiveEffects.make()
    let task = Task {
      await outcome { () throws(Problem) in try await effects.sleepUntil(effects.now() + 3600) }
    }
    task.cancel()
    #expect(await task.value?.reason == .cancelled)
  }

  @Test func `The live effects use the real clock and the real random generator`() {
    let effects = LiveEffects.make()
    #expect(effects.now() > 1_700_000_000)
    #expect(effects.randomBytes(16).count == 16)
    #expect(effects.randomBytes(16) != effects.randomBytes(16))
  }
}
