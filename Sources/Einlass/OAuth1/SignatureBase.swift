/// The string that OAuth 1.0a signs. RFC 5849 section 3.4.1.
public enum SignatureBase {
  /// Method, base string URI and parameters, each percent-encoded, joined with `&`. Section 3.4.1.1.
  ///
  /// `parameters`: those of the `Authorization` header without `realm`, and those of the body, if and only if it is
  /// form-encoded. The query's are taken from the address.
  public static func text(method: String, address: WebAddress, parameters: [Parameter]) -> String {
    String(
      decoding: bytes(method: method, address: address, parameters: parameters), as: UTF8.self)
  }

  /// The same as the bytes that are signed.
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

  /// Scheme and host in lower case, the port unless it is the scheme's own, the path as sent, at least `/`.
  /// Section 3.4.1.2. `WebAddress` has refused user-info and fragments.
  static func uri(of address: WebAddress) -> String {
    address.origin + (address.path.isEmpty ? "/" : address.path)
  }

  /// All parameters, encoded first, then sorted by name and, where names are equal, by value; duplicates stay.
  /// Section 3.4.1.3.2.
  static func normalized(_ parameters: [Parameter], query: String?) -> [UInt8] {
    // A parsed address has sound escapes, so its query always decodes.
    let inQuery = query.map { FormEncoding.decodePairs($0.utf8, plus: .space) ?? [] } ?? []
    let pairs =
      inQuery.map { Pair(name: $0.name, value: $0.value) }
      + parameters.map { Pair(name: Array($0.name.utf8), value: Array($0.value.utf8)) }
    var joined: [UInt8] = []
    for pair in pairs.sorted() {
      if !joined.isEmpty { joined.append(UInt8(ascii: "&")) }
      joined += pair.text
    }
    return joined
  }

  /// An encoded name, `=` and the encoded value.
  private struct Pair: Comparable {
    var text: [UInt8] = []
    private let nameCount: Int

    init(name: [UInt8], value: [UInt8]) {
      text.reserveCapacity(name.count + value.count + 1)
      PercentEncoding.append(name, to: &text)
      nameCount = text.count
      text.append(UInt8(ascii: "="))
      PercentEncoding.append(value, to: &text)
    }

    static func < (left: Pair, right: Pair) -> Bool {
      let names = (left.text[..<left.nameCount], right.text[..<right.nameCount])
      return names.0 == names.1
        ? left.text.lexicographicallyPrecedes(right.text)
        : names.0.lexicographicallyPrecedes(names.1)
    }
  }
}
