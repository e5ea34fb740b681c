import EinlassJSON
import Foundation
import Glibc
import Testing

@Suite struct LifecycleTests {
  /// Starts a front end with an open prompt, for a flow that waits for a person.
  private static func asking(_ options: [String] = []) throws -> FrontEnd {
    let front = try FrontEnd(["--store", "memory"] + options)
    try front.call(
      "initialize",
      [
        "client": ["name": "test"], "capabilities": ["prompts": ["grantAccess"]],
        "applications": ["facebook": ["clientId": "1"]],
      ])
    try front.call(
      "accounts.add",
      [
        "provider": "facebook", "username": "ada",
        "credential": ["type": "oauth2", "token": "token", "clientId": "2"],
      ])
    try front.send(id: "flow", "auth.perform", ["provider": "facebook"])
    _ = try front.next("prompt.opened")
    return front
  }

  @Test func `The end of input cancels a flow, closes its prompt and exits 0 within 1.5 s`()
    async throws
  {
    try await onThread {
      let rounds = try (0..<50).map { _ in
        let front = try Self.asking()
        defer { front.terminate() }
        let start = ContinuousClock.now
        try front.closeInput()
        #expect(try front.next("prompt.closed")["outcome"]?.string == "cancelled")
        let answer = try front.next()
        #expect(answer["id"]?.string == "flow")
        #expect(answer["error"]?["code"]?.int64 == -32800)
        #expect(answer["error"]?["data"]?["by"]?.string == "endOfInput")
        #expect(try front.exitCode() == 0)
        return ContinuousClock.now - start
      }
      try expectAll(rounds, within: .milliseconds(1500))
    }
  }

  @Test func `With --finish the end of input cancels nothing`() throws {
    let front = try Self.asking(["--finish"])
    defer { front.terminate() }
    try front.closeInput()
    #expect(throws: SpawnedProgram.Failure.self) { try front.next(within: 2) }
  }

  @Test func `After a flow has ended, the idle process does not wake up`() throws {
    let front = try Self.asking()
    defer { front.terminate() }
    let flow = try #require(front.call("auth.list")["flows"]?.array?.first?["flow"])
    try front.call("auth.cancel", ["flow": flow])
    // Idle threads end after five seconds, so the list of threads changes until then.
    var (before, after) = (["": ""], try front.waits())
    for _ in 0..<20 where before != after {
      Thread.sleep(forTimeInterval: 2)
      (before, after) = (after, try front.waits())
    }
    #expect(before == after)
    // Negative control: requests wake the process. The kernel counts the wake-up when the thread
    // sleeps again.
    for _ in 0..<1000 where try front.waits() == after { try front.call("accounts.list") }
    #expect(try front.waits() != after)
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
  func `A signal ends the process as the end of input does`(signal: Int32) throws {
    let front = try Self.asking()
    defer { front.terminate() }
    front.signal(signal)
    _ = try front.next("prompt.closed")
    #expect(try front.next()["error"]?["data"]?["by"]?.string == "shutdown")
    #expect(try front.exitCode() == 0)
  }

  @Test func `The death of the process that initialize named ends the process`() throws {
    let parent = try SpawnedProgram("sleep", ["60"])
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    try front.call(
      "initialize",
      ["client": ["name": "test"], "processId": JSONValue(Int64(parent.process))])
    parent.terminate()
    #expect(try front.exitCode() == 0)
  }

  @Test func `A processId that does not exist is refused, and the process goes on`() throws {
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    let answer = try front.answer(
      "initialize", ["client": ["name": "test"], "processId": 2_147_483_646])
    #expect(answer["error"]?["code"]?.int64 == -32602)
    #expect(answer["error"]?["data"]?["path"]?.string == "/processId")
    #expect(try front.call("accounts.list")["revision"]?.int64 == 0)
  }

  @Test(arguments: [false, true])
  func `A front end that stops reading ends the process with 75, and one that reads does not`(
    reads: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let options = [
      "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key",
    ]
    let front = try FrontEnd(options, reading: reads)
    defer { front.terminate() }
    try front.send(
      id: "first", "access.set", ["provider": "facebook", "state": "denied", "application": "x"])
    // With reading, nine times the capacity of the pipe and the soft limit of 1 MiB. Without
    // reading, more than the limit of the memory check below.
    let count = reads ? 1_000 : 12_000
    let writer = Thread {
      for number in 0..<count {
        // The pipe breaks when the process gives up.
        guard (try? front.send(id: "\(number)", "providers.list", [:])) != nil else { return }
      }
      try? front.closeInput()
    }
    writer.start()
    if !reads {
      // The output is full by now, but the stall limit is not reached. The memory stays small.
      Thread.sleep(forTimeInterval: 10)
      #expect(try front.peakMemory() < 32 << 20)
      // The stalled process holds no lock that another process needs.
      let other = try FrontEnd(options)
      defer { other.terminate() }
      try other.call("access.set", ["provider": "twitter", "state": "denied", "application": "x"])
    }
    #expect(try front.exitCode(within: 120) == (reads ? 0 : 75))
  }
}
