import EinlassSystem
import Foundation
import Testing

struct ChildProcessTests {
  private func shell(_ script: String, keeping kept: [Int32] = []) throws -> ChildProcess {
    try ChildProcess("/bin/sh", ["-c", script], keeping: kept)
  }

  private func output(of child: ChildProcess) -> String {
    String(decoding: child.output.readAll(limitBytes: 1 << 20) ?? [], as: UTF8.self)
  }

  @Test("A child process echoes its input, and its exit code can be read more than once")
  func conversation() throws {
    let child = try shell("cat; exit 7")
    #expect(child.write(Array("hello".utf8)))
    child.closeInput()
    #expect(!child.write([0]))
    #expect(output(of: child) == "hello")
    #expect(child.exitCode() == 7)
    #expect(child.exitCode() == 7)
  }

  @Test("A running child process has no exit code, and a killed one reports the signal")
  func killed() throws {
    let child = try shell("exec sleep 1000")
    #expect(child.exitCode(within: .now) == nil)
    child.signal(SIGTERM)
    #expect(child.exitCode(within: Deadline(milliseconds: 60_000)) == 128 + SIGTERM)
  }

  @Test("A child process inherits only the named descriptors")
  func descriptors() throws {
    let kept = try Descriptor.memory(holding: Array("kept".utf8))
    let other = try Descriptor.memory(holding: Array("other".utf8))
    let child = try shell(
      "cat /proc/self/fd/\(kept.number); test -e /proc/self/fd/\(other.number) || echo ' alone'",
      keeping: [kept.number])
    #expect(output(of: child) == "kept alone\n")
  }

  @Test("A child process ignores and blocks no signals, even if its parent does")
  func signals() throws {
    signal(SIGPIPE, SIG_IGN)
    let child = try shell("grep -E 'Sig(Blk|Ign)' /proc/self/status")
    let lines = output(of: child).split(separator: "\n")
    // Signals 32 and 33 are left out because the C library uses them itself.
    let masks = lines.compactMap { UInt64($0.split(separator: "\t").last ?? "", radix: 16) }
    #expect(masks.map { $0 & 0x7FFF_FFFF } == [0, 0], "\(lines)")
  }

  @Test("A child process is killed when its last reference is released, unless it was left running")
  func forgotten() throws {
    var forgotten: ChildProcess? = try shell("exec sleep 1000")
    var left: ChildProcess? = try shell("exec sleep 1000")
    let ids = try [#require(forgotten).id, #require(left).id]
    left?.leave()
    (forgotten, left) = (nil, nil)
    #expect(kill(ids[0], 0) == -1)
    #expect(kill(ids[1], SIGKILL) == 0)
    #expect(waitpid(ids[1], nil, 0) == ids[1])
  }

  @Test("A missing program is an error at once")
  func missing() {
    #expect(throws: SystemError(number: ENOENT)) { _ = try ChildProcess("/nope", []).id }
  }
}
