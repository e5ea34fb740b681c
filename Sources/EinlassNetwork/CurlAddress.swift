import CCurl
import Einlass

/// An address in the hands of libcurl's own parser.
@safe struct CurlAddress: ~Copyable {
  private let handle: OpaquePointer

  /// The text for libcurl, put together by its functions, read again by them and compared with the parts it
  /// came from: the host that was checked is the host that is connected to.
  static func rebuilt(from address: WebAddress) throws(TransferFault) -> String {
    let parts: [(CURLUPart, String?)] = [
      (CURLUPART_SCHEME, address.scheme.rawValue), (CURLUPART_HOST, address.host),
      (CURLUPART_PORT, address.port.map { String($0) }),
      (CURLUPART_PATH, address.path.isEmpty ? "/" : address.path),
      (CURLUPART_QUERY, address.query == "" ? nil : address.query),
      (CURLUPART_USER, nil), (CURLUPART_PASSWORD, nil), (CURLUPART_FRAGMENT, nil),
    ]
    let written = try CurlAddress()
    for case (let part, let value?) in parts { try written.set(part, value) }
    guard let text = written.get(CURLUPART_URL) else { throw .badAddress }
    let read = try CurlAddress()
    try read.set(CURLUPART_URL, text)
    for (part, value) in parts
    where read.get(part).map({ Array($0.utf8) }) != value.map({ Array($0.utf8) }) {
      throw .badAddress
    }
    return text
  }

  private init() throws(TransferFault) {
    guard let handle = unsafe ccurl_url_init() else { throw .curl(CurlReport(CURLE_OUT_OF_MEMORY)) }
    unsafe self.handle = handle
  }

  deinit { unsafe ccurl_url_cleanup(handle) }

  private func set(_ part: CURLUPart, _ value: String) throws(TransferFault) {
    let flags = UInt32(CURLU_DISALLOW_USER | CURLU_PATH_AS_IS)
    guard unsafe ccurl_url_set(handle, part, value, flags) == CURLUE_OK else { throw .badAddress }
  }

  private func get(_ part: CURLUPart) -> String? {
    guard let text = unsafe ccurl_url_get(handle, part) else { return nil }
    defer { unsafe ccurl_free(text) }
    return unsafe String(cString: text)
  }
}
