/// The parameters of `auth.perform`.
public struct PerformRequest: Sendable {
  /// The conditions for asking the person to choose an account.
  public enum Selection: String, Sendable, CaseIterable {
    /// Always.
    case always
    /// Only if there are several accounts and the application prefers none of them.
    case whenMany
  }

  /// The application's own name for itself. Access is granted to this name.
  public var application: String
  /// The application's name for people.
  public var applicationTitle: String?
  /// The application's own registration at the provider; `nil` if it has none.
  @Indirect public var registration: ClientRegistration?
  /// The provider's id in the catalogue.
  public var provider: String
  /// Answers `selectAccount` and `confirmAccount` in advance.
  public var account: Account.ID?
  /// Answers `confirmAccount` in advance, at a provider with room for one account only.
  public var confirmsOnlyAccount: Bool
  public var selection: Selection
  /// `nil` or empty: the provider's defaults.
  public var permissions: [String]?
  /// `nil`: the provider's default.
  public var audience: AccessGrant.Audience?
  /// `nil`: the flow of the stored credential, otherwise the provider's first.
  public var flowKind: FlowKind?
  /// `false` ends the request after the selection, with the account alone.
  public var fetchesCredential: Bool
  /// `false` throws `interactionRequired` in place of every prompt.
  public var isInteractive: Bool
  /// Whether the refresh token is returned with the credential; the access grant must include it.
  public var includesRefreshToken: Bool
  /// The remaining lifetime that the credential must have, in seconds; `nil` for the provider's
  /// margin, usually a minute, as far as the credential can be renewed.
  public var minValiditySeconds: Int64?
  /// Called after the answer to `grantAccess` has been stored.
  public var decided: @Sendable (AccessGrant) -> Void = { _ in }
  /// The parameters of the sign-in, if the person has to sign in.
  @Indirect public var signIn: SignInRequest?
  /// Whether the person signs in when no account works.
  public var signsInIfNeeded = false
  /// Returns the application's own registration at another provider, by the provider's id.
  public var registrations: @Sendable (String) -> ClientRegistration? = { _ in nil }

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

/// The result of a successful `auth.perform`.
public struct PerformResult: Sendable, Equatable {
  /// The account after the flow.
  @Indirect public var account: Account
  /// The person, as the provider reports them; `nil` without a credential.
  @Indirect public var identity: Identity?
  /// The registration that the credential was issued to; `nil` without a credential.
  public var clientID: String?
  /// The application's credential; `nil` if the request did not ask for one.
  public var credential: Credential?
  /// Whether the person's sign-in added the account; `nil` without a sign-in during the request.
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
