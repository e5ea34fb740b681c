/// The parameters of an `Authorization: OAuth …` header (RFC 5849 section 3.5.1).
enum OAuth1Header {
  /// Decodes the parameters after the word `OAuth`. Returns `nil` if they are malformed.
  static func parameters(_ text: String) -> [Parameter]? {
    var parameters: [Parameter] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let pair = String(part).trimming(" \t")
        .split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, pair[1].count >= 2, pair[1].hasPrefix("\""), pair[1].hasSuffix("\""),
        let name = PercentCoding.decode(pair[0]), !name.isEmpty,
        let value = PercentCoding.decode(pair[1].dropFirst().dropLast())
      else { return nil }
      parameters.append(Parameter(name: name, value: value))
    }
    return parameters
  }

  /// Returns the header's value, including the word `OAuth`.
  static func text(_ parameters: [Parameter]) -> String {
    "OAuth "
      + parameters.map { parameter in
        "\(PercentCoding.encode(parameter.name))=\"\(PercentCoding.encode(parameter.value))\""
      }.joined(separator: ", ")
  }
}
