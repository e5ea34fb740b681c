/// What a person decided about an application's use of a provider's accounts.
public struct AccessGrant: Sendable, Equatable {
  /// The decision.
  public enum State: String, Sendable, CaseIterable {
    case granted, denied
  }

  /// Who can see what is posted in the person's name.
  public enum Audience: String, Sendable, CaseIterable {
    case onlyMe, friends, everyone
  }

  /// What an application gets besides, where the person was told that it does.
  public enum Inclusion: String, Sendable, CaseIterable {
    case refreshToken
  }

  /// The application as it named itself in `initialize`.
  public var application: String
  public var provider: String
  public var state: State
  public var permissions: [String]
  public var audience: Audience?
  public var includes: [Inclusion]
  public var changedAt: UnixTime

  public init(
    application: String, provider: String, state: State, permissions: [String] = [],
    audience: Audience? = nil, includes: [Inclusion] = [], changedAt: UnixTime
  ) {
    self.application = application
    self.provider = provider
    self.state = state
    self.permissions = permissions
    self.audience = audience
    self.includes = includes
    self.changedAt = changedAt
  }
}
