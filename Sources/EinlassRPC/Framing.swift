internal import EinlassJSON
internal import EinlassSystem

/// The marks between the messages of a stream.
public enum Framing: String, Sendable, CaseIterable {
  /// A message is a line.
  case lines
  /// A message follows a header with its length, as in the Language Server Protocol.
  case headers

  /// Ends the message that begins at this index of an output.
  func close(_ output: inout [UInt8], from start: Int) {
    switch self {
    case .lines: output.append(UInt8(ascii: "\n"))
    case .headers:
      output.insert(contentsOf: "Content-Length: \(output.count - start)\r\n\r\n".utf8, at: start)
    }
  }
}

/// Splits a stream of bytes into messages. The first bytes decide the framing: `Content-Length:` and
/// `Content-Type:` mean headers, and anything else means lines.
public struct MessageFramer: Sendable {
  /// The outcome of a message.
  public enum Frame: Sendable, Equatable {
    case text(ArraySlice<UInt8>)
    /// The message is over the limit. It is skipped.
    case tooLong
    /// A header that does not tell where the next message begins, so this is the last frame. The text
    /// says what the header must have.
    case invalidHeader(String)
  }

  private static let names = ["content-length:", "content-type:"].map { Array($0.utf8) }

  private let limit: Int
  /// The bytes before the decision.
  private var first: [UInt8] = []
  private var lines: LineFramer
  private var headers: HeaderFramer
  /// `nil` before the decision.
  public private(set) var framing: Framing?

  /// Makes a framer at the start of a stream.
  ///
  /// - Parameter framing: `nil` lets the first bytes decide.
  public init(_ framing: Framing? = nil, limit: Int = Limits.inboundLineBytes) {
    self.framing = framing
    self.limit = limit
    lines = LineFramer(limit: limit)
    headers = HeaderFramer(limit: limit)
  }

  /// Adds bytes. Call it only after `next` has returned `nil`.
  public mutating func feed(_ bytes: ArraySlice<UInt8>) {
    switch framing {
    case .lines: lines.feed(bytes)
    case .headers: headers.feed(bytes)
    case nil:
      first.append(contentsOf: bytes)
      guard let framing = Self.framing(of: first) else { return }
      self.framing = framing
      feed(first[...])
      first = []
    }
  }

  /// Returns the next whole message. Its bytes are valid until the next `feed`.
  public mutating func next() -> Frame? {
    framing == .headers ? headers.next() : lines.next().map(Frame.init)
  }

  /// Returns the bytes after the last message at the end of the stream: `nil` if there are none, and
  /// the empty text for the beginning of a message with a header.
  public mutating func rest() -> Frame? {
    if framing == nil {
      lines.feed(first[...])
      first = []
    }
    guard framing == .headers else { return lines.rest().map(Frame.init) }
    return headers.isAtStart ? nil : .text([])
  }

  /// Returns `nil` while the bytes may become the name of a header.
  private static func framing(of bytes: [UInt8]) -> Framing? {
    let start = bytes.prefix(names[0].count).map(lowercased)
    if names.contains(where: { start.starts(with: $0) }) { return .headers }
    return names.contains { $0.starts(with: start) } ? nil : .lines
  }
}

extension MessageFramer.Frame {
  fileprivate init(_ line: LineFramer.Line) {
    switch line {
    case .text(let bytes): self = .text(bytes)
    case .tooLong: self = .tooLong
    }
  }
}

/// Splits a stream of bytes into messages with headers: lines `NAME: VALUE` with CR LF, an empty line,
/// and as many bytes as `Content-Length` says. Never holds more than one message and one feed.
struct HeaderFramer: Sendable {
  /// The longest header in bytes.
  static let headerLimit = 4096

  private let limit: Int
  private var buffer: [UInt8] = []
  /// The first byte of the current line of a header, or of the message.
  private var start = 0
  /// There is no LF between `start` and here.
  private var scanned = 0
  /// The bytes of the current header that were read.
  private var headerCount = 0
  /// The length of the message after the current header, as soon as it is known.
  private var length: Int?
  /// The header has ended, and the message begins at `start`.
  private var isInMessage = false
  /// The bytes of an over-long message that are still to come.
  private var skipCount = 0
  private var isInvalid = false

  init(limit: Int) { self.limit = limit }

  /// Whether the stream has ended between two messages.
  var isAtStart: Bool {
    headerCount == 0 && !isInMessage && skipCount == 0 && start == buffer.count || isInvalid
  }

  mutating func feed(_ bytes: ArraySlice<UInt8>) {
    buffer.append(bytes, removing: start)
    scanned -= start
    start = 0
  }

  mutating func next() -> MessageFramer.Frame? {
    guard !isInvalid else {
      move(to: buffer.count)
      return nil
    }
    skip()
    guard skipCount == 0 else { return nil }
    while !isInMessage {
      guard let end = buffer.firstIndex(of: 0x0A, from: scanned) else {
        scanned = buffer.count
        return headerCount + buffer.count - start > Self.headerLimit ? tooLongHeader : nil
      }
      headerCount += end + 1 - start
      guard headerCount <= Self.headerLimit else { return tooLongHeader }
      guard end > start, buffer[end - 1] == 0x0D else {
        return invalid("CR LF at the end of each line")
      }
      let line = buffer[start..<end - 1]
      move(to: end + 1)
      if line.isEmpty {
        guard let length else { return invalid("a Content-Length") }
        headerCount = 0
        guard length <= limit else {
          skipCount = length
          self.length = nil
          skip()
          return .tooLong
        }
        isInMessage = true
      } else if let expected = read(line) {
        return invalid(expected)
      }
    }
    guard let length, buffer.count - start >= length else { return nil }
    let message = start..<start + length
    move(to: message.upperBound)
    isInMessage = false
    self.length = nil
    return .text(buffer[message])
  }

  private mutating func move(to index: Int) { (start, scanned) = (index, index) }

  private mutating func skip() {
    let count = min(skipCount, buffer.count - start)
    skipCount -= count
    move(to: start + count)
  }

  private var tooLongHeader: MessageFramer.Frame {
    mutating get { invalid("at most \(Self.headerLimit) bytes") }
  }

  private mutating func invalid(_ expected: String) -> MessageFramer.Frame {
    isInvalid = true
    return .invalidHeader(expected)
  }

  /// Reads a line of a header. Returns the broken rule.
  private mutating func read(_ line: ArraySlice<UInt8>) -> String? {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
      return "a name and a colon in each line"
    }
    let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
    let trimmed = value.split(whereSeparator: { $0 == " " || $0 == "\t" })
    switch String(decoding: line[..<colon].map(lowercased), as: UTF8.self) {
    case "content-length":
      guard length == nil, trimmed.count == 1, trimmed[0].utf8.allSatisfy(isDigit),
        let count = Int(trimmed[0])
      else { return "one Content-Length with a whole number" }
      length = count
    case "content-type":
      let parameters = value.utf8.map(lowercased).split(separator: UInt8(ascii: ";")).dropFirst()
      for parameter in parameters {
        let text = String(decoding: parameter, as: UTF8.self)
          .split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\"" }).joined()
        // RFC 9110 section 8.3.2; utf8 is the spelling of older versions of the Language Server Protocol.
        guard
          !text.utf8.starts(with: "charset=".utf8)
            || ["charset=utf-8", "charset=utf8"].contains(text)
        else { return "the charset utf-8" }
      }
    default: break
    }
    return nil
  }
}

private func lowercased(_ byte: UInt8) -> UInt8 {
  (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}

private func isDigit(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}
