import Einlass

/// A response while it arrives, with its size limits.
@safe struct CurlAnswer {
  /// The content codings that are decoded, although no request asks for one: some servers and
  /// content delivery networks compress every answer.
  static let codings = ["gzip", "deflate"]

  private(set) var headers: [HTTPRequest.Header] = []
  private(set) var body: [UInt8] = []
  /// The reason why the response was rejected.
  private(set) var refusal: TransferFault?

  /// Whether the head is complete. libcurl accepts a head that was cut off by the end of the
  /// connection.
  var hasWholeHead: Bool { part == .rest }

  private enum Part { case head, interimHead, rest }

  private let bodyLimit: Int
  private let limits: TransferLimits
  private var part = Part.head
  private var headerBytes = 0
  private var headerLines = 0
  private var isCompressed = false

  init(bodyLimit: Int, limits: TransferLimits) {
    self.bodyLimit = bodyLimit
    self.limits = limits
  }

  /// Takes a piece of the decoded body. `false` when the transfer must be aborted.
  mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= bodyLimit - body.count else { return refuse(.tooLarge) }
    unsafe body.append(contentsOf: bytes)
    return true
  }

  /// Takes one line with its line end; status lines and trailers too. Returns `false` to abort the
  /// transfer.
  mutating func takeHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
    headerBytes += bytes.count
    headerLines += 1
    guard headerBytes <= limits.headerBytes, headerLines <= limits.headerLines else {
      return refuse(.tooLarge)
    }
    let line = unsafe bytes.prefix { $0 != 0x0D && $0 != 0x0A }
    switch part {
    case .rest: return true
    case _ where unsafe line.isEmpty:
      part = part == .head ? .rest : .head
      return true
    case _ where unsafe line.starts(with: "HTTP/".utf8):
      headers = []
      isCompressed = false
      part =
        unsafe line.drop { $0 != 0x20 }.dropFirst().first == UInt8(ascii: "1")
        ? .interimHead : .head
      return true
    default: return unsafe takeField(line)
    }
  }

  private mutating func takeField(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
    guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")) else { return true }
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let rest = unsafe line[colon...].dropFirst().drop(while: isBlank)
    let blanks = unsafe rest.reversed().prefix(while: isBlank).count
    let field = HTTPRequest.Header(
      unsafe String(decoding: line[..<colon], as: UTF8.self).lowercased(),
      unsafe String(decoding: rest.dropLast(blanks), as: UTF8.self))
    headers.append(field)
    if field.name == "content-encoding" { return takeCoding(field.value.lowercased()) }
    // libcurl decodes any transfer coding, even one that was not requested.
    let isPlain = field.name != "transfer-encoding" || field.value.lowercased() == "chunked"
    return isPlain || refuse(.unaskedCoding)
  }

  /// Takes one layer of a coding that is decoded. Each further layer could make a small response
  /// huge, and libcurl would decode other codings too.
  private mutating func takeCoding(_ coding: String) -> Bool {
    guard !["", "identity", "none"].contains(coding) else { return true }
    guard Self.codings.contains(coding) || coding == "x-gzip", !isCompressed else {
      return refuse(.unreadableCoding(coding))
    }
    isCompressed = true
    return true
  }

  private mutating func refuse(_ fault: TransferFault) -> Bool {
    refusal = fault
    return false
  }
}
