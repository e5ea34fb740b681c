import CSQLite
import Foundation

@testable import EinlassStorage

/// SQLite's own way to files with every exclusive lock of the journal written down, by all processes to one file.
///
/// It takes the place of einlass's own in its process. A line is `process + lock` before it is asked for, `process x lock` when it
/// was refused, and `process - lock` after it was given back: what lies between is longer than the lock was held.
enum LockTrace {
  /// Locks of SQLite's write-ahead log.
  static let (writing, checkpointing): (Int32, Int32) = (0, 1)

  nonisolated(unsafe) private static var system = sqlite3_vfs_find(SQLiteHandle.files)!
  nonisolated(unsafe) private static var methods: sqlite3_io_methods?
  nonisolated(unsafe) private static var traced: UnsafeMutablePointer<sqlite3_io_methods>?
  nonisolated(unsafe) private static var descriptor: Int32 = -1

  /// Writes down what this process locks from now on.
  static func start(_ path: String) {
    descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: system.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.xOpen = { _, path, file, flags, outFlags in
      let code = LockTrace.system.pointee.xOpen(LockTrace.system, path, file, flags, outFlags)
      // The journal itself has other methods, and no locks.
      if code == SQLITE_OK, flags & SQLITE_OPEN_MAIN_DB != 0, let methods = file!.pointee.pMethods {
        file!.pointee.pMethods = LockTrace.wrapped(methods)
      }
      return code
    }
    sqlite3_vfs_register(vfs, 1)
  }

  private static func wrapped(_ methods: UnsafePointer<sqlite3_io_methods>)
    -> UnsafePointer<sqlite3_io_methods>
  {
    if let traced { return UnsafePointer(traced) }
    self.methods = methods.pointee
    let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    copy.initialize(to: methods.pointee)
    copy.pointee.xShmLock = { LockTrace.lock($0, $1, $2, $3) }
    traced = copy
    return UnsafePointer(copy)
  }

  private static func lock(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ lock: Int32, _ count: Int32, _ flags: Int32
  ) -> Int32 {
    let xShmLock = methods!.xShmLock!
    // Reading a journal anew takes several at once, which no checkpoint does.
    guard flags & SQLITE_SHM_EXCLUSIVE != 0, count == 1 else {
      return xShmLock(file, lock, count, flags)
    }
    let isLocking = flags & SQLITE_SHM_LOCK != 0
    if isLocking { note("+", lock) }
    let code = xShmLock(file, lock, count, flags)
    if !isLocking { note("-", lock) } else if code != SQLITE_OK { note("x", lock) }
    return code
  }

  private static func note(_ word: Character, _ lock: Int32) {
    let line = Array("\(getpid()) \(word) \(lock)\n".utf8)
    _ = write(descriptor, line, line.count)
  }

  /// What a trace shows.
  struct Findings {
    var writes = 0
    var checkpoints = 0
    /// How often one process moved the journal into the database while another wrote to it.
    var overlaps = 0
  }

  /// Reads what all processes wrote down.
  static func findings(_ path: String) throws -> Findings {
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    let events = text.split(separator: "\n").map { $0.split(separator: " ") }
    // An attempt that was refused held nothing: which they are shows only later.
    var lastAttempt: [String: Int] = [:]
    var isRefused = [Bool](repeating: false, count: events.count)
    for (index, event) in events.enumerated() {
      let key = "\(event[0]) \(event[2])"
      if event[1] == "+" { lastAttempt[key] = index }
      if event[1] == "x", let attempt = lastAttempt[key] { isRefused[attempt] = true }
    }
    var findings = Findings()
    var holders: [Int32: Set<Substring>] = [:]
    for (index, event) in events.enumerated() {
      let lock = Int32(event[2])!
      if event[1] == "-" { holders[lock]?.remove(event[0]) }
      guard event[1] == "+", !isRefused[index] else { continue }
      holders[lock, default: []].insert(event[0])
      guard lock <= checkpointing else { continue }
      if lock == writing { findings.writes += 1 } else { findings.checkpoints += 1 }
      let others = holders[lock == writing ? checkpointing : writing] ?? []
      if !others.subtracting([event[0]]).isEmpty { findings.overlaps += 1 }
    }
    return findings
  }
}
