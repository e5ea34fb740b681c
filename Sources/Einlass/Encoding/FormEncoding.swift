/// `application/x-www-form-urlencoded`, both ways.
public enum FormEncoding {
  /// The media type, as sent: without a charset, which some providers reject.
  public static let mediaType = "application/x-www-form-urlencoded"

  /// What a `+` stands for.
  public enum Plus: Sendable {
    /// A space: the definition of the media type. RFC 5849 section 3.4.1.3.1 decodes a query so.
    case space
    /// Itself, as in the queries of RFC 3986: how Einlass read the answer of reverse auth (seeds 1.3).
    case plus
  }

  /// Fields as a body or a query: strict percent-encoding, so a space is `%20`.
  public static func encode(_ fields: [Parameter]) -> String {
    fields.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
      .joined(separator: "&")
  }

  /// A name or a value alone, as the media type writes it: a space is `+`. RFC 6749 appendix B.
  static func encode(component: String) -> String {
    replacing("%20", in: PercentEncoding.encode(component), with: "+")
  }

  /// The fields of a body or a query in their order, duplicates included; `nil` when an escape is broken or
  /// the text is not UTF-8.
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

  /// The same as bytes, for signing what is not text.
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
