import EinlassSystem
import Foundation
import Testing

/// The events of a file watch. inotify queues an event during the system call that causes it, so
/// the tests check without waiting.
@Suite struct FileWatchTests {
  private let folder: String

  init() throws {
    folder = NSTemporaryDirectory() + "/watch-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private func hasRung(_ number: Int32) -> Bool {
    var poller = Poller(slots: 1)
    poller.watch(0, number, for: .readable)
    poller.wait(milliseconds: 0)
    return poller.happened(0, .readable)
  }

  private func write(_ path: String) throws {
    let file = try #require(fopen(path, "a"))
    fputs("x", file)
    fclose(file)
  }

  @Test func `A file watch rings after a write, and once cleared not before the next write`()
    throws
  {
    try write(folder + "/file")
    var watch = try FileWatch(folder + "/file")
    #expect(!hasRung(watch.number))
    for _ in 0..<3 {
      try write(folder + "/file")
      #expect(hasRung(watch.number))
      try watch.clear()
      #expect(!hasRung(watch.number))
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A file watch rings when the length changes, and not when the file is read or locked`()
    throws
  {
    try write(folder + "/file")
    var watch = try FileWatch(folder + "/file")
    let file = open(folder + "/file", O_RDWR)
    defer { close(file) }
    flock(file, LOCK_EX)
    flock(file, LOCK_UN)
    var byte: UInt8 = 0
    #expect(read(file, &byte, 1) == 1)
    #expect(!hasRung(watch.number))
    #expect(ftruncate(file, 100) == 0)
    #expect(hasRung(watch.number))
    try watch.clear()
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A file watch rings when a writer closes the file or dies, and not for a reader`()
    throws
  {
    try write(folder + "/file")
    let watch = try FileWatch(folder + "/file")
    close(open(folder + "/file", O_RDONLY))
    #expect(!hasRung(watch.number))
    let child = Process()
    child.executableURL = URL(filePath: "/bin/sh")
    child.arguments = ["-c", "exec 3<>\"$1\"; kill -9 $$", "sh", folder + "/file"]
    try child.run()
    child.waitUntilExit()
    #expect(child.terminationReason == .uncaughtSignal && hasRung(watch.number))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A file watch finds a file that is created later, together with its directories`()
    throws
  {
    let path = folder + "/a/b/file"
    var watch = try FileWatch(path)
    #expect(!hasRung(watch.number))
    for step in ["a", "a/b"] {
      #expect(mkdir(folder + "/" + step, 0o700) == 0)
      #expect(hasRung(watch.number))
      try watch.clear()
      // The watch on the directory above is removed, and the removal rings once more.
      try watch.clear()
      #expect(!hasRung(watch.number))
    }
    try write(path)
    #expect(hasRung(watch.number))
    try watch.clear()
    try write(path)
    #expect(hasRung(watch.number))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A file watch goes on ringing after the file is replaced or removed`() throws {
    let path = folder + "/file"
    try write(path)
    var watch = try FileWatch(path)
    try write(folder + "/new")
    #expect(rename(folder + "/new", path) == 0)
    #expect(hasRung(watch.number))
    try watch.clear()
    try write(path)
    #expect(hasRung(watch.number))
    try watch.clear()
    #expect(unlink(path) == 0)
    #expect(hasRung(watch.number))
    try watch.clear()
    try write(path)
    #expect(hasRung(watch.number))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A path below a file that is no directory cannot be watched`() throws {
    try write(folder + "/file")
    #expect(throws: SystemError(number: ENOTDIR)) { _ = try FileWatch(folder + "/file/under") }
    try FileManager.default.removeItem(atPath: folder)
  }
}
