internal import EinlassJSON
internal import EinlassSystem

/// Splits a stream of bytes into lines. The caller feeds it bytes and takes lines until there are
/// none.
///
/// A line ends with LF; one CR before it and one byte order mark at its start are taken away, because
/// some writers begin each message with one. Lines of white space alone are left out. Never holds more than one line and one
/// feed.
public struct LineFramer: Sendable {
  /// The outcome of a line.
  public enum Line: Sendable, Equatable {
    /// Its bytes without the line end.
    case text(ArraySlice<UInt8>)
    /// It is over the limit. The rest of it is skipped.
    case tooLong
  }

  private let limit: Int
  private var buffer: [UInt8] = []
  /// The first byte of the current line.
  private var start = 0
  /// There is no LF between `start` and here.
  private var scanned = 0
  /// Skipping the rest of an over-long line.
  private var isSkipping = false

  /// Makes a framer at the start of a stream.
  public init(limit: Int = Limits.inboundLineBytes) { self.limit = limit }

  /// Adds bytes. Call it only after `next` has returned `nil`.
  public mutating func feed(_ bytes: ArraySlice<UInt8>) {
    buffer.append(bytes, removing: start)
    scanned -= start
    start = 0
  }

  /// Returns the next whole line. Its bytes are valid until the next `feed`.
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
    } else if buffer.count - start > limit + 4 {
      // One more than the limit may still be the CR of a line that fits, three more its byte order
      // mark.
      isSkipping = true
      start = buffer.count
      return .tooLong
    }
    return nil
  }

  /// Returns the bytes after the last LF at the end of the stream.
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

  private func stripped(_ line: Range<Int>) -> Line? {
    var line = line
    if !line.isEmpty, buffer[line.lowerBound] == 0xEF,
      buffer[line].starts(with: [0xEF, 0xBB, 0xBF])
    {
      line = line.lowerBound + 3..<line.upperBound
    }
    if !line.isEmpty, buffer[line.upperBound - 1] == 0x0D {
      line = line.lowerBound..<line.upperBound - 1
    }
    guard line.count <= limit else { return .tooLong }
    let isBlank = buffer[line].allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    return isBlank ? nil : .text(buffer[line])
  }
}

extension [UInt8] {
  /// Adds bytes after the removal of the first ones, which were read.
  mutating func append(_ bytes: ArraySlice<UInt8>, removing count: Int) {
    removeSubrange(..<count)
    // The memory of one long message is released, so that it is not kept for the session.
    if isEmpty && capacity > 4 * bytes.count { self = [] }
    append(contentsOf: bytes)
  }
}
