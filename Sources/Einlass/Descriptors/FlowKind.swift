/// The kinds of flow, by their names in the protocol and in descriptors.
public enum FlowKind: String, Sendable, CaseIterable {
  case reverseAuth, systemToken, authorizationCode, deviceCode, oauth1, clientCredentials
  case jwtBearer, tokenExchange, passwordSession

  /// Whether an assertion or another token is traded for the token. RFC 7523, RFC 8693.
  public var tradesAssertion: Bool { self == .jwtBearer || self == .tokenExchange }

  /// Whether a sign-in by this flow asks the person nothing. If people can sign in at the provider,
  /// only `flowKind` chooses it, because a token in nobody's name must not come from a sign-in of a
  /// person that was skipped.
  var isSilent: Bool { self == .clientCredentials || tradesAssertion }
}
