import Einlass

/// An answer as it comes in, and how much of it is taken.
@safe struct CurlAnswer {
  private(set) var headers: [HTTPRequest.Header] = []
  private(set) var body: [UInt8] = []
  /// It was cut off here, for its size or for a coding that could hide one.
  private(set) var isOverLimit = false

  private let bodyLimit: Int
  private let limits: TransferLimits
  private var headerBytes = 0
  private var headerLines = 0

  init(bodyLimit: Int, limits: TransferLimits) {
    self.bodyLimit = bodyLimit
    self.limits = limits
  }

  /// `false` when the transfer must be aborted.
  mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= bodyLimit - body.count else { return refuse() }
    unsafe body.append(contentsOf: bytes)
    return true
  }

  /// One line with its end, a status line among them; `false` when the transfer must be aborted.
  mutating func takeHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
    headerBytes += bytes.count
    headerLines += 1
    guard headerBytes <= limits.headerBytes, headerLines <= limits.headerLines else {
      return refuse()
    }
    let line = unsafe String(decoding: bytes, as: UTF8.self)
    if line.hasPrefix("HTTP/") {
      // An interim answer's headers are not the answer's.
      headers = []
    } else if let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) {
      headers.append(
        HTTPRequest.Header(line[..<colon].lowercased(), trimmed(line[colon...].dropFirst())))
    }
    return true
  }

  private mutating func refuse() -> Bool {
    isOverLimit = true
    return false
  }
}

private func trimmed(_ text: Substring) -> String {
  let isSpace = { (character: Character) in character.isWhitespace }
  let end = text.lastIndex { !isSpace($0) }.map { text.index(after: $0) } ?? text.startIndex
  return String(text[..<end].drop(while: isSpace))
}
