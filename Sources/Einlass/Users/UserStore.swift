public import EinlassCrypto

/// The users, as a part of `AccountStore` with the same rules. The tables are read by key, so that a
/// request costs the same in a directory of any size.
public struct UserStore: Sendable {
  /// Calls the closure once with one state of the store; not at all if there is no store. Opens no
  /// key. Callers use `read`.
  public var reading:
    @Sendable (AccountStore.Patience, (any UserRows) throws(Problem) -> Void) throws(Problem) ->
      Void
  /// Calls the closure once in a transaction, which is durable on return and has no effect if the
  /// closure throws. Opens the key. Callers use `change`.
  public var changing:
    @Sendable (AccountStore.Patience, (inout any UserRows) throws(Problem) -> Void) throws(Problem)
      -> Void

  public init(
    reading:
      @escaping @Sendable (
        AccountStore.Patience, (any UserRows) throws(Problem) -> Void
      ) throws(Problem) -> Void,
    changing:
      @escaping @Sendable (
        AccountStore.Patience, (inout any UserRows) throws(Problem) -> Void
      ) throws(Problem) -> Void
  ) {
    self.reading = reading
    self.changing = changing
  }

  /// A store that throws this problem at every use.
  public init(failing problem: Problem) {
    self.init(
      reading: { _, _ throws(Problem) in throw problem },
      changing: { _, _ throws(Problem) in throw problem })
  }
}

extension UserStore {
  /// Returns the result of the closure on one state of the store; `nil` if there is no store.
  public func read<Result>(
    _ patience: AccountStore.Patience = .usual,
    _ body: (any UserRows) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    var result: Result?
    try reading(patience) { rows throws(Problem) in result = try body(rows) }
    return result
  }

  /// Returns the same store, which calls `body` after each change.
  public func afterEachChange(_ body: @escaping @Sendable () -> Void) -> UserStore {
    UserStore(
      reading: reading,
      changing: { [changing] patience, change throws(Problem) in
        try changing(patience, change)
        body()
      })
  }

  /// Returns the result of the closure, which may change the rows.
  func change<Result>(
    _ patience: AccountStore.Patience = .usual,
    _ body: (inout any UserRows) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    var result: Result?
    try changing(patience) { rows throws(Problem) in result = try body(&rows) }
    guard let result else { throw Problem(.internal, "A change of the users did not run.") }
    return result
  }
}

/// The tables of the users during one transaction.
public protocol UserRows {
  func user(_ id: User.ID) throws(Problem) -> User?
  /// Returns the user with this identity.
  func user(at place: User.Place, in directory: String) throws(Problem) -> User?
  /// Returns the first user of a directory with this address, by `emailKey`.
  func user(withEmail key: String, in directory: String) throws(Problem) -> User?
  /// Returns the first user of a directory with an identity of this address, by `emailKey`.
  func user(withIdentityEmail key: String, in directory: String) throws(Problem) -> User?
  /// Returns the users after a position in order of making, of a directory or of all.
  func users(in directory: String?, after position: Int64, limit: Int) throws(Problem) -> [User]
  /// Adds the user or replaces the one of this id, with the identities. Keeps the password.
  mutating func put(_ user: User) throws(Problem)
  /// Removes the user, the identities and the password, and signs the user out everywhere.
  mutating func remove(_ id: User.ID) throws(Problem)

  func currentUser(of application: String) throws(Problem) -> CurrentUser?
  mutating func setCurrentUser(_ user: CurrentUser?, of application: String) throws(Problem)

  /// Returns the verifier of the user's password.
  func passwordVerifier(of id: User.ID) throws(Problem) -> Secret?
  mutating func setPasswordVerifier(_ verifier: Secret?, of id: User.ID) throws(Problem)

  /// Returns the contents of an application's pending credential; `nil` for one that is unknown, was
  /// used or has ended.
  func pendingCredential(
    _ digest: [UInt8], of application: String, at now: UnixTime
  ) throws(Problem) -> Secret?
  /// Adds a pending credential, and removes those that have ended.
  mutating func addPendingCredential(
    _ contents: Secret, _ digest: [UInt8], of application: String, until end: UnixTime,
    at now: UnixTime
  ) throws(Problem)
  mutating func removePendingCredential(_ digest: [UInt8]) throws(Problem)

  /// Records a change for front ends.
  mutating func note(_ change: StoreChange) throws(Problem)
}
