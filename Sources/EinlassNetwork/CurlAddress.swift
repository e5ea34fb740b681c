import CCurl
import Einlass

extension WebAddress {
  /// Returns the address for libcurl. The text is parsed by libcurl and compared with these parts,
  /// so that libcurl connects to the same host that was checked.
  func textForCurl() throws(TransferFault) -> String {
    // libcurl's functions for setting a part would change %2F to %2f, and the signature covers %2F.
    let target = path.isEmpty ? "/" : path
    let question = query.map { $0.isEmpty ? "" : "?\($0)" } ?? ""
    let text = "\(origin)\(target)\(question)"

    guard let url = unsafe ccurl_url_init() else { throw .curl(CurlReport(CURLE_OUT_OF_MEMORY)) }
    defer { unsafe ccurl_url_cleanup(url) }
    let flags = UInt32(CURLU_DISALLOW_USER | CURLU_PATH_AS_IS)
    guard unsafe ccurl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK else {
      throw .badAddress
    }
    let parts: [(CURLUPart, String?)] = [
      (CURLUPART_SCHEME, scheme.rawValue), (CURLUPART_HOST, host),
      (CURLUPART_PORT, port.map { String($0) }), (CURLUPART_PATH, target),
      (CURLUPART_QUERY, query == "" ? nil : query),
      (CURLUPART_USER, nil), (CURLUPART_PASSWORD, nil), (CURLUPART_FRAGMENT, nil),
    ]
    for (part, value) in parts {
      guard unsafe bytes(of: part, in: url) == value.map({ Array($0.utf8) }) else {
        throw .badAddress
      }
    }
    return text
  }

  private func bytes(of part: CURLUPart, in url: OpaquePointer) -> [UInt8]? {
    guard let text = unsafe ccurl_url_get(url, part) else { return nil }
    defer { unsafe ccurl_free(text) }
    return unsafe Array(String(cString: text).utf8)
  }
}
