/// A service's refusal of a credential that only a sign-in replaces. It ends by itself, because the
/// provider may still accept the credential.
public struct ServiceRefusal: Sendable, Equatable {
  /// The time for which a refused credential is not returned for the service.
  public static let seconds: Int64 = 300
  /// The largest number of services that refuse one credential. The newest ones count.
  public static let countLimit: Int64 = 16
  /// The shortest time between two questions to the provider about one account.
  static let pauseSeconds: Int64 = 60

  /// The refused credential, among those of its account.
  public var place: AccountStore.Place
  /// The service's origin, with the scheme https for a host alone. Empty for a question to the
  /// provider about the account: until the end it is not asked again. One of `Refresh` for the
  /// provider's failure to refresh the credential.
  public var service: String
  /// For one of `Refresh`, the time of the first failure since the credential was stored.
  public var endsAt: UnixTime

  public init(of place: AccountStore.Place, by service: String, endsAt: UnixTime) {
    self.place = place
    self.service = service
    self.endsAt = endsAt
  }

  /// The marks of a credential whose refreshes fail. They go when the credential is replaced.
  public enum Refresh: String, CaseIterable, Sendable {
    /// A refresh has failed.
    case failed = "refresh"
    /// The provider has refused a refresh for good.
    case refused = "refresh refused"

    func mark(of place: AccountStore.Place, since time: UnixTime) -> ServiceRefusal {
      ServiceRefusal(of: place, by: rawValue, endsAt: time)
    }
  }

  /// The mark; `nil` for the refusal of a service.
  public var refresh: Refresh? { Refresh(rawValue: service) }

  /// Whether the refusal holds now. One with a later end than any new one is of a wrong clock.
  public func isActive(at now: UnixTime) -> Bool {
    refresh == nil && endsAt > now && endsAt <= Self.latestEnd(at: now)
  }

  /// The end of a new refusal by a machine whose clock is a minute ahead.
  public static func latestEnd(at now: UnixTime) -> UnixTime { now + seconds + 60 }

  /// Returns the origin of an address, or of a host alone; `nil` for another text.
  public static func service(_ address: String) -> String? {
    let isHostAlone = !address.utf8.contains(UInt8(ascii: "/"))
    return try? WebAddress.parse(isHostAlone ? "https://\(address)" : address).origin
  }
}

extension Account {
  /// The time of the first failed refresh since the credential was stored; `nil` if none has failed.
  public var refreshFailsSince: UnixTime? { failedRefreshes.map(\.endsAt).min() }

  /// Whether the provider has refused a refresh for good, so that only a sign-in is sure to help.
  public var hasRefusedRefresh: Bool { failedRefreshes.contains { $0.refresh == .refused } }

  /// Without those for a protected resource, because the account itself works.
  private var failedRefreshes: [ServiceRefusal] {
    serviceRefusals.filter { $0.refresh != nil && $0.place.resource.isEmpty }
  }
}
