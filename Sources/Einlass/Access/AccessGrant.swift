internal import EinlassJSON

/// A person's decision about an application's use of a provider's accounts.
public struct AccessGrant: Sendable, Equatable {
  /// The decision itself.
  public enum State: String, Sendable, CaseIterable {
    case granted, denied
  }

  /// The audience of posts in the person's name.
  public enum Audience: String, Sendable, CaseIterable {
    case onlyMe, friends, everyone
  }

  /// A further right of the application, which the prompt has shown to the person.
  public enum Inclusion: String, Sendable, CaseIterable {
    case refreshToken
  }

  /// The largest number of accounts in one grant.
  public static let accountsLimit = 100

  /// The application's id, as it named itself in `initialize`.
  public var application: String
  public var provider: String
  public var state: State
  /// The only accounts that the grant is for; `nil` for every account of the provider.
  public var accounts: [Account.ID]?
  public var permissions: [String]
  public var audience: Audience?
  public var includes: [Inclusion]
  /// The application's name for people at the time of the decision; `nil` if it had none.
  public var title: String?
  public var changedAt: UnixTime

  public init(
    application: String, provider: String, state: State, accounts: [Account.ID]? = nil,
    permissions: [String] = [], audience: Audience? = nil, includes: [Inclusion] = [],
    title: String? = nil, changedAt: UnixTime
  ) {
    self.application = application
    self.provider = provider
    self.state = state
    self.accounts = accounts
    self.permissions = permissions
    self.audience = audience
    self.includes = includes
    self.title = title
    self.changedAt = changedAt
  }

  /// Whether the application may use this account.
  func allows(_ account: Account.ID) -> Bool {
    state == .granted && (accounts?.contains(account) ?? true)
  }
}

extension AccessGrant {
  /// The key and sort order of a decision. Compares as bytes.
  public struct Place: Sendable, Comparable {
    public var provider: String
    public var application: String

    public init(provider: String, application: String) {
      self.provider = provider
      self.application = application
    }

    /// Compares bytes, because `String` equates canonically equivalent names.
    public static func == (left: Place, right: Place) -> Bool {
      sameBytes(left.provider, right.provider) && sameBytes(left.application, right.application)
    }

    /// Orders by provider, then application.
    public static func < (left: Place, right: Place) -> Bool {
      sameBytes(left.provider, right.provider)
        ? left.application.utf8.lexicographicallyPrecedes(right.application.utf8)
        : left.provider.utf8.lexicographicallyPrecedes(right.provider.utf8)
    }
  }

  /// The key of this decision.
  public var place: Place { Place(provider: provider, application: application) }
}

extension [AccessGrant] {
  /// Returns the index of the first element not before this place, in a sorted list.
  public func firstIndex(notBefore place: AccessGrant.Place) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
