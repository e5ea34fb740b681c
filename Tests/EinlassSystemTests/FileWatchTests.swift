import EinlassSystem
import Foundation
import Testing

/// What a file watch rings at. Inotify tells at once, so what is expected is there before it is waited for.
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

  @Test func `A file rings when it is written to, once cleared no more, and again the next time`()
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

  @Test func `A file rings when its length changes, and not when it is read or locked`() throws {
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

  @Test func `A file rings when a writer closes it or dies, and not for a reader`()
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

  @Test func `What is not there yet is found when it comes, with all the directories above it`()
    throws
  {
    let path = folder + "/a/b/file"
    var watch = try FileWatch(path)
    #expect(!hasRung(watch.number))
    for step in ["a", "a/b"] {
      #expect(mkdir(folder + "/" + step, 0o700) == 0)
      #expect(hasRung(watch.number))
      try watch.clear()
      // Letting go of the directory above rings too.
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

  @Test func `A file that another takes the place of goes on ringing`() throws {
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

  @Test func `Below what is no directory nothing can be watched`() throws {
    try write(folder + "/file")
    #expect(throws: SystemError(number: ENOTDIR)) { _ = try FileWatch(folder + "/file/under") }
    try FileManager.default.removeItem(atPath: folder)
  }
}
