public import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// A store in memory that ends with its process: `--store memory`.
public enum MemoryAccountStore {
  /// Creates an empty store. The descriptors are for the passphrases of accounts files.
  public static func make(
    passphraseDescriptor: Int32? = nil, filePassphraseDescriptor: Int32? = nil
  ) -> AccountStore {
    let memory = Lock(Memory())
    let turns = Turns()
    return AccountStore(
      reading: { _, body throws(Problem) in try body(memory.withLock { $0.snapshot }) },
      changes: { mark, _ throws(Problem) in memory.withLock { $0.changes(since: mark) } },
      add: { new, _ throws(Problem) in
        try memory.withLock { memory throws(Problem) in try memory.add(new) }
      },
      addAll: { batch, _ throws(Problem) in
        try memory.withLock { memory throws(Problem) in
          let accounts = try batch.accounts.added { new throws(Problem) in try memory.add(new) }
          let registrations = batch.registrations(besides: memory.snapshot.registrations)
          for registration in registrations {
            _ = memory.set(registration, at: registration.provider, of: registration.flow)
          }
          return .init(accounts: accounts, registrations: registrations.map(\.provider))
        }
      },
      update: { id, _, edit throws(Problem) in
        try memory.withLock { memory throws(Problem) in try memory.update(id, edit) }
      },
      remove: { id, _ throws(Problem) in
        try memory.withLock { memory throws(Problem) in try memory.remove(id) }
      },
      decide: { place, _, edit throws(Problem) in memory.withLock { $0.decide(place, edit) } },
      credentials: { id, place, _ throws(Problem) in
        try memory.withLock { memory throws(Problem) in
          let position = memory.snapshot.accounts[try memory.index(of: id)].position
          return (memory.credentials[position] ?? []).filter { place == nil || $0.place == place }
        }
      },
      settle: { id, settlement throws(Problem) in
        try memory.withLock { memory throws(Problem) in try memory.settle(settlement, of: id) }
      },
      forgetCredentials: { id throws(Problem) in
        try memory.withLock { memory throws(Problem) in try memory.forgetCredentials(of: id) }
      },
      setPreferred: { id, application, provider, _ throws(Problem) in
        try memory.withLock { memory throws(Problem) in
          try memory.prefer(id, application, provider)
        }
      },
      lease: { id throws(Problem) in
        guard await turns.take(id.rawValue) else { throw .leaseCancelled }
        return Lease(end: { turns.give(id.rawValue) })
      },
      requireWritable: {},
      registrations: RegistrationStore(
        get: { provider, flow, _ throws(Problem) in
          memory.withLock { $0.registration(at: provider, of: flow) }
        },
        set: { provider, flow, registration, _ throws(Problem) in
          memory.withLock { $0.setUnlessOwn(registration, at: provider, of: flow) }
        }),
      protection: { _ throws(Problem) in "memory" },
      maintenance: .ofMemory(
        memory, passphrase: passphraseDescriptor.map { KeyDescriptor(passphrase: $0) },
        filePassphrase: filePassphraseDescriptor.map { KeyDescriptor(passphrase: $0) }),
      begunRenewals: .none,
      failedSignIns: .none,
      avatars: AvatarFiles(failing: .nothingWritten),
      ownServers: .ofMemory(),
      users: .ofMemory { changes in memory.withLock { $0.record(changes) } })
  }
}

extension StoreMaintenance {
  fileprivate static func ofMemory(
    _ memory: Lock<Memory>, passphrase: KeyDescriptor?, filePassphrase: KeyDescriptor?
  ) -> StoreMaintenance {
    StoreMaintenance(
      status: { _ throws(Problem) in memory.withLock { $0.status } },
      check: { _ throws(Problem) in memory.withLock { $0.check } },
      backup: { _, _ throws(Problem) in throw .nothingWritten },
      move: { _, _ throws(Problem) in throw .nothingWritten },
      rotateKey: { _ throws(Problem) in throw .nothingWritten },
      addKeySlot: { _, _ throws(Problem) in throw .nothingWritten },
      removeKeySlot: { _ throws(Problem) in throw .nothingWritten },
      unlock: { _, _, _ throws(Problem) in throw .nothingWritten },
      lock: { () throws(Problem) in throw .nothingWritten },
      passphrase: { isOfFile throws(Problem) in
        let ofFile = isOfFile ? filePassphrase : nil
        return try (ofFile ?? passphrase)?.fetch(by: AccountStore.Patience.usual.deadline)
      },
      auditKey: { _ throws(Problem) in memory.withLock { $0.auditKey } })
  }
}

extension Problem {
  fileprivate static var nothingWritten: Problem {
    .store(
      .refused, "The account store is in memory: it has no file and no key.", advice: .nameStore)
  }
}

/// The content of the store. Behaves like the tables of `Migrations.swift`.
private struct Memory {
  var snapshot = AccountStore.Snapshot()
  lazy var auditKey = SecureRandom.secret(32)
  /// Keyed by the account's position.
  var credentials: [Int64: [StoredCredential]] = [:]
  private var registrations: [StoredRegistration] = []
  private var lastPosition: Int64 = 0
  /// The newest changes, after the first `forgottenChanges`.
  private var lastChanges: [StoreChange] = []
  private var forgottenChanges = 0

  func index(of id: Account.ID) throws(Problem) -> Int {
    let index = snapshot.accounts.firstIndex { isSame($0.id.rawValue, id.rawValue) }
    guard let index else { throw .unknownAccount(id) }
    return index
  }

  var status: StoreMaintenance.Status {
    var status = StoreMaintenance.Status(protection: "memory")
    status.exists = true
    status.revision = snapshot.revision
    status.accounts = Int64(snapshot.accounts.count)
    return status
  }

  var check: StoreMaintenance.Check {
    var check = StoreMaintenance.Check()
    check.accounts = snapshot.accounts.count
    return check
  }

  mutating func nextRevision() -> Int64 {
    snapshot.revision += 1
    return snapshot.revision
  }

  func changes(since mark: AccountStore.ChangeMark?) -> AccountStore.Changes {
    let count = forgottenChanges + lastChanges.count
    let known = mark.map { Int($0.number) - forgottenChanges }
    return .init(
      mark: .init(store: "memory", number: Int64(count)), revision: snapshot.revision,
      list: known.flatMap { (0...lastChanges.count).contains($0) ? Array(lastChanges[$0...]) : nil }
    )
  }

  /// Records changes of the users.
  mutating func record(_ changes: [StoreChange]) {
    for change in changes { note(change) }
    if !changes.isEmpty { _ = nextRevision() }
  }

  private mutating func note(_ change: StoreChange) {
    lastChanges.append(change)
    guard lastChanges.count > 512 else { return }
    lastChanges.removeFirst(256)
    forgottenChanges += 256
  }

  /// Records the part of an account's change that front ends see.
  private mutating func note(_ before: Account?, at index: Int) {
    let after = snapshot.accounts[index]
    if let kind = StoreChange.Kind(from: before, to: after) { note(.account(after.id, kind)) }
  }

  mutating func add(_ new: AccountStore.NewAccount) throws(Problem) -> AccountStore.Added {
    let existing = new.existing(among: snapshot.accounts)
    let index: Int
    if let existing {
      guard new.mayReplace(existing) else { throw new.collision(with: existing) }
      note(.credential(existing.id))
      index = try self.index(of: existing.id)
      snapshot.accounts[index] = new.replacing(existing)
      set((credentials[existing.position] ?? []).filter { new.keeps($0, of: existing) }, at: index)
    } else {
      index = snapshot.accounts.count
      lastPosition += 1
      var account = new.account
      account.position = lastPosition
      snapshot.accounts.append(account)
    }
    let revision = nextRevision()
    for credential in new.credentials { put(credential, at: index) }
    note(existing, at: index)
    return AccountStore.Added(
      account: snapshot.accounts[index], created: existing == nil, revision: revision)
  }

  mutating func update(_ id: Account.ID, _ edit: AccountStore.Edit) throws(Problem) -> Int64 {
    let index = try index(of: id)
    let before = snapshot.accounts[index]
    let after = before.edited(by: edit)
    guard after != before else { return snapshot.revision }
    snapshot.accounts[index] = after
    note(before, at: index)
    return nextRevision()
  }

  mutating func remove(_ id: Account.ID) throws(Problem) -> Int64 {
    let account = snapshot.accounts.remove(at: try index(of: id))
    credentials[account.position] = nil
    note(.account(account.id, .removed))
    for grant in snapshot.grants where grant.accounts?.contains(account.id) == true {
      _ = decide(grant.place) { _ in grant.without(account.id) }
    }
    return nextRevision()
  }

  mutating func decide(
    _ place: AccessGrant.Place, _ edit: (AccessGrant?) -> AccessGrant?
  ) -> Int64 {
    let former = snapshot.grant(place)
    let decision = edit(former)
    guard decision != former else { return snapshot.revision }
    snapshot.grants.removeAll { $0.place == place }
    if let decision { snapshot.grants.append(decision) }
    note(.grant(place))
    return nextRevision()
  }

  mutating func settle(_ settlement: AccountStore.Settlement, of id: Account.ID) throws(Problem)
    -> Int64?
  {
    let index = try index(of: id)
    let account = snapshot.accounts[index]
    var all = credentials[account.position] ?? []
    let generations = Dictionary(uniqueKeysWithValues: all.map { ($0.place, $0.generation) })
    guard settlement.isCurrent(generations) else { return nil }
    if settlement.isRefusal {
      let refused = settlement.basis.map(\.place)
      for index in all.indices where refused.contains(all[index].place) {
        all[index].isRefused = true
      }
      set(all, at: index)
    }
    for refusal in settlement.serviceRefusals { put(refusal, at: index, settlement.time) }
    let revision = nextRevision()
    if let edit = settlement.edit {
      snapshot.accounts[index] = snapshot.accounts[index].edited(by: edit)
    }
    if let credential = settlement.credential {
      note(.credential(id))
      put(credential, at: index, refused: settlement.isRefusal)
    }
    note(account, at: index)
    return revision
  }

  mutating func forgetCredentials(of id: Account.ID) throws(Problem) -> Int64 {
    let index = try index(of: id)
    let before = snapshot.accounts[index]
    snapshot.accounts[index].isSignedIn = false
    snapshot.accounts[index].resources = []
    snapshot.accounts[index].scopes = []
    snapshot.accounts[index].refreshExpiresAt = nil
    snapshot.accounts[index].serviceRefusals = []
    snapshot.accounts[index].refusedResources = []
    credentials[before.position] = nil
    note(before, at: index)
    return nextRevision()
  }

  mutating func prefer(
    _ id: Account.ID?, _ application: String, _ provider: String
  ) throws(Problem) -> Int64 {
    let preferred = try id.map { id throws(Problem) in try index(of: id) }
    for index in snapshot.accounts.indices where isSame(snapshot.accounts[index].provider, provider)
    {
      let before = snapshot.accounts[index]
      snapshot.accounts[index].preferredBy.removeAll { isSame($0, application) }
      if index == preferred { snapshot.accounts[index].preferredBy.append(application) }
      snapshot.accounts[index].preferredBy.sort()
      note(before, at: index)
    }
    return nextRevision()
  }

  func registration(at provider: String, of flow: FlowKind?) -> StoredRegistration? {
    registrations.first { isSame($0.provider, provider) && $0.flow == flow }
  }

  /// Stores the registration, unless it would replace one that a person configured.
  mutating func setUnlessOwn(
    _ registration: StoredRegistration?, at provider: String, of flow: FlowKind?
  ) -> Int64 {
    let former = self.registration(at: provider, of: flow)?.isIssued
    let mayBe = registration?.mayReplace(isIssued: former) ?? true
    return mayBe ? set(registration, at: provider, of: flow) : snapshot.revision
  }

  mutating func set(
    _ registration: StoredRegistration?, at provider: String, of flow: FlowKind?
  ) -> Int64 {
    guard registration != self.registration(at: provider, of: flow) else {
      return snapshot.revision
    }
    registrations.removeAll { isSame($0.provider, provider) && $0.flow == flow }
    if let registration { registrations.append(registration) }
    snapshot.registrations = registrations.map(\.known)
    note(.registration(provider: provider))
    return nextRevision()
  }

  /// Adds the credential or replaces the one in its place. Its generation is the current revision.
  private mutating func put(
    _ credential: StoredCredential, at index: Int, refused isRefused: Bool = false
  ) {
    var all = credentials[snapshot.accounts[index].position] ?? []
    var credential = credential
    credential.generation = snapshot.revision
    credential.isRefused = isRefused
    let place = credential.place
    all.removeAll { $0.place == place }
    all.append(credential)
    snapshot.accounts[index].serviceRefusals.removeAll {
      $0.place == place && !$0.service.isEmpty
    }
    set(all, at: index)
  }

  /// Adds a refusal or replaces the one by the same service. Removes those that have ended.
  private mutating func put(_ refusal: ServiceRefusal, at index: Int, _ now: UnixTime) {
    var all = snapshot.accounts[index].serviceRefusals
    all.removeAll {
      $0.refresh == nil
        && ($0.endsAt <= now || $0.endsAt > ServiceRefusal.latestEnd(at: now))
        || $0.place == refusal.place && isSame($0.service, refusal.service)
    }
    let others = all.filter {
      $0.place == refusal.place && !$0.service.isEmpty && $0.refresh == nil
    }
    if others.count == ServiceRefusal.countLimit, !refusal.service.isEmpty,
      refusal.refresh == nil,
      let oldest = others.min(by: { $0.endsAt < $1.endsAt })
    {
      all.removeAll { $0 == oldest }
    }
    snapshot.accounts[index].serviceRefusals = all + [refusal]
  }

  /// Replaces all credentials of an account.
  private mutating func set(_ all: [StoredCredential], at index: Int) {
    credentials[snapshot.accounts[index].position] = all
    snapshot.accounts[index].isSignedIn = !all.isEmpty
    snapshot.accounts[index].resources = all.compactMap(\.resource).sorted()
    snapshot.accounts[index].scopes =
      if case .oauth2(let token)? = all.last(where: { $0.resource == nil })?.credential {
        token.scopes
      } else {
        []
      }
    snapshot.accounts[index].refreshExpiresAt = all.compactMap { stored in
      guard stored.resource == nil, case .oauth2(let token) = stored.credential else { return nil }
      return token.refreshExpiresAt
    }.max()
    let refused = all.filter { stored in
      guard case .oauth2(let token) = stored.credential else { return stored.isRefused }
      return stored.isRefused && token.refreshToken == nil
    }.map { $0.resource ?? "" }
    snapshot.accounts[index].refusedResources = Set(refused).sorted()
    let places = all.map(\.place)
    snapshot.accounts[index].serviceRefusals.removeAll { !places.contains($0.place) }
  }
}
