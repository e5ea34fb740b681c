import EinlassSystem
import Foundation
import Testing

@Suite struct CappedFileTests {
  private let path = NSTemporaryDirectory() + "/capped-\(UUID().uuidString)"

  /// Writes lines alternately through two descriptors and returns the lines of the file.
  private func written(_ count: Int, limitBytes: Int64) throws -> [String] {
    defer { unlink(path) }
    let one = try CappedFile(path, limitBytes: limitBytes)
    let other = try CappedFile(path, limitBytes: limitBytes)
    for number in 0..<count {
      let line = Array("line \(number)".utf8)
      if number % 2 == 0 { one.append(line) } else { other.append(line) }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count <= limitBytes)
    }
    return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  @Test func `The newest lines stay, whole and in order, within the limit`() throws {
    let lines = try written(1000, limitBytes: 400)
    #expect((20...50).contains(lines.count))
    #expect(lines == (1000 - lines.count..<1000).map { "line \($0)" })
  }

  @Test func `No line is removed before the limit is reached`() throws {
    #expect(try written(100, limitBytes: 1 << 20) == (0..<100).map { "line \($0)" })
  }

  @Test func `A line longer than the limit removes the older lines, and the next lines stay`()
    throws
  {
    defer { unlink(path) }
    let file = try CappedFile(path, limitBytes: 100)
    for text in ["a", String(repeating: "b", count: 300), "c", "d"] {
      file.append(Array(text.utf8))
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "c\nd\n")
  }

  @Test func `A file that others can read, a symbolic link or a FIFO is refused`() throws {
    defer { unlink(path) }
    try Data().write(to: URL(fileURLWithPath: path))
    chmod(path, 0o644)
    #expect(throws: FileError.self) { _ = try CappedFile(path) }
    chmod(path, 0o600)
    _ = try CappedFile(path)  // negative control
    unlink(path)
    #expect(symlink("/dev/null", path) == 0)
    #expect(throws: FileError.self) { _ = try CappedFile(path) }
    unlink(path)
    #expect(mkfifo(path, 0o600) == 0)
    #expect(throws: FileError.self) { _ = try CappedFile(path) }
  }
}
