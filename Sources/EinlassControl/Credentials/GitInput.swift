internal import EinlassJSON

/// A request of git to a credential helper: lines `key=value` (gitcredentials(7)).
struct GitInput {
  private var values: [String: String] = [:]
  /// The values of `capability[]`.
  private(set) var capabilities: [String] = []

  subscript(_ key: String) -> String? { values[key] }

  /// Parses the lines up to a blank line or the end. Refuses NUL and CR, because a helper and git
  /// could read such a line differently.
  init(_ bytes: [UInt8]) throws(Failure) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      guard !line.isEmpty else { return }
      guard !line.contains(0), !line.contains(UInt8(ascii: "\r")),
        let text = String(validating: line, as: UTF8.self)
      else { throw .badInput(line: index + 1, "holds a NUL, a CR or invalid UTF-8") }
      guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
        throw .badInput(line: index + 1, "is not of the form key=value")
      }
      let (key, value) = (String(text[..<equals]), String(text[text.index(after: equals)...]))
      if key == "capability[]" { capabilities.append(value) } else { values[key] = value }
    }
  }

  /// Returns the address of the request. Throws for a host that could name another place.
  func address() throws(Failure) -> String {
    guard let scheme = values["protocol"], let host = values["host"], !host.isEmpty else {
      throw .unusable("The input names no protocol and host.")
    }
    guard host.utf8.allSatisfy(isHostByte) else {
      throw .unusable("The host of the input holds a character that no host name has.")
    }
    switch scheme {
    case "https", "http":
      return "\(scheme)://\(host)/\(values["path"].map(percentEncodedPath) ?? "")"
    case "smtp", "smtps", "imap", "imaps":
      // git send-email and git imap-send name the port. A mail provider has one host for all.
      let name = host.split(separator: ":").first ?? ""
      return String(name)
    default: throw .unusable("No token is sent over the protocol \(scheme).")
    }
  }
}

private func isHostByte(_ byte: UInt8) -> Bool {
  isUnreserved(byte) || ":[]".utf8.contains(byte)
}

/// RFC 3986 section 2.3.
private func isUnreserved(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"):
    true
  default: "-._~".utf8.contains(byte)
  }
}

/// Returns a path that git has decoded, encoded again. RFC 3986 section 2.1.
private func percentEncodedPath(_ path: String) -> String {
  let digits = Array("0123456789ABCDEF")
  return path.utf8.reduce(into: "") { text, byte in
    if isUnreserved(byte) || "/!$&'()*+,;=:@".utf8.contains(byte) {
      text.unicodeScalars.append(Unicode.Scalar(byte))
    } else {
      text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
    }
  }
}
