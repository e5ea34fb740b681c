import EinlassSystem
import Foundation
import Testing

@Suite struct LineFileTests {
  private let folder: String

  init() throws {
    folder = NSTemporaryDirectory() + "/lines-\(UUID().uuidString)"
    #expect(mkdir(folder, 0o700) == 0)
  }

  private var path: String { folder + "/file" }

  private func file() throws -> LineFile {
    let directory = try SafeDirectory.open(folder)
    return try LineFile("file", in: directory ?? SafeDirectory.create(folder))
  }

  private func text(_ lines: [LineFile.Line]?) -> [String]? {
    lines?.map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  @Test func `Lines are read from the end, in parts that join without a gap`() throws {
    var file = try file()
    let all = (0..<50).map { "line \($0)" }
    for line in all { #expect(try file.append(Array(line.utf8), by: .now) != nil) }
    // A line that is longer than the limit does not hide the lines before it.
    for limit in [1, 3, 10, 64, 100, 4096] as [Int64] {
      var end: LineFile.Position?
      var found: [String] = []
      while let part = try file.lines(before: end, withinBytes: limit), let first = part.first {
        found = try #require(text(part)) + found
        end = first.position
      }
      #expect(found == all)
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A line removed by one process is gone for all, and older positions are invalid`()
    throws
  {
    var one = try file()
    var other = try file()
    for line in ["a", "b", "c"] { _ = try one.append(Array(line.utf8), by: .now) }
    let before = try #require(try other.lines(before: nil, withinBytes: 100))
    #expect(text(before) == ["a", "b", "c"])
    #expect(try one.remove(by: .now) { $0 == Array("b".utf8) } == 1)
    #expect(text(try other.lines(before: nil, withinBytes: 100)) == ["a", "c"])
    #expect(try other.lines(before: before[2].position, withinBytes: 100) == nil)
    _ = try other.append(Array("d".utf8), by: .now)
    #expect(text(try one.lines(before: nil, withinBytes: 100)) == ["a", "c", "d"])
    #expect(try one.remove(by: .now) { _ in false } == 0)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `After a rename every process begins a new file`() throws {
    var one = try file()
    var other = try file()
    #expect(try other.append(Array("a".utf8), by: .now) == 2)
    #expect(try one.rename(to: "sent", by: .now))
    #expect(try !one.rename(to: "empty", by: .now))
    #expect(try other.append(Array("b".utf8), by: .now) == 2)
    #expect(text(try one.lines(before: nil, withinBytes: .max)) == ["b"])
    #expect(try String(contentsOfFile: folder + "/sent", encoding: .utf8) == "a\n")
    // A taken name loses nothing.
    #expect(throws: FileError.self) { try one.rename(to: "sent", by: .now) }
    #expect(text(try other.lines(before: nil, withinBytes: .max)) == ["b"])
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A line that a power failure cut short damages no other line`() throws {
    var file = try file()
    _ = try file.append(Array("whole".utf8), by: .now)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("to".utf8))
    #expect(text(try file.lines(before: nil, withinBytes: 100)) == ["whole"])
    _ = try file.append(Array("next".utf8), by: .now)
    #expect(text(try file.lines(before: nil, withinBytes: 100)) == ["whole", "to", "next"])
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A locked file is waited for only until the deadline`() throws {
    var file = try file()
    _ = try file.append([0x61], by: .now)
    let other = open(path, O_RDWR)
    #expect(try file.isFree)
    #expect(flock(other, LOCK_EX) == 0)
    #expect(try !file.isFree)
    #expect(try file.append([0x62], by: .now) == nil)
    #expect(try file.append([0x62], by: Deadline(milliseconds: 50)) == nil)
    #expect(text(try file.lines(before: nil, withinBytes: 100)) == ["a"])
    #expect(flock(other, LOCK_UN) == 0)
    close(other)
    #expect(try file.append([0x62], by: .now) == 4)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A link in place of the file, and a file that others can read, are refused`() throws {
    #expect(symlink("/dev/null", path) == 0)
    #expect(throws: FileError.self) { _ = try file() }
    #expect(unlink(path) == 0)
    #expect(creat(path, 0o644) >= 0)
    #expect(chmod(path, 0o644) == 0)
    #expect(throws: FileError.self) { _ = try file() }
    try FileManager.default.removeItem(atPath: folder)
  }
}
