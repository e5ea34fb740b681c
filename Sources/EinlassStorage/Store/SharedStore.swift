internal import Einlass
internal import EinlassCrypto

/// A store in a database that several processes and several threads of this process share.
protocol SharedStore: Sendable {
  /// The problem of an operation that needs an existing store.
  var nothingThere: Problem { get }

  /// Calls `body` with one state of the store, or with an empty snapshot if there is no store.
  func read(
    _ patience: AccountStore.Patience, _ body: (any StoreReader) throws(Problem) -> Void
  ) throws(Problem)

  /// Reads one state of the store. Returns `nil` if there is no store, and creates none.
  func read<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result?

  /// Runs `body` alone in one transaction, durable on return. Returns `nil` if there is no store,
  /// and creates one only with `makesStore`. `leavingNoTrace` also removes overwritten data, as far
  /// as the database can.
  func change<Result>(
    _ patience: AccountStore.Patience, makesStore: Bool, withKey needsKey: Bool,
    leavingNoTrace: Bool, _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result?

  /// Calls `body` while no other process can write, then takes the store away under another name.
  /// Returns `nil` if there is no store.
  func moveAway<Result>(
    _ body: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result?

  /// Throws `locked` during a sign-in or a renewal, because the token would be stored in the old
  /// place.
  func requireNoLease() throws(Problem)

  /// The name of the store after `moveAway`.
  var movedName: String { get }

  /// Makes a store of the rows that `fill` inserts. Throws `refused` if there is a store.
  func receive<Result>(
    _ fill: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result

  /// Returns the key for naming tokens in the audit trail, or `nil` if there is no store. The key
  /// changes when any process calls `store.rotateKey`.
  func auditKey(_ patience: AccountStore.Patience) throws(Problem) -> Secret?
}

extension SharedStore {
  func read<Result>(
    _ patience: AccountStore.Patience, _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try read(patience, withKey: false, body)
  }

  func change<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false, leavingNoTrace: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try change(
      patience, makesStore: false, withKey: needsKey, leavingNoTrace: leavingNoTrace, body)
  }

  /// Runs `body` as `change` does, and creates the store if there is none.
  func write<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let result = try change(
      patience, makesStore: true, withKey: needsKey, leavingNoTrace: false, body)
    guard let result else {
      throw Problem(.internal, "The store was created but cannot be found.")
    }
    return result
  }

  /// Returns the changes since a mark.
  func changes(
    since mark: AccountStore.ChangeMark?, _ patience: AccountStore.Patience
  ) throws(Problem) -> AccountStore.Changes {
    try read(patience) { store throws(Problem) in try store.changes(since: mark) }
      ?? .init(mark: .noStore, revision: 0, list: mark == .noStore ? [] : nil)
  }
}
