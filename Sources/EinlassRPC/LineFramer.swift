internal import EinlassSystem

/// Bytes in, lines out: a value that is fed what was read and asked for lines until it has none.
///
/// A line ends with LF; one CR before it and one byte order mark at the start of the stream are taken away, and
/// lines of white space alone are left out. Never holds more than one line and one feed.
public struct LineFramer: Sendable {
  /// What a line came to.
  public enum Line: Sendable, Equatable {
    /// Its bytes, without the end.
    case text(ArraySlice<UInt8>)
    /// It is longer than the limit; the rest of it is skipped as it comes.
    case tooLong
  }

  private let limit: Int
  private var buffer: [UInt8] = []
  /// The first byte of the line that is being read.
  private var start = 0
  /// There is no LF between `start` and here.
  private var scanned = 0
  /// Skipping the rest of an over-long line.
  private var isSkipping = false
  private var isAtStreamStart = true

  /// A framer at the start of a stream.
  public init(limit: Int = Limits.inboundLineBytes) { self.limit = limit }

  /// Adds what was read; call it when `next` has no more.
  public mutating func feed(_ bytes: ArraySlice<UInt8>) {
    if start > 0 {
      buffer.removeSubrange(..<start)
      scanned -= start
      start = 0
      // One long line must not keep its memory for the rest of the session.
      if buffer.isEmpty && buffer.capacity > 4 * bytes.count { buffer = [] }
    }
    buffer.append(contentsOf: bytes)
  }

  /// The next whole line, or what became of it; drop it before the next `feed`.
  public mutating func next() -> Line? {
    while let end = lineEnd() {
      let line = start..<end
      start = end + 1
      scanned = start
      if isSkipping {
        isSkipping = false
      } else if let line = stripped(line) {
        return line
      }
    }
    if isSkipping {
      start = buffer.count
    } else if buffer.count - start > limit + (isAtStreamStart ? 4 : 1) {
      // One more than the limit may still be the CR of a line that fits, three more its byte order mark.
      isSkipping = true
      isAtStreamStart = false
      start = buffer.count
      return .tooLong
    }
    return nil
  }

  /// What stands behind the last LF when the stream has ended.
  public mutating func rest() -> Line? {
    guard !isSkipping else { return nil }
    let line = start..<buffer.count
    start = buffer.count
    scanned = start
    return stripped(line)
  }

  private mutating func lineEnd() -> Int? {
    let from = scanned
    scanned = buffer.count
    return buffer.firstIndex(of: 0x0A, from: from)
  }

  private mutating func stripped(_ line: Range<Int>) -> Line? {
    var line = line
    if isAtStreamStart {
      isAtStreamStart = false
      if buffer[line].starts(with: [0xEF, 0xBB, 0xBF]) {
        line = line.lowerBound + 3..<line.upperBound
      }
    }
    if !line.isEmpty, buffer[line.upperBound - 1] == 0x0D {
      line = line.lowerBound..<line.upperBound - 1
    }
    guard line.count <= limit else { return .tooLong }
    let isBlank = buffer[line].allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    return isBlank ? nil : .text(buffer[line])
  }
}
