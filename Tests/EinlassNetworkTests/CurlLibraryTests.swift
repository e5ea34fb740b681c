import CCurl
import Foundation
import Testing

/// `CCurl` alone in a C program, because the test process has already loaded libcurl.
@Suite struct CurlLibraryTests {
  enum Found: CaseIterable { case system, unreadable, unfit }

  @Test("A missing or unfit libcurl is a state and not a crash", arguments: Found.allCases)
  func opening(found: Found) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("einlass-libcurl-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let program = folder.appendingPathComponent("program").path
    let main = folder.appendingPathComponent("main.c").path
    let library = folder.appendingPathComponent("libcurl.so.4").path
    try "#include <CCurl.h>\nint main(void) { return ccurl_open(); }\n"
      .write(toFile: main, atomically: true, encoding: .utf8)
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources").standardizedFileURL.path
    let built = try run(
      "clang", "-I\(sources)/CCurl/include", "-I\(sources)/CSystem/include",
      "\(sources)/CCurl/curl.c", "\(sources)/CSystem/events.c", main, "-o", program, "-ldl",
      "-lpthread")
    try #require(built == 0)

    let expected: ccurl_state
    switch found {
    case .system: expected = CCURL_READY
    case .unreadable:
      try Data().write(to: URL(fileURLWithPath: library))
      expected = CCURL_MISSING
    case .unfit:
      #expect(try run("clang", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", library) == 0)
      expected = CCURL_TOO_OLD
    }
    #expect(try run("env", "LD_LIBRARY_PATH=\(folder.path)", program) == expected.rawValue)
  }

  private func run(_ arguments: String...) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
