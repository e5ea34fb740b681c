/// An account that a front end brings along: `accounts.add` of the protocol, section 3.
public struct AddAccountRequest: Sendable {
  public var provider: String
  public var username: String
  public var displayName: String?
  public var subject: String?
  /// The account's own credential; becomes the system's.
  public var credential: Credential
  /// Under which registration it was issued; OAuth 1.0a needs its secret, because reverse auth signs with it.
  public var registration: ClientRegistration
  /// Overwrite the account of the same provider and subject (else username) instead of `accountExists`.
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
