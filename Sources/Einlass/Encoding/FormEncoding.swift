/// Encoding and decoding of `application/x-www-form-urlencoded`.
public enum FormEncoding {
  /// The media type, as sent: without a charset, which some providers reject.
  public static let mediaType = "application/x-www-form-urlencoded"

  /// The meaning of `+` in decoding.
  public enum Plus: Sendable {
    /// A space: the definition of the media type. RFC 5849 section 3.4.1.3.1 decodes a query so.
    case space
    /// A plus sign, as in RFC 3986. Token responses of OAuth 1.0a and reverse auth are decoded so.
    case plus
  }

  /// Returns the fields as a body or a query, with strict percent-encoding: a space is `%20`.
  public static func encode(_ fields: [Parameter]) -> String {
    fields.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
      .joined(separator: "&")
  }

  /// Returns one name or value in the media type's own encoding: a space is `+`. RFC 6749 appendix
  /// B.
  static func encode(component: String) -> String {
    replacing("%20", in: PercentEncoding.encode(component), with: "+")
  }

  /// Returns the fields of a body or a query in order, including duplicates; `nil` for a broken
  /// escape or invalid UTF-8.
  public static func decode(_ bytes: some Sequence<UInt8>, plus: Plus) -> [Parameter]? {
    guard let pairs = decodePairs(bytes, plus: plus) else { return nil }
    var fields: [Parameter] = []
    for pair in pairs {
      guard let name = String(validating: pair.name, as: UTF8.self),
        let value = String(validating: pair.value, as: UTF8.self)
      else { return nil }
      fields.append(Parameter(name, value))
    }
    return fields
  }

  /// Returns the fields as bytes, because a signature also covers fields that are not valid UTF-8.
  static func decodePairs(_ bytes: some Sequence<UInt8>, plus: Plus)
    -> [(name: [UInt8], value: [UInt8])]?
  {
    var pairs: [(name: [UInt8], value: [UInt8])] = []
    for field in bytes.split(separator: UInt8(ascii: "&")) {
      let parts = field.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decode(part: parts[0], plus),
        let value = decode(part: parts.count > 1 ? parts[1] : [], plus)
      else { return nil }
      pairs.append((name, value))
    }
    return pairs
  }

  private static func decode(part: ArraySlice<UInt8>, _ plus: Plus) -> [UInt8]? {
    switch plus {
    case .plus: PercentEncoding.decode(part)
    case .space:
      PercentEncoding.decode(part.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
    }
  }
}
