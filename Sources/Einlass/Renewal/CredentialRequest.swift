/// A request for an account's credential without a prompt: `credentials.get` and its siblings in
/// the protocol.
public struct CredentialRequest: Sendable {
  /// The application's id, as it named itself. It needs a grant for the account's provider.
  public var application: String
  /// Returns the application's own registration at a provider, by the provider's id; `nil` when it
  /// has none.
  public var registration: @Sendable (String) -> ClientRegistration?
  public var account: Account.ID
  /// The identifier of the protected resource that the credential is for; `nil` for none in
  /// particular. RFC 8707.
  public var resource: String?
  /// The origin of the service that the credential is for, or that has refused it: see
  /// `ServiceRefusal.service`. `nil` if it is not known.
  public var service: String?
  /// The scopes that the credential needs; empty for no check.
  public var scopes: [String] = []
  /// The shortest acceptable lifetime of the credential. `nil` for the provider's refresh margin; a
  /// credential with less is then returned if no new one is available.
  public var minValiditySeconds: Int64?
  /// Whether the id_token must have that lifetime too. It may end before the access token.
  public var needsIDToken = false
  /// Whether a rejection leaves a credential that only a sign-in replaces.
  public var rejectsOnlyRenewable = false
  /// Whether to get a new credential even if the stored one is still valid.
  public var forcesRefresh: Bool
  /// The kinds of prompt that the front end can show. They decide whether an error suggests a
  /// sign-in.
  public var promptKinds: Set<Prompt.Kind> = []
  /// The pauses between requests to a failing provider. A forced refresh ignores them.
  public var pause: RetryPause
  /// The accounts with assertions from this account, for which the credential is wanted.
  var dependents: [Account.ID] = []

  public init(
    application: String, registration: @escaping @Sendable (String) -> ClientRegistration?,
    account: Account.ID, minValiditySeconds: Int64? = nil, forcesRefresh: Bool = false,
    pause: RetryPause = .none
  ) {
    self.application = application
    self.registration = registration
    self.account = account
    self.minValiditySeconds = minValiditySeconds
    self.forcesRefresh = forcesRefresh
    self.pause = pause
  }
}
