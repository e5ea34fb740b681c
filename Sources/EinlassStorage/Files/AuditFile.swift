public import Einlass
internal import EinlassSystem

extension SQLiteAccountStore {
  /// Returns the audit trail of the store at this path or, with `nil`, of the default store: a JSON
  /// Lines file beside the store. `isDurable` syncs each appended line to disk, so that it survives a
  /// power cut.
  public static func auditLines(path: String? = nil, isDurable: Bool = false) -> AuditLines {
    do throws(Problem) {
      return AuditFile(location: try StoreLocation(path: path), isDurable: isDurable).lines
    } catch {
      return AuditLines(failing: error)
    }
  }
}

extension AuditLines {
  /// Lines that throw this problem at every use.
  public init(failing problem: Problem) {
    self.init(
      append: { _, _ throws(Problem) in throw problem },
      isFree: { true },
      part: { _, _ throws(Problem) in throw problem },
      remove: { _, _ throws(Problem) in throw problem })
  }
}

/// The file of an audit trail, created by the first line. It stays open and is shortened when it
/// exceeds its limit.
final class AuditFile: Sendable {
  /// A longer file is cut to its newest lines, half of this size.
  static let limitBytes: Int64 = 16 << 20
  /// The number of bytes read at a time when looking for a page.
  static let partBytes: Int64 = 64 << 10

  private let location: StoreLocation
  private let limitBytes: Int64
  private let isDurable: Bool
  private let opened = Lock<LineFile?>(nil)

  init(
    location: StoreLocation, limitBytes: Int64 = AuditFile.limitBytes, isDurable: Bool = false
  ) {
    self.isDurable = isDurable
    self.location = location
    self.limitBytes = limitBytes
  }

  var lines: AuditLines {
    AuditLines(
      append: { line, patience throws(Problem) in try self.append(line, patience) },
      isFree: { self.isFree },
      part: { position, patience throws(Problem) in try self.part(before: position, patience) },
      remove: { patience, shouldRemove throws(Problem) in
        guard self.exists else { return 0 }
        return try self.using(patience) { file, deadline throws(FileError) in
          try file.remove(by: deadline, shouldRemove)
        }
      })
  }

  private var path: String { "\(location.directory)/\(location.auditName)" }
  private var exists: Bool { FileStatus.at(path) != nil }

  private var isFree: Bool {
    guard exists else { return true }
    let isFree = try? using(.none) { file, _ throws(FileError) in try file.isFree }
    return isFree ?? false
  }

  private func append(_ line: [UInt8], _ patience: AccountStore.Patience) throws(Problem) {
    let count = try using(patience) { file, deadline throws(FileError) in
      try file.append(line, by: deadline)
    }
    guard count > limitBytes else { return }
    // If another process holds the file, that process shortens it as well.
    _ = try? using(.none) { file, deadline throws(FileError) in
      try file.keepLast(bytes: limitBytes / 2, by: deadline)
    }
  }

  private func part(
    before position: AuditLines.Position?, _ patience: AccountStore.Patience
  ) throws(Problem) -> AuditLines.Part? {
    guard exists else { return position == nil ? AuditLines.Part(lines: [], hasMore: false) : nil }
    let end = position.map(LineFile.Position.init(text:))
    // A cursor was given, but it is malformed.
    if let end, end == nil { return nil }
    let lines = try using(patience) { file, _ throws(FileError) in
      Optional(try file.lines(before: end ?? nil, withinBytes: Self.partBytes))
    }
    return lines.map { lines in
      AuditLines.Part(
        lines: lines.map { .init(position: $0.position.text, bytes: $0.bytes) },
        hasMore: lines.first.map { $0.position.offset > 0 } ?? false)
    }
  }

  /// Runs `body` on one thread at a time. Throws `locked` if the file is not available in time.
  private func using<Result>(
    _ patience: AccountStore.Patience,
    _ body: (inout LineFile, Deadline) throws(FileError) -> Result?
  ) throws(Problem) -> Result {
    let deadline = patience.deadline
    let result = try FileProblem.store { () throws(FileError) in
      try opened.withLock(by: deadline) { opened throws(FileError) -> Result? in
        if opened == nil {
          opened = try LineFile(
            location.auditName, in: SafeDirectory.create(location.directory), isDurable: isDurable)
        }
        return try body(&opened!, deadline)
      }
    }
    guard let result = result ?? nil else { throw .storeLocked(path: path) }
    return result
  }
}

extension LineFile.Position {
  fileprivate var text: String { "\(file)-\(offset)" }

  fileprivate init?(text: String) {
    let parts = text.split(separator: "-")
    guard parts.count == 2, let file = UInt64(parts[0]), let offset = Int64(parts[1]) else {
      return nil
    }
    self.init(file: file, offset: offset)
  }
}
