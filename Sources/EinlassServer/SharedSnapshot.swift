internal import Einlass
internal import EinlassSystem

/// All of a small store, and the audit trail's key, that the requests of one read share, so that a flood of them asks the
/// store once. A large one is asked each time.
///
/// Only for the reader's path, the one that passes `Patience.none`. Gone with the next read, and with every
/// change that this process makes.
final class SharedSnapshot: Sendable {
  /// The snapshot as a reader, because making one of it for each request is dear.
  private let taken = Lock<(snapshot: (any StoreReader)?, auditKey: Secret?)>((nil, nil))

  /// The next one who asks gets a new one.
  func forget() { taken.withLock { $0 = (nil, nil) } }

  /// Reads the state of this read, taken now if nobody asked before.
  fileprivate func read(
    _ store: AccountStore, _ body: (any StoreReader) throws(Problem) -> Void
  ) throws(Problem) {
    if let shared = taken.withLock({ $0.snapshot }) { return try body(shared) }
    try store.reading(.none) { reader throws(Problem) in
      if let snapshot = reader.whole { taken.withLock { $0.snapshot = snapshot } }
      try body(reader)
    }
  }

  /// The same of the key that tokens are named by in the audit trail.
  fileprivate func auditKey(of store: AccountStore) throws(Problem) -> Secret? {
    if let shared = taken.withLock({ $0.auditKey }) { return shared }
    let key = try store.maintenance.auditKey(.none)
    taken.withLock { $0.auditKey = key }
    return key
  }
}

extension AccountStore {
  /// The same store; what asks it on the reader's path shares snapshots.
  func sharing(_ shared: SharedSnapshot) -> AccountStore {
    let store = self
    var result = self
    result.reading = { patience, body throws(Problem) in
      switch patience {
      case .none: try shared.read(store, body)
      default: try store.reading(patience, body)
      }
    }
    result.maintenance.auditKey = { patience throws(Problem) in
      switch patience {
      case .none: try shared.auditKey(of: store)
      default: try store.maintenance.auditKey(patience)
      }
    }
    result.add = { new, patience throws(Problem) in
      defer { shared.forget() }
      return try store.add(new, patience)
    }
    result.addAll = { new, patience throws(Problem) in
      defer { shared.forget() }
      return try store.addAll(new, patience)
    }
    result.update = { id, patience, edit throws(Problem) in
      defer { shared.forget() }
      return try store.update(id, patience, edit)
    }
    result.remove = { id, patience throws(Problem) in
      defer { shared.forget() }
      return try store.remove(id, patience)
    }
    result.setGrant = { grant, patience throws(Problem) in
      defer { shared.forget() }
      return try store.setGrant(grant, patience)
    }
    result.resetGrant = { application, provider, patience throws(Problem) in
      defer { shared.forget() }
      return try store.resetGrant(application, provider, patience)
    }
    result.settle = { id, settlement throws(Problem) in
      defer { shared.forget() }
      return try store.settle(id, settlement)
    }
    result.forgetCredentials = { id throws(Problem) in
      defer { shared.forget() }
      return try store.forgetCredentials(id)
    }
    result.setPreferred = { id, application, provider, patience throws(Problem) in
      defer { shared.forget() }
      return try store.setPreferred(id, application, provider, patience)
    }
    result.registrations.set = { provider, registration, patience throws(Problem) in
      defer { shared.forget() }
      return try store.registrations.set(provider, registration, patience)
    }
    return result
  }
}
