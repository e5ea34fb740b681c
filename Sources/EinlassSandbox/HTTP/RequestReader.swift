import EinlassJSON

/// A parser of requests from a byte stream (RFC 9112), strict enough for tests.
struct RequestReader: Sendable {
  /// A request, and the state of the connection after it.
  struct Received: Sendable {
    var request: Request
    /// Whether the connection closes after the answer.
    var isLast: Bool
  }

  /// The error response for a malformed request. The connection closes after it.
  struct Flaw: Error, Equatable {
    var status: Int
    var message: String
  }

  /// The greatest length of a head in bytes.
  static let headLimit = 256 * 1024

  private let bodyLimit: Int
  private var bytes: [UInt8] = []
  /// The number of bytes already searched for the end of the head.
  private var searched = 0
  /// The head of a request without a complete body yet.
  private var head: Head?

  private struct Head: Sendable {
    var received: Received
    /// `nil` for a chunked body.
    var length: Int?
    var expectsContinue: Bool
  }

  init(bodyLimit: Int) { self.bodyLimit = bodyLimit }

  mutating func append(_ more: [UInt8]) { bytes += more }

  /// Returns the next request, or `nil` until it is complete.
  mutating func next() throws(Flaw) -> Received? {
    if head == nil { head = try readHead() }
    guard let head, let body = try readBody(head) else { return nil }
    self.head = nil
    var received = head.received
    received.request.body = body
    return received
  }

  /// Returns whether the client waits for `100 Continue`, at most once per request.
  mutating func takeExpectation() -> Bool {
    let isExpected = head?.expectsContinue ?? false
    head?.expectsContinue = false
    return isExpected
  }

  // MARK: - Head

  private mutating func readHead() throws(Flaw) -> Head? {
    let end = Array("\r\n\r\n".utf8)
    var index = max(0, searched - end.count)
    while index + end.count <= bytes.count {
      if bytes[index] == end[0], bytes[index..<index + end.count].elementsEqual(end) { break }
      index += 1
    }
    guard index <= Self.headLimit else {
      throw Flaw(status: 431, message: "The head has more than \(Self.headLimit) bytes.")
    }
    guard index + end.count <= bytes.count else {
      searched = bytes.count
      return nil
    }
    searched = 0
    let text = String(validating: bytes[..<index], as: UTF8.self)
    bytes.removeFirst(index + end.count)
    guard let text else { throw Self.malformed("The head is not UTF-8.") }
    return try Self.head(text)
  }

  private static func head(_ text: String) throws(Flaw) -> Head {
    // Splits UTF-8, because a Swift `Character` combines CR LF, and a lone LF ends a line too.
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { line in Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line) }
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, let target = Self.target(words[1]) else {
      throw malformed("The request line does not consist of method, target and version.")
    }
    guard ["HTTP/1.1", "HTTP/1.0"].contains(words[2]) else {
      throw Flaw(status: 505, message: "Only HTTP/1.0 and HTTP/1.1 are supported.")
    }
    var request = Request(method: String(words[0]), path: target.path, rawQuery: target.query)
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let last = parts[0].utf8.last, last > UInt8(ascii: " ") else {
        throw malformed("A header line does not consist of name and value.")
      }
      request.headers.append(
        Parameter(name: String(parts[0]), value: String(parts[1]).trimming(" \t")))
    }
    let options = (request.header("Connection") ?? "").lowercased()
    let isLast = words[2] == "HTTP/1.0" || options.contains("close")
    return Head(
      received: Received(request: request, isLast: isLast), length: try length(of: request),
      expectsContinue: sameBytes((request.header("Expect") ?? "").lowercased(), "100-continue"))
  }

  /// Returns path and query of `/path?query`, `http://host/path?query`, or `*`.
  private static func target(_ text: Substring) -> (path: String, query: String)? {
    var text = text
    if text.hasPrefix("http://") {
      let rest = text.dropFirst(7)
      text = rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...]
      if text.isEmpty { text = "/" }
    }
    guard text.hasPrefix("/") || text == "*" else { return nil }
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
  }

  // MARK: - Body

  /// Returns the length of the body, or `nil` for chunks (RFC 9112 section 6.3).
  private static func length(of request: Request) throws(Flaw) -> Int? {
    let values = { (name: String) in
      request.headers.filter { sameBytes($0.name.lowercased(), name) }.map(\.value)
    }
    let lengths = values("content-length")
    let codings = values("transfer-encoding")
    switch (lengths.count, codings.count) {
    case (0, 0): return 0
    case (0, 1) where sameBytes(codings[0].lowercased(), "chunked"): return nil
    case (1, 0):
      guard lengths[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(lengths[0])
      else { throw malformed("Content-Length is not a number of bytes.") }
      return length
    default: throw malformed("The length of the body is not clear.")
    }
  }

  private mutating func readBody(_ head: Head) throws(Flaw) -> [UInt8]? {
    guard let length = head.length else { return try readChunks() }
    // The error is sent only after the body has arrived, because most clients read after they have
    // sent.
    guard bytes.count >= min(length, bodyLimit + 1) else { return nil }
    guard length <= bodyLimit else { throw tooLarge }
    let body = Array(bytes[..<length])
    bytes.removeFirst(length)
    return body
  }

  /// Reads all chunks at once, because bodies are small here (RFC 9112 section 7.1).
  private mutating func readChunks() throws(Flaw) -> [UInt8]? {
    var body: [UInt8] = []
    var index = 0
    while let line = line(at: index) {
      let size = line.prefix { $0 != UInt8(ascii: ";") }
      guard (1...8).contains(size.count),
        let count = Int(String(decoding: size, as: UTF8.self), radix: 16), count >= 0
      else { throw Self.malformed("A chunk has no size.") }
      guard body.count + count <= bodyLimit else { throw tooLarge }
      index = line.endIndex + 2
      if count == 0 { return try readTrailers(at: index) ? body : nil }
      guard index + count + 2 <= bytes.count else { return nil }
      guard bytes[index + count] == 0x0D, bytes[index + count + 1] == 0x0A else {
        throw Self.malformed("A chunk does not end with CR LF.")
      }
      body += bytes[index..<index + count]
      index += count + 2
    }
    guard bytes.count - index < 1024 else { throw Self.malformed("A chunk has no size.") }
    return nil
  }

  /// Skips the trailers. Returns `true` when they are complete and the request's bytes are
  /// consumed.
  private mutating func readTrailers(at start: Int) throws(Flaw) -> Bool {
    var index = start
    while let line = line(at: index) {
      index = line.endIndex + 2
      if line.isEmpty {
        bytes.removeFirst(index)
        return true
      }
    }
    guard bytes.count - start < Self.headLimit else { throw tooLarge }
    return false
  }

  /// Returns the line at this index without its CR LF, or `nil` if it is incomplete.
  private func line(at start: Int) -> ArraySlice<UInt8>? {
    guard start < bytes.count, let end = bytes[start...].firstIndex(of: 0x0A), end > start,
      bytes[end - 1] == 0x0D
    else { return nil }
    return bytes[start..<end - 1]
  }

  private var tooLarge: Flaw {
    Flaw(status: 413, message: "The body has more than \(bodyLimit) bytes.")
  }

  private static func malformed(_ message: String) -> Flaw { Flaw(status: 400, message: message) }
}
