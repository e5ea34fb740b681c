/// The string that OAuth 1.0a signs. RFC 5849 section 3.4.1.
public enum SignatureBase {
  /// Method, base string URI and parameters, each percent-encoded, joined with `&`. Section 3.4.1.1.
  ///
  /// `parameters`: those of the `Authorization` header without `realm`, and those of the body, if and only if it is
  /// form-encoded. The query's are taken from the address.
  public static func text(method: String, address: WebAddress, parameters: [Parameter]) -> String {
    [method, uri(of: address), normalized(parameters, query: address.query)]
      .map(PercentEncoding.encode).joined(separator: "&")
  }

  /// Scheme and host in lower case, the port unless it is the scheme's own, the path as sent, at least `/`.
  /// Section 3.4.1.2. `WebAddress` has refused user-info and fragments.
  static func uri(of address: WebAddress) -> String {
    address.origin + (address.path.isEmpty ? "/" : address.path)
  }

  /// All parameters, encoded first, then sorted by name and, where names are equal, by value; duplicates stay.
  /// Section 3.4.1.3.2.
  static func normalized(_ parameters: [Parameter], query: String?) -> String {
    // A parsed address has sound escapes, so its query always decodes.
    let inQuery = FormEncoding.decodePairs((query ?? "").utf8, plus: .space) ?? []
    let pairs =
      inQuery.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
      + parameters.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
    return pairs.sorted(by: <).map { "\($0)=\($1)" }.joined(separator: "&")
  }
}
