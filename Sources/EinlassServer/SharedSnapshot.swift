internal import Einlass
internal import EinlassSystem

/// The snapshot, and the audit trail's key, that the requests of one read share, so that a flood of them asks the store
/// once.
///
/// Only for the reader's path, the one that passes `Patience.none`. Gone with the next read, and with every
/// change that this process makes.
final class SharedSnapshot: Sendable {
  private let taken = Lock<(snapshot: AccountStore.Snapshot?, auditKey: Secret?)>((nil, nil))

  /// The next one who asks gets a new one.
  func forget() { taken.withLock { $0 = (nil, nil) } }

  /// The snapshot of this read, taken now if nobody asked before.
  fileprivate func of(_ store: AccountStore) throws(Problem) -> AccountStore.Snapshot {
    if let shared = taken.withLock({ $0.snapshot }) { return shared }
    let snapshot = try store.snapshot(.none)
    taken.withLock { $0.snapshot = snapshot }
    return snapshot
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
    result.snapshot = { patience throws(Problem) in
      switch patience {
      case .none: try shared.of(store)
      case .usual: try store.snapshot(patience)
      }
    }
    result.maintenance.auditKey = { patience throws(Problem) in
      switch patience {
      case .none: try shared.auditKey(of: store)
      case .usual: try store.maintenance.auditKey(patience)
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
