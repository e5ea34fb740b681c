/// An account with its credential, supplied by the front end: `accounts.add` of the protocol.
public struct AddAccountRequest: Sendable {
  public var provider: String
  public var username: String
  public var displayName: String?
  public var subject: String?
  /// The account's own credential, stored with the role `system`.
  public var credential: Credential
  /// The registration that the credential was issued to. OAuth 1.0a needs its secret, because
  /// reverse auth signs with it.
  @Indirect public var registration: ClientRegistration
  /// Whether to overwrite the account of the same provider and subject (else username) instead of
  /// throwing `accountExists`.
  public var replacesExisting: Bool

  public init(
    provider: String, username: String, displayName: String? = nil, subject: String? = nil,
    credential: Credential, registration: ClientRegistration, replacesExisting: Bool = false
  ) {
    self.provider = provider
    self.username = username
    self.displayName = displayName
    self.subject = subject
    self.credential = credential
    self.registration = registration
    self.replacesExisting = replacesExisting
  }
}
