/// A request to the redirect address that ends no sign-in.
public enum RefusedReturn: Sendable, Equatable {
  /// A request that is no response of a provider, answered with this status.
  case request(status: Int)
  /// A response that names no waiting sign-in.
  case foreign(RedirectParameters)

  /// The reason for the refusal.
  var sentence: String {
    switch self {
    case .request(405): "A browser brings an answer by GET or POST. This was another method."
    case .request(411): "The browser did not say how long the posted answer is."
    case .request(413): "The posted answer is longer than 64 KiB."
    case .request(415): "The answer was posted in another form than \(FormEncoding.mediaType)."
    case .request(421):
      "The browser came to another host than the one of this sign-in: 127.0.0.1 and localhost are two hosts."
    case .request(431):
      "The browser sent more than 64 KiB of headers. Most of them are cookies of other programs on this computer."
    case .request: "The request is no answer of a provider."
    case .foreign(let parameters):
      if let error {
        "The answer had the error \(error), but not \(Self.proof)."
      } else if ReturnedParameters(parameters).isEmpty {
        "The browser came back without an answer."
      } else {
        "The answer did not have \(Self.proof)."
      }
    }
  }

  /// Whether the request names an error of the provider, which explains more than any other.
  public var namesError: Bool { error != nil }

  private static let proof = "the state or the token of this sign-in"

  /// The error of a response, if it looks like one of RFC 6749, because any web page can send one.
  private var error: String? {
    guard case .foreign(let parameters) = self,
      let error = ReturnedParameters(parameters)["error"], 1...64 ~= error.utf8.count,
      error.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || (0x61...0x7A).contains($0) })
    else { return nil }
    return error
  }
}
