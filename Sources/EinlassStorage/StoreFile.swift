internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The store's file as one process uses it: opened on first use, locked for each, checked whenever another
/// program changed it. Several processes share the file; several threads share one value of this.
final class StoreFile: Sendable {
  let location: StoreLocation
  private let keys: KeySource
  private let opened = Lock<OpenStore?>(nil)

  init(location: StoreLocation, keys: KeySource) {
    self.location = location
    self.keys = keys
  }

  /// Calls `body` with one state of the store, an empty one when there is none yet. Costs two system calls while the
  /// store is small and nobody changes it.
  func read(
    _ patience: AccountStore.Patience, _ body: (any StoreReader) throws(Problem) -> Void
  ) throws(Problem) {
    try alone(patience) { opened, deadline throws(Problem) in
      if let unchanged = opened?.unchangedSnapshot() { return try body(unchanged) }
      let isThere = try read(&opened, deadline) { store throws(Problem) in
        try store.read(body)
        return true
      }
      if isThere == nil { try body(AccountStore.Snapshot()) }
    }
  }

  /// What has changed since a mark.
  func changes(
    since mark: AccountStore.ChangeMark?, _ patience: AccountStore.Patience
  ) throws(Problem) -> AccountStore.Changes {
    try read(patience) { store throws(Problem) in
      try store.connection.transaction(.read) { () throws(Problem) in
        try store.changes(since: mark)
      }
    } ?? .init(mark: .noStore, revision: 0, list: mark == .noStore ? [] : nil)
  }

  /// The key that tokens are named by in the audit trail; `nil` when there is no store yet. Costs two system calls while
  /// nobody changes the store, and is another one after `store.rotateKey` of whatever process.
  func auditKey(_ patience: AccountStore.Patience) throws(Problem) -> Secret? {
    try alone(patience, withKey: true) { opened, deadline throws(Problem) in
      if let unchanged = opened?.unchangedAuditKey() { return unchanged }
      return try read(&opened, deadline) { store throws(Problem) in try store.auditKey() }
    }
  }

  /// Throws `readOnly` where nothing could be stored now. Locks nothing and makes nothing.
  func requireWritable() throws(Problem) {
    try StoreOpening(location: location, keys: keys).requireWritable()
  }

  /// Reads under the shared lock; `nil` when there is no store yet, and then nothing is made.
  func read<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try alone(patience, withKey: needsKey) { opened, deadline throws(Problem) in
      try read(&opened, deadline, body)
    }
  }

  /// Changes under the exclusive lock, in one transaction that is durable when this returns. Makes the store
  /// when there is none.
  func write<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let needsKey = needsKey || !location.exists
    guard let result = try change(patience, makesStore: true, withKey: needsKey, body) else {
      throw Problem(.internal, "The store was made and is not there.")
    }
    return result
  }

  /// As `write`, but `nil` when there is no store, and then nothing is made. What was replaced is no longer
  /// in the file, not even in its journal, when that is wished and nobody else reads it.
  func change<Result>(
    _ patience: AccountStore.Patience, makesStore: Bool = false, withKey needsKey: Bool = false,
    leavingNoTrace: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try alone(patience, withKey: needsKey) { opened, deadline throws(Problem) in
      if let store = opened, store.isStillThere {
        try store.acquire(.exclusive, by: deadline)
      } else {
        opened = nil
        opened = try StoreOpening(location: location, keys: keys)
          .openExclusive(by: deadline, makesStore: makesStore)
      }
      guard let store = opened else { return nil }
      defer { store.release() }
      try store.recheckIfChanged()
      let result = try store.change { () throws(Problem) in try body(store) }
      if leavingNoTrace { store.emptyJournal() }
      return result
    }
  }

  private func read<Result>(
    _ opened: inout OpenStore?, _ deadline: Deadline,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    if let store = opened, store.isStillThere {
      try store.acquire(.shared, by: deadline)
    } else {
      opened = nil  // closes it
      opened = try StoreOpening(location: location, keys: keys).openShared(by: deadline)
    }
    guard let store = opened else { return nil }
    defer {
      store.release()
      // What can't be locked is read once and forgotten: it may become writable for somebody.
      if store.isReadOnly { opened = nil }
    }
    try store.recheckIfChanged()
    return try body(store)
  }

  /// One thread of this process at a time, until the deadline that all waits of one use share. Nothing is
  /// locked while the key is waited for.
  private func alone<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (inout OpenStore?, Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let deadline = patience.deadline
    if needsKey { try keys.fetch(by: deadline) }
    while true {
      do throws(Problem) { return try once(by: deadline, body) } catch {
        // What failed for want of the key has changed nothing.
        guard needsKey, patience != .none, error == .keyAwaited else { throw error }
        keys.prepare()
      }
    }
  }

  private func once<Result>(
    by deadline: Deadline, _ body: (inout OpenStore?, Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let result = try opened.withLock(by: deadline) { opened throws(Problem) in
      try body(&opened, deadline)
    }
    guard let result else {
      throw .store(.locked, "The account store is in use for a moment. Try again.")
    }
    return result
  }
}
