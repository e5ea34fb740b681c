/// A renewal between its request and its end, which is a stored token or a failure.
public struct BegunRenewal: Hashable, Sendable {
  public var account: Account.ID
  /// The generation of the stored credential that the renewal replaces.
  public var generation: Int64

  public init(account: Account.ID, generation: Int64) {
    self.account = account
    self.generation = generation
  }
}

/// Records of begun renewals that outlive the process, so that the next process can repeat such a
/// renewal at once: a server that rotates refresh tokens may accept the former one for some more
/// seconds. A power cut may lose the records.
///
/// No closure throws, because a renewal goes on even if it cannot be recorded.
public struct BegunRenewals: Sendable {
  public var begin: @Sendable (BegunRenewal) -> Void
  public var end: @Sendable (BegunRenewal) -> Void
  /// Returns the begun renewals, without those that a process of another machine still works on, as
  /// far as the store knows.
  public var all: @Sendable () -> Set<BegunRenewal>
  /// Returns whether a renewal was begun and did not end.
  public var contains: @Sendable (BegunRenewal) -> Bool

  public init(
    begin: @escaping @Sendable (BegunRenewal) -> Void,
    end: @escaping @Sendable (BegunRenewal) -> Void,
    all: @escaping @Sendable () -> Set<BegunRenewal>,
    contains: (@Sendable (BegunRenewal) -> Bool)? = nil
  ) {
    self.begin = begin
    self.end = end
    self.all = all
    self.contains = contains ?? { all().contains($0) }
  }

  /// The records of a store that ends with its process.
  public static let none = BegunRenewals(begin: { _ in }, end: { _ in }, all: { [] })
}
