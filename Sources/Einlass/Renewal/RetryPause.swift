/// Pauses between requests to a provider that failed to give a new credential: closures, filled by
/// an object that outlives a request.
public struct RetryPause: Sendable {
  /// Returns the error of the last failure while the account's pause lasts; `nil` when the provider
  /// may be asked.
  public var problem: @Sendable (Account.ID) -> Problem?
  /// Records the outcome of asking the provider; `nil` for success.
  public var note: @Sendable (Account.ID, Problem?) -> Void

  public init(
    problem: @escaping @Sendable (Account.ID) -> Problem?,
    note: @escaping @Sendable (Account.ID, Problem?) -> Void
  ) {
    self.problem = problem
    self.note = note
  }

  /// Never pauses.
  public static let none = RetryPause(problem: { _ in nil }, note: { _, _ in })
}
