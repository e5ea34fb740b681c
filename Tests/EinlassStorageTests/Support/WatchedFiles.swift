import CSQLite
import Foundation

@testable import EinlassStorage

/// A SQLite VFS that records, or fails, the calls that change files.
///
/// It replaces einlass's VFS in its process. Install it only in a test with its own process, and
/// use it from one thread.
enum WatchedFiles {
  enum Operation {
    case write([UInt8], at: Int)
    case truncate(to: Int)
    case sync
    case delete
  }

  /// A change of a file, and the number of acknowledged changes before it.
  struct Event {
    var name: String
    var operation: Operation
    var acknowledged: Int
  }

  /// The calls that fail, and their error code.
  struct Fault {
    /// The number of the first failing call, from 1.
    var first: Int
    var isLasting: Bool
    var code: Int32
  }

  nonisolated(unsafe) static var events: [Event] = []
  nonisolated(unsafe) static var acknowledged = 0
  nonisolated(unsafe) static var fault: Fault?
  /// The number of calls since the fault was set.
  nonisolated(unsafe) static var calls = 0
  nonisolated(unsafe) private static var folder: String?
  nonisolated(unsafe) private static var isWatching = false
  nonisolated(unsafe) private static var system = sqlite3_vfs_find(SQLiteHandle.files)!
  nonisolated(unsafe) private static var open: [UnsafeMutablePointer<sqlite3_file>: Original] = [:]

  private struct Original {
    var name: String
    var methods: sqlite3_io_methods
  }

  /// Watches the files under this folder from now on.
  static func watch(_ folder: String?) {
    self.folder = folder
    guard !isWatching else { return }
    isWatching = true
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: system.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.xOpen = { _, path, file, flags, outFlags in
      WatchedFiles.open(path, file!, flags, outFlags)
    }
    vfs.pointee.xDelete = { _, path, syncs in WatchedFiles.delete(path, syncs) }
    sqlite3_vfs_register(vfs, 1)
  }

  private static func name(_ path: UnsafePointer<CChar>?) -> String? {
    guard let path, let folder else { return nil }
    let text = String(cString: path)
    return text.hasPrefix(folder + "/") ? (text as NSString).lastPathComponent : nil
  }

  private static func open(
    _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32,
    _ outFlags: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    let code = system.pointee.xOpen(system, path, file, flags, outFlags)
    guard code == SQLITE_OK, let name = name(path), let methods = file.pointee.pMethods else {
      return code
    }
    open[file] = Original(name: name, methods: methods.pointee)
    // Never freed, because SQLite keeps the pointer until the process ends.
    let watched = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    watched.initialize(to: methods.pointee)
    watched.pointee.xWrite = { WatchedFiles.write($0!, $1!, $2, $3) }
    watched.pointee.xTruncate = { file, size in
      WatchedFiles.change(file!, .truncate(to: Int(size))) { $0.xTruncate(file, size) }
    }
    watched.pointee.xSync = { file, flags in
      WatchedFiles.change(file!, .sync) { $0.xSync(file, flags) }
    }
    watched.pointee.xClose = { file in
      let original = WatchedFiles.open.removeValue(forKey: file!)!
      return original.methods.xClose(file)
    }
    file.pointee.pMethods = UnsafePointer(watched)
    return code
  }

  private static func write(
    _ file: UnsafeMutablePointer<sqlite3_file>, _ bytes: UnsafeRawPointer, _ count: Int32,
    _ offset: sqlite3_int64
  ) -> Int32 {
    let content = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    return change(file, .write(content, at: Int(offset))) { $0.xWrite(file, bytes, count, offset) }
  }

  private static func change(
    _ file: UnsafeMutablePointer<sqlite3_file>, _ operation: Operation,
    _ body: (sqlite3_io_methods) -> Int32
  ) -> Int32 {
    let original = open[file]!
    calls += 1
    if let fault, calls == fault.first || (fault.isLasting && calls > fault.first) {
      return fault.code
    }
    let code = body(original.methods)
    if code == SQLITE_OK, fault == nil {
      events.append(Event(name: original.name, operation: operation, acknowledged: acknowledged))
    }
    return code
  }

  private static func delete(_ path: UnsafePointer<CChar>?, _ syncs: Int32) -> Int32 {
    let code = system.pointee.xDelete(system, path, syncs)
    if code == SQLITE_OK, let name = name(path) {
      events.append(Event(name: name, operation: .delete, acknowledged: acknowledged))
    }
    return code
  }
}

/// The files of a disk that can lose power: the synced content, and the pending writes.
struct Disk {
  private(set) var durable: [String: [UInt8]] = [:]
  private var pending: [String: [WatchedFiles.Operation]] = [:]

  init(_ durable: [String: [UInt8]]) { self.durable = durable }

  mutating func apply(_ event: WatchedFiles.Event) {
    switch event.operation {
    case .write, .truncate: pending[event.name, default: []].append(event.operation)
    case .sync:
      for operation in pending.removeValue(forKey: event.name) ?? [] {
        Self.apply(operation, to: &durable[event.name, default: []])
      }
    case .delete:
      pending[event.name] = nil
      durable[event.name] = nil
    }
  }

  /// Returns the files after a power cut now. Each 512-byte sector of a pending write arrives by
  /// chance.
  func afterPowerCut(_ random: inout some RandomNumberGenerator) -> [String: [UInt8]] {
    var files = durable
    let chance = [0, 0.1, 0.5, 0.9, 1].randomElement(using: &random)!
    for (name, operations) in pending.sorted(by: { $0.key < $1.key }) {
      for operation in operations {
        for part in Self.sectors(of: operation)
        where Double.random(in: 0..<1, using: &random) < chance {
          Self.apply(part, to: &files[name, default: []])
        }
      }
    }
    return files
  }

  private static func sectors(of operation: WatchedFiles.Operation) -> [WatchedFiles.Operation] {
    guard case .write(let bytes, let offset) = operation else { return [operation] }
    var sectors: [WatchedFiles.Operation] = []
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, ((offset + start) / 512 + 1) * 512 - offset)
      sectors.append(.write(Array(bytes[start..<end]), at: offset + start))
      start = end
    }
    return sectors
  }

  private static func apply(_ operation: WatchedFiles.Operation, to file: inout [UInt8]) {
    switch operation {
    case .write(let bytes, let offset):
      if file.count < offset + bytes.count {
        file += [UInt8](repeating: 0, count: offset + bytes.count - file.count)
      }
      file.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    case .truncate(let count): if count < file.count { file.removeLast(file.count - count) }
    case .sync, .delete: break
    }
  }
}

/// A random generator with a seed, so that a run can be repeated (SplitMix64).
struct SeededChance: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
