/// What a front end wants when it asks for a sign-in: `auth.perform` of the protocol, section 3.
public struct PerformRequest: Sendable {
  /// Whether one account alone is asked about.
  public enum Selection: String, Sendable, CaseIterable {
    /// Always, as Einlass did (seeds 1.3 T2, 1.4 F2).
    case always
    /// Only when there is a choice, as SocialAuth did (seeds 2.1).
    case whenMany
  }

  /// The application as it named itself: whom access is granted to.
  public var application: String
  /// The application's own registration at the provider; `nil` when it has none.
  public var registration: ClientRegistration?
  /// The provider's id in the catalogue.
  public var provider: String
  /// Answers `selectAccount` and `confirmAccount` in advance.
  public var account: Account.ID?
  /// Answers `confirmAccount` in advance: a provider's only account, where it has room for one.
  public var confirmsOnlyAccount: Bool
  public var selection: Selection
  /// `nil` or empty: the provider's defaults.
  public var permissions: [String]?
  /// `nil`: the provider's default.
  public var audience: AccessGrant.Audience?
  /// `nil`: the first flow of the provider.
  public var flowKind: FlowKind?
  /// `false` ends after the selection, with the account alone.
  public var fetchesCredential: Bool
  /// `false` makes every prompt an `interactionRequired`.
  public var isInteractive: Bool
  /// Whether a refresh token is handed out with the credential; access has to include it.
  public var includesRefreshToken: Bool
  /// How long the credential has to be good for; `nil`: a minute, if that can be had.
  public var minValiditySeconds: Int64?
  /// What a sign-in would be asked for.
  public var signIn: SignInRequest?
  /// Whether the person signs in where there is no account that works.
  public var signsInIfNeeded = false

  public init(
    application: String, registration: ClientRegistration?, provider: String,
    account: Account.ID? = nil, confirmsOnlyAccount: Bool = false, selection: Selection = .always,
    permissions: [String]? = nil, audience: AccessGrant.Audience? = nil,
    flowKind: FlowKind? = nil, fetchesCredential: Bool = true, isInteractive: Bool = true,
    includesRefreshToken: Bool = false
  ) {
    self.application = application
    self.registration = registration
    self.provider = provider
    self.account = account
    self.confirmsOnlyAccount = confirmsOnlyAccount
    self.selection = selection
    self.permissions = permissions
    self.audience = audience
    self.flowKind = flowKind
    self.fetchesCredential = fetchesCredential
    self.isInteractive = isInteractive
    self.includesRefreshToken = includesRefreshToken
  }
}

/// How a sign-in ended well.
public struct PerformResult: Sendable, Equatable {
  /// The account as it is after the flow.
  public var account: Account
  /// Who the provider says it is; `nil` without a credential.
  public var identity: Identity?
  /// The registration that the credential was issued to; `nil` without one.
  public var clientID: String?
  /// What the application gets; `nil` when it did not want one.
  public var credential: Credential?
  /// Whether the person's sign-in on the way has added the account; `nil` without such a sign-in.
  public var created: Bool?

  public init(
    account: Account, identity: Identity? = nil, clientID: String? = nil,
    credential: Credential? = nil
  ) {
    self.account = account
    self.identity = identity
    self.clientID = clientID
    self.credential = credential
  }
}
