/// The string that OAuth 1.0a signs. RFC 5849 section 3.4.1.
public enum SignatureBase {
  /// Returns the method, the base string URI and the parameters, each percent-encoded, joined with
  /// `&`. RFC 5849 section 3.4.1.1.
  ///
  /// `parameters`: those of the `Authorization` header without `realm`, and those of the body if it
  /// is form-encoded. The query's are taken from the address.
  public static func text(method: String, address: WebAddress, parameters: [Parameter]) -> String {
    String(
      decoding: bytes(method: method, address: address, parameters: parameters), as: UTF8.self)
  }

  static func bytes(method: String, address: WebAddress, parameters: [Parameter]) -> [UInt8] {
    var base: [UInt8] = []
    base.reserveCapacity(512)
    PercentEncoding.append(method, to: &base)
    base.append(UInt8(ascii: "&"))
    PercentEncoding.append(uri(of: address), to: &base)
    base.append(UInt8(ascii: "&"))
    PercentEncoding.append(normalized(parameters, query: address.query), to: &base)
    return base
  }

  /// Returns scheme and host in lower case, the port unless it is the scheme's own, and the path as
  /// sent, at least `/`. RFC 5849 section 3.4.1.2. `WebAddress` has already refused user-info
  /// and fragments.
  static func uri(of address: WebAddress) -> String {
    address.origin + (address.path.isEmpty ? "/" : address.path)
  }

  /// Returns all parameters, encoded first, then sorted by name and, for equal names, by value.
  /// Duplicates stay. RFC 5849 section 3.4.1.3.2.
  static func normalized(_ parameters: [Parameter], query: String?) -> [UInt8] {
    // A parsed address has only valid escapes, so its query always decodes.
    let inQuery = query.map { FormEncoding.decodePairs($0.utf8, plus: .space) ?? [] } ?? []
    var pairs = EncodedPairs(capacity: parameters.count + inQuery.count)
    for pair in inQuery { pairs.add(pair.name.span, pair.value.span) }
    for parameter in parameters { pairs.add(parameter.name.utf8.span, parameter.value.utf8.span) }
    return pairs.joined()
  }

  /// Encoded `name=value` pairs in one buffer, so that sorting moves only indices.
  private struct EncodedPairs {
    private var text: [UInt8] = []
    private var places: [(start: Int, nameEnd: Int, end: Int)] = []

    init(capacity: Int) {
      text.reserveCapacity(64 * capacity)
      places.reserveCapacity(capacity)
    }

    mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
      let start = text.count
      PercentEncoding.append(name, to: &text)
      let nameEnd = text.count
      text.append(UInt8(ascii: "="))
      PercentEncoding.append(value, to: &text)
      places.append((start, nameEnd, text.count))
    }

    func joined() -> [UInt8] {
      let sorted = places.sorted { left, right in
        let names = (text[left.start..<left.nameEnd], text[right.start..<right.nameEnd])
        return names.0 == names.1
          ? text[left.nameEnd..<left.end]
            .lexicographicallyPrecedes(text[right.nameEnd..<right.end])
          : names.0.lexicographicallyPrecedes(names.1)
      }
      var joined: [UInt8] = []
      joined.reserveCapacity(text.count + sorted.count)
      for place in sorted {
        if !joined.isEmpty { joined.append(UInt8(ascii: "&")) }
        joined += text[place.start..<place.end]
      }
      return joined
    }
  }
}
