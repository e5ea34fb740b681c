/// The `OAuth` scheme of the `Authorization` header. RFC 5849 section 3.5.1.
public enum AuthorizationHeader {
  /// Returns `OAuth a="1", b="2"`, with names and values percent-encoded.
  public static func format(_ parameters: [Parameter]) -> String {
    var header = Array("OAuth ".utf8)
    for (index, parameter) in parameters.enumerated() {
      if index > 0 { header += ", ".utf8 }
      PercentEncoding.append(parameter.name, to: &header)
      header += "=\"".utf8
      PercentEncoding.append(parameter.value, to: &header)
      header.append(quote)
    }
    return String(decoding: header, as: UTF8.self)
  }

  /// Returns the parameters of a header value in their order, `realm` included; `nil` if the value
  /// is not of this scheme or malformed.
  public static func parse(_ text: String) -> [Parameter]? {
    let scheme = text.utf8.prefix(6)
    guard scheme.count == 6, String(decoding: scheme, as: UTF8.self).lowercased() == "oauth " else {
      return nil
    }
    var parameters: [Parameter] = []
    for part in text.utf8.dropFirst(6).split(separator: UInt8(ascii: ",")) {
      let pair = trimmed(part).split(separator: UInt8(ascii: "="), maxSplits: 1)
      guard pair.count == 2 || trimmed(part).isEmpty else { return nil }
      guard let rawName = pair.first, let rawValue = pair.last else { continue }
      guard rawValue.count >= 2, rawValue.first == quote, rawValue.last == quote,
        let name = PercentEncoding.decode(rawName).flatMap({ String(validating: $0, as: UTF8.self) }
        ),
        let value = PercentEncoding.decode(rawValue.dropFirst().dropLast())
          .flatMap({ String(validating: $0, as: UTF8.self) })
      else { return nil }
      parameters.append(Parameter(name, value))
    }
    return parameters
  }

  private static let quote = UInt8(ascii: "\"")
}

private func trimmed(_ bytes: Substring.UTF8View) -> Substring.UTF8View {
  let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
  guard let first = bytes.firstIndex(where: { !isSpace($0) }),
    let last = bytes.lastIndex(where: { !isSpace($0) })
  else { return bytes.prefix(0) }
  return bytes[first...last]
}
