public import Einlass
internal import EinlassSystem

extension MemoryAccountStore {
  /// Returns an audit trail in memory. It keeps only the last lines and ends with the process.
  public static func makeAuditLines() -> AuditLines {
    let memory = Lock(AuditMemory())
    return AuditLines(
      append: { line, _ throws(Problem) in memory.withLock { $0.append(line) } },
      isFree: { true },
      part: { position, _ throws(Problem) in memory.withLock { $0.part(before: position) } },
      remove: { _, shouldRemove throws(Problem) in memory.withLock { $0.remove(shouldRemove) } })
  }
}

private struct AuditMemory {
  private static let limit = 10_000

  private var lines: [AuditLines.Line] = []
  private var count = 0

  mutating func append(_ bytes: [UInt8]) {
    if lines.count == Self.limit { lines.removeFirst(Self.limit / 2) }
    count += 1
    lines.append(.init(position: "\(count)", bytes: bytes))
  }

  func part(before position: AuditLines.Position?) -> AuditLines.Part? {
    guard let position else { return .init(lines: lines, hasMore: false) }
    guard let index = lines.firstIndex(where: { $0.position == position }) else { return nil }
    return .init(lines: Array(lines[..<index]), hasMore: false)
  }

  mutating func remove(_ shouldRemove: ([UInt8]) -> Bool) -> Int {
    let before = lines.count
    lines.removeAll { shouldRemove($0.bytes) }
    return before - lines.count
  }
}
