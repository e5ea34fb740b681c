/// Leaves a provider alone that could not give a new credential just now (C-42): closures, filled by whoever lives longer
/// than a request.
public struct Pause: Sendable {
  /// Why the provider is not asked about this account yet; `nil` when it may be.
  public var problem: @Sendable (Account.ID) -> Problem?
  /// Is told how asking ended; `nil`: well.
  public var note: @Sendable (Account.ID, Problem?) -> Void

  public init(
    problem: @escaping @Sendable (Account.ID) -> Problem?,
    note: @escaping @Sendable (Account.ID, Problem?) -> Void
  ) {
    self.problem = problem
    self.note = note
  }

  /// Nobody is ever left alone.
  public static let none = Pause(problem: { _ in nil }, note: { _, _ in })
}
