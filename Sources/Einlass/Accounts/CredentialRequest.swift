/// What a front end wants of an account without asking a person: `credentials.get` and its siblings of the protocol.
public struct CredentialRequest: Sendable {
  /// The application as it named itself: access has to be granted to it.
  public var application: String
  /// The application's own registration at a provider, by the provider's id; `nil` when it has none.
  public var registration: @Sendable (String) -> ClientRegistration?
  public var account: Account.ID
  /// The protected resource that it is for, exactly; `nil` for none in particular. RFC 8707.
  public var resource: String?
  /// What it has to be good for, where that is known.
  public var scopes: [String] = []
  /// How long the credential has to be good for; `nil`: a minute, if that can be had.
  public var minValiditySeconds: Int64?
  /// A new one, however good the stored one is.
  public var forcesRefresh: Bool
  /// What the person could be asked: whether a sign-in would mend it.
  public var promptKinds: Set<Prompt.Kind> = []
  /// Whether the provider is to be left alone; a forced refresh does not care.
  public var pause: Pause

  public init(
    application: String, registration: @escaping @Sendable (String) -> ClientRegistration?,
    account: Account.ID, minValiditySeconds: Int64? = nil, forcesRefresh: Bool = false,
    pause: Pause = .none
  ) {
    self.application = application
    self.registration = registration
    self.account = account
    self.minValiditySeconds = minValiditySeconds
    self.forcesRefresh = forcesRefresh
    self.pause = pause
  }
}
