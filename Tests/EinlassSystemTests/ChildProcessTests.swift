import EinlassSystem
import Foundation
import Testing

/// A program that we started.
struct ChildProcessTests {
  private func shell(_ script: String, keeping kept: [Int32] = []) throws -> ChildProcess {
    try ChildProcess("/bin/sh", ["-c", script], keeping: kept)
  }

  private func output(of child: ChildProcess) -> String {
    String(decoding: child.output.readAll(limitBytes: 1 << 20) ?? [], as: UTF8.self)
  }

  @Test("bytes go in and come out, and its end is its exit code, however often it is asked for")
  func conversation() throws {
    let child = try shell("cat; exit 7")
    #expect(child.write(Array("hello".utf8)))
    child.closeInput()
    #expect(!child.write([0]))
    #expect(output(of: child) == "hello")
    #expect(child.exitCode() == 7)
    #expect(child.exitCode() == 7)
  }

  @Test("one that goes on has no exit code yet, and one that a signal ends says which")
  func killed() throws {
    let child = try shell("exec sleep 1000")
    #expect(child.exitCode(within: .now) == nil)
    child.signal(SIGTERM)
    #expect(child.exitCode(within: Deadline(milliseconds: 60_000)) == 128 + SIGTERM)
  }

  @Test("it finds the descriptors that were named and no others")
  func descriptors() throws {
    let kept = try Descriptor.memory(holding: Array("kept".utf8))
    let other = try Descriptor.memory(holding: Array("other".utf8))
    let child = try shell(
      "cat /proc/self/fd/\(kept.number); test -e /proc/self/fd/\(other.number) || echo ' alone'",
      keeping: [kept.number])
    #expect(output(of: child) == "kept alone\n")
  }

  @Test("signals that we ignore or block are none of its business")
  func signals() throws {
    signal(SIGPIPE, SIG_IGN)
    let child = try shell("grep -E 'Sig(Blk|Ign)' /proc/self/status")
    let lines = output(of: child).split(separator: "\n")
    // But for 32 and 33, which are the C library's own.
    let masks = lines.compactMap { UInt64($0.split(separator: "\t").last ?? "", radix: 16) }
    #expect(masks.map { $0 & 0x7FFF_FFFF } == [0, 0], "\(lines)")
  }

  @Test("it is killed when nobody holds it any more, unless it was left")
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

  @Test("a program that is not there is an error at once")
  func missing() {
    #expect(throws: SystemError(number: ENOENT)) { _ = try ChildProcess("/nope", []).id }
  }
}
