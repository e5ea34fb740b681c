import CSQLite
import Foundation

@testable import EinlassStorage

/// A SQLite VFS that appends every exclusive lock of the write-ahead log to one file for all
/// processes.
///
/// It replaces einlass's VFS in its process. A line is `process + lock` before the request,
/// `process x lock` if the request was refused, and `process - lock` after the release. The
/// interval between `+` and `-` is therefore longer than the lock was held.
enum LockTrace {
  /// Lock numbers of SQLite's write-ahead log.
  static let (writing, checkpointing): (Int32, Int32) = (0, 1)

  nonisolated(unsafe) private static var system = sqlite3_vfs_find(SQLiteHandle.files)!
  nonisolated(unsafe) private static var methods: sqlite3_io_methods?
  nonisolated(unsafe) private static var traced: UnsafeMutablePointer<sqlite3_io_methods>?
  nonisolated(unsafe) private static var descriptor: Int32 = -1

  /// Records the locks of this process from now on.
  static func start(_ path: String) {
    descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: system.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.xOpen = { _, path, file, flags, outFlags in
      let code = LockTrace.system.pointee.xOpen(LockTrace.system, path, file, flags, outFlags)
      // The journal has other methods and no locks.
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
    // Recovery of the journal takes several locks at once, but a checkpoint takes only one.
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

  struct Findings {
    var writes = 0
    var checkpoints = 0
    /// The number of checkpoints in one process during a write of another.
    var overlaps = 0
  }

  static func findings(_ path: String) throws -> Findings {
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    let events = text.split(separator: "\n").map { $0.split(separator: " ") }
    // A refused attempt held no lock. The refusal is on a later line than the attempt.
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
