/// A service of the configuration file: an address, and the account to use there.
public struct Service: Sendable, Equatable {
  public var address: ServiceAddress
  /// The provider's id.
  public var provider: String
  /// The account's user name or id; `nil` for the application's usual account.
  public var account: String?
  /// The user name to send with the token, if a protocol needs one.
  public var username: String?
  public var scheme: ServedHost.Scheme?
  /// The scopes that the token must have.
  public var scopes: [String]

  public init(
    _ address: ServiceAddress, provider: String, account: String? = nil, username: String? = nil,
    scheme: ServedHost.Scheme? = nil, scopes: [String] = []
  ) {
    self.address = address
    self.provider = provider
    self.account = account
    self.username = username
    self.scheme = scheme
    self.scopes = scopes
  }
}
