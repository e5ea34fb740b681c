internal import Einlass
internal import EinlassSystem

/// The snapshot of a small store and the key of the audit trail, shared by the requests of one
/// read, so that many requests at once cost one read of the store. A large store is read by each
/// request.
///
/// It serves only the event loop's thread, which passes `Patience.none`. The next read and every
/// change by this process discard it.
final class SharedSnapshot: Sendable {
  /// The snapshot as a reader, because making a reader for each request is expensive.
  private let taken = Lock<(snapshot: (any StoreReader)?, auditKey: Secret?)>((nil, nil))

  /// Discards the snapshot.
  func forget() { taken.withLock { $0 = (nil, nil) } }

  /// Reads from the shared snapshot, or takes it first.
  fileprivate func read(
    _ store: AccountStore, _ body: (any StoreReader) throws(Problem) -> Void
  ) throws(Problem) {
    if let shared = taken.withLock({ $0.snapshot }) { return try body(shared) }
    try store.reading(.none) { reader throws(Problem) in
      if let snapshot = reader.whole { taken.withLock { $0.snapshot = snapshot } }
      try body(reader)
    }
  }

  /// Returns the key of the token digests in the audit trail, read once.
  fileprivate func auditKey(of store: AccountStore) throws(Problem) -> Secret? {
    if let shared = taken.withLock({ $0.auditKey }) { return shared }
    let key = try store.maintenance.auditKey(.none)
    taken.withLock { $0.auditKey = key }
    return key
  }
}

extension AccountStore {
  /// Returns the same store. Its readers on the event loop's thread share snapshots. Each change
  /// discards the shared one.
  func sharing(_ shared: SharedSnapshot) -> AccountStore {
    let store = self
    var maintenance = maintenance
    maintenance.auditKey = { patience throws(Problem) in
      switch patience {
      case .none: try shared.auditKey(of: store)
      default: try store.maintenance.auditKey(patience)
      }
    }
    // Not a changed copy: the compiler names a closure that is missing here.
    return AccountStore(
      reading: { patience, body throws(Problem) in
        switch patience {
        case .none: try shared.read(store, body)
        default: try store.reading(patience, body)
        }
      },
      changes: changes,
      add: { new, patience throws(Problem) in
        defer { shared.forget() }
        return try store.add(new, patience)
      },
      addAll: { new, patience throws(Problem) in
        defer { shared.forget() }
        return try store.addAll(new, patience)
      },
      update: { id, patience, edit throws(Problem) in
        defer { shared.forget() }
        return try store.update(id, patience, edit)
      },
      remove: { id, patience throws(Problem) in
        defer { shared.forget() }
        return try store.remove(id, patience)
      },
      decide: { place, patience, edit throws(Problem) in
        defer { shared.forget() }
        return try store.decide(place, patience, edit)
      },
      credentials: credentials,
      settle: { id, settlement throws(Problem) in
        defer { shared.forget() }
        return try store.settle(id, settlement)
      },
      forgetCredentials: { id throws(Problem) in
        defer { shared.forget() }
        return try store.forgetCredentials(id)
      },
      setPreferred: { id, application, provider, patience throws(Problem) in
        defer { shared.forget() }
        return try store.setPreferred(id, application, provider, patience)
      },
      isRemote: isRemote,
      lease: lease,
      requireWritable: requireWritable,
      registrations: RegistrationStore(
        get: registrations.get,
        set: { provider, flow, registration, patience throws(Problem) in
          defer { shared.forget() }
          return try store.registrations.set(provider, flow, registration, patience)
        }),
      protection: protection,
      maintenance: maintenance,
      begunRenewals: begunRenewals,
      failedSignIns: failedSignIns,
      avatars: avatars,
      ownServers: ownServers, users: users.afterEachChange { shared.forget() })
  }
}
