internal import EinlassJSON

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

extension AccessGrant {
  /// What a decision is about, and its place in a list; compared as bytes.
  public struct Place: Sendable, Comparable {
    public var provider: String
    public var application: String

    public init(provider: String, application: String) {
      self.provider = provider
      self.application = application
    }

    /// Names that only look the same are different ones.
    public static func == (left: Place, right: Place) -> Bool {
      sameBytes(left.provider, right.provider) && sameBytes(left.application, right.application)
    }

    /// By provider, then application.
    public static func < (left: Place, right: Place) -> Bool {
      sameBytes(left.provider, right.provider)
        ? left.application.utf8.lexicographicallyPrecedes(right.application.utf8)
        : left.provider.utf8.lexicographicallyPrecedes(right.provider.utf8)
    }
  }

  /// Where it stands in a list.
  public var place: Place { Place(provider: provider, application: application) }
}

extension [AccessGrant] {
  /// Where the first one of this place or behind it stands, in a list that is in order.
  public func firstIndex(notBefore place: AccessGrant.Place) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
