internal import EinlassJSON

/// A request of git to a credential helper: lines `key=value` (gitcredentials(7)).
package struct GitInput {
  private var values: [String: String] = [:]
  /// The numbers of the lines, from 1, by their keys.
  private var lines: [String: Int] = [:]
  /// The values of `capability[]`.
  private(set) var capabilities: [String] = []
  /// The values of `wwwauth[]`: the challenges of the server.
  private(set) var challenges: [String] = []

  /// Returns the value of a key; `nil` for an empty one, which says nothing.
  package subscript(_ key: String) -> String? { values[key].flatMap { $0.isEmpty ? nil : $0 } }

  /// Parses the lines up to a blank line or the end. Refuses NUL, CR and a repeated key, because a
  /// helper and git could read such lines differently.
  package init(_ bytes: [UInt8]) throws(Failure) {
    let rows = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, row) in rows.enumerated() {
      guard !row.isEmpty else { return }
      let line = index + 1
      guard !row.contains(0), !row.contains(UInt8(ascii: "\r")),
        let text = String(validating: row, as: UTF8.self)
      else { throw .badInput(line: line, "holds a NUL, a CR or invalid UTF-8") }
      // Bytes, as git does: a combining mark after the sign would make another character of it.
      guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex
      else {
        throw .badInput(line: line, "is not of the form key=value")
      }
      let (key, value) = (String(text[..<equals]), String(text[text.utf8.index(after: equals)...]))
      switch key {
      case "capability[]": capabilities.append(value)
      case "wwwauth[]": challenges.append(value)
      case _ where key.hasSuffix("[]"): break
      default:
        guard values.updateValue(value, forKey: key) == nil else {
          throw .badInput(line: line, "repeats the key \(clean(key))")
        }
        lines[key] = line
      }
    }
  }

  /// Returns the address of the request. Throws for a host that could name another place.
  package func address() throws(Failure) -> String {
    guard let scheme = values["protocol"], let host = values["host"], !host.isEmpty else {
      throw .unusable("The input names no protocol and host.")
    }
    guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw bad("host", "names a host in characters outside ASCII, and not in Punycode (xn--)")
    }
    guard host.utf8.allSatisfy(isHostByte) else {
      throw bad("host", "holds a character that no host name has")
    }
    if ["https", "http"].contains(scheme) {
      return "\(scheme)://\(host)/\(values["path"].map(percentEncodedPath) ?? "")"
    }
    guard let ports = Self.mailPorts[scheme] else {
      throw bad("protocol", "names a protocol over which no token is sent")
    }
    let parts = host.split(separator: ":", omittingEmptySubsequences: false)
    let port = parts.count == 1 ? ports[0] : String(parts[1])
    guard parts.count <= 2, ports.contains(port) else {
      throw bad("host", "names a port that is none of \(scheme): \(ports.joined(separator: ", "))")
    }
    // A mail provider has one host for all ports. A connection to these may stay without TLS, so a
    // service has to name them.
    return ["25", "143"].contains(port) ? "\(parts[0]):\(port)" : String(parts[0])
  }

  /// The software of the server, if a challenge names one that einlass can be told about by the
  /// server's address.
  package var software: String? {
    ["Gitea", "Forgejo", "GitLab"].first { name in
      challenges.contains { $0.lowercased().holds("realm=\"\(name.lowercased())") }
    }
  }

  /// The ports of the mail protocols, the usual one first.
  private static let mailPorts = [
    "smtp": ["25", "465", "587"], "smtps": ["465", "587"], "imap": ["143", "993"],
    "imaps": ["993"],
  ]

  /// A failure about the line of this key.
  private func bad(_ key: String, _ sentence: String) -> Failure {
    .badInput(line: lines[key] ?? 1, sentence)
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
