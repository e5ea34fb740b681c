import EinlassSystem
import Foundation
import Testing

struct DeadlineTests {
  @Test func `A deadline is over after its time, and a deadline of zero is over at once`() {
    #expect(Deadline.now.millisecondsLeft == 0)
    #expect(Deadline(milliseconds: 0).millisecondsLeft == 0)
    let deadline = Deadline(milliseconds: 60_000)
    #expect((1...60_000).contains(deadline.millisecondsLeft))
  }

  @Test(arguments: [0, 1])
  func `A thread waits for a lock until the deadline and no longer`(_ milliseconds: Int)
    async throws
  {
    let lock = Lock(1)
    let (inside, outside) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let holder = Thread.result {
      lock.withLock { _ in
        inside.signal()
        outside.wait()
      }
    }
    try await Thread.result { inside.wait() }.value
    #expect(lock.withLock(by: Deadline(milliseconds: milliseconds)) { $0 } == nil)
    let waiter = Thread.result { lock.withLock(by: Deadline(milliseconds: 60_000)) { $0 } }
    outside.signal()
    try await holder.value
    #expect(try await waiter.value == 1)
    #expect(lock.withLock(by: .now) { $0 } == 1)  // a free lock needs no time
  }

  @Test func `A read of a descriptor ends by the deadline, even if some bytes arrive`()
    async throws
  {
    for isEnded in [true, false] {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      #expect(write(ends[1], [7], 1) == 1)
      if isEnded { close(ends[1]) }
      defer { if !isEnded { close(ends[1]) } }
      let read = Result {
        try NamedDescriptor.readAndClose(
          ends[0], limitBytes: 8, by: Deadline(milliseconds: isEnded ? 60_000 : 20))
      }
      #expect((try? read.get()) == (isEnded ? [7] : nil))
    }
  }
}
