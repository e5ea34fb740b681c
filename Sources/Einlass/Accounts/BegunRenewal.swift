/// A renewal between its request and its end, which is a stored token or a failure.
public struct BegunRenewal: Hashable, Sendable {
  public var account: Account.ID
  /// Of the stored credential that is to be replaced.
  public var generation: Int64

  public init(account: Account.ID, generation: Int64) {
    self.account = account
    self.generation = generation
  }
}

/// Remembers begun renewals beyond the end of a process, so that the next one can try again at once: a server that
/// rotates refresh tokens may still take the former one for some seconds. A power cut may lose them.
///
/// No closure fails: a renewal that cannot be remembered goes on.
public struct BegunRenewals: Sendable {
  public var begin: @Sendable (BegunRenewal) -> Void
  public var end: @Sendable (BegunRenewal) -> Void
  public var all: @Sendable () -> Set<BegunRenewal>

  public init(
    begin: @escaping @Sendable (BegunRenewal) -> Void,
    end: @escaping @Sendable (BegunRenewal) -> Void,
    all: @escaping @Sendable () -> Set<BegunRenewal>
  ) {
    self.begin = begin
    self.end = end
    self.all = all
  }

  /// Of a store that ends with its process.
  public static let none = BegunRenewals(begin: { _ in }, end: { _ in }, all: { [] })
}
