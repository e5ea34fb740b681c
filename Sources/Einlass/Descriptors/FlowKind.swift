/// The kinds of flow, by their names in the protocol and in descriptors.
public enum FlowKind: String, Sendable, CaseIterable {
  case reverseAuth, systemToken, authorizationCode, deviceCode, oauth1, clientCredentials
  case jwtBearer, tokenExchange, passwordSession

  /// Whether an assertion or another token is traded for the token. RFC 7523, RFC 8693.
  public var tradesAssertion: Bool { self == .jwtBearer || self == .tokenExchange }

  /// Whether a sign-in by this flow asks the person nothing.
  var isSilent: Bool { self == .clientCredentials || tradesAssertion }
}
