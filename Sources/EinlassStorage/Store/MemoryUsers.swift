internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

extension UserStore {
  /// The users of a store in memory.
  ///
  /// - Parameter note: Records changes for front ends.
  static func ofMemory(note: @escaping @Sendable ([StoreChange]) -> Void) -> UserStore {
    let memory = Lock(MemoryUsers())
    return UserStore(
      reading: { _, body throws(Problem) in try body(memory.withLock { $0 }) },
      changing: { _, body throws(Problem) in
        let changes = try memory.withLock { memory throws(Problem) in
          var rows: any UserRows = memory
          try body(&rows)
          guard var changed = rows as? MemoryUsers else { return [StoreChange]() }
          defer { memory = changed }
          return changed.takeChanges()
        }
        note(changes)
      })
  }
}

/// The users of a store in memory, as a value: a change that throws leaves the former one.
private struct MemoryUsers: UserRows {
  private struct Pending {
    var application: String
    var end: UnixTime
    var contents: Secret
  }

  private struct Key: Hashable {
    var directory: [UInt8]
    var place: User.Place
  }

  private var users: [User.ID: User] = [:]
  private var places: [Key: User.ID] = [:]
  private var currentUsers: [[UInt8]: CurrentUser] = [:]
  private var verifiers: [User.ID: Secret] = [:]
  private var pending: [[UInt8]: Pending] = [:]
  private var lastPosition: Int64 = 0
  private var changes: [StoreChange] = []

  private var ordered: [User] { users.values.sorted { $0.position < $1.position } }

  private func key(_ place: User.Place, _ directory: String) -> Key {
    Key(directory: Array(directory.utf8), place: place)
  }

  func user(_ id: User.ID) -> User? { users[id] }

  func user(at place: User.Place, in directory: String) -> User? {
    places[key(place, directory)].flatMap { users[$0] }
  }

  func user(withEmail key: String, in directory: String) -> User? {
    ordered.first { user in
      isSame(user.directory, directory)
        && user.email.flatMap(emailKey).map { isSame($0, key) } ?? false
    }
  }

  func user(withIdentityEmail key: String, in directory: String) -> User? {
    ordered.first { user in
      isSame(user.directory, directory)
        && user.identities.contains { $0.email.flatMap(emailKey).map { isSame($0, key) } ?? false }
    }
  }

  func users(in directory: String?, after position: Int64, limit: Int) -> [User] {
    let found = ordered.lazy.filter { user in
      user.position > position && directory.map { isSame($0, user.directory) } ?? true
    }
    return Array(found.prefix(limit))
  }

  mutating func put(_ user: User) {
    var user = user
    if let former = users[user.id] {
      user.position = former.position
      for identity in former.identities { places[key(identity.place, user.directory)] = nil }
    } else {
      lastPosition += 1
      user.position = lastPosition
    }
    users[user.id] = user
    for identity in user.identities { places[key(identity.place, user.directory)] = user.id }
  }

  mutating func remove(_ id: User.ID) {
    guard let user = users.removeValue(forKey: id) else { return }
    for identity in user.identities { places[key(identity.place, user.directory)] = nil }
    verifiers[id] = nil
    currentUsers = currentUsers.filter { $0.value.user != id }
  }

  func currentUser(of application: String) -> CurrentUser? {
    currentUsers[Array(application.utf8)]
  }

  mutating func setCurrentUser(_ user: CurrentUser?, of application: String) {
    currentUsers[Array(application.utf8)] = user
  }

  func passwordVerifier(of id: User.ID) -> Secret? { verifiers[id] }

  mutating func setPasswordVerifier(_ verifier: Secret?, of id: User.ID) {
    verifiers[id] = verifier
  }

  func pendingCredential(
    _ digest: [UInt8], of application: String, at now: UnixTime
  ) -> Secret? {
    guard let found = pending[digest], isSame(found.application, application), found.end > now
    else { return nil }
    return found.contents
  }

  mutating func addPendingCredential(
    _ contents: Secret, _ digest: [UInt8], of application: String, until end: UnixTime,
    at now: UnixTime
  ) {
    pending = pending.filter { $0.value.end > now }
    pending[digest] = Pending(application: application, end: end, contents: contents)
  }

  mutating func removePendingCredential(_ digest: [UInt8]) { pending[digest] = nil }

  mutating func note(_ change: StoreChange) { changes.append(change) }

  /// Returns the changes since the last call.
  fileprivate mutating func takeChanges() -> [StoreChange] {
    defer { changes = [] }
    return changes
  }
}
