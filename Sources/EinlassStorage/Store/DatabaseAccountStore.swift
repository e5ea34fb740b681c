internal import Einlass

extension AccountStore {
  /// Makes the closures of a store in a database, whose rows are the same for each engine. The
  /// arguments after the keys differ between engines.
  convenience init(
    _ shared: any SharedStore, keys: KeySource,
    lease: @escaping @Sendable (Account.ID) async throws(Problem) -> Lease,
    requireWritable: @escaping @Sendable () throws(Problem) -> Void,
    maintenance: StoreMaintenance, begunRenewals: BegunRenewals, failedSignIns: FailedSignIns,
    avatars: AvatarFiles, isRemote: Bool = false
  ) {
    self.init(
      reading: { patience, body throws(Problem) in try shared.read(patience, body) },
      changes: { mark, patience throws(Problem) in try shared.changes(since: mark, patience) },
      add: { new, patience throws(Problem) in try Self.add(new, to: shared, patience) },
      addAll: { batch, patience throws(Problem) in
        try shared.write(patience, withKey: true) { store throws(Problem) in
          let accounts = try batch.accounts.added { new throws(Problem) in try store.add(new) }
          let known = try store.connection.registrationRows().map(\.known)
          let registrations = batch.registrations(besides: known)
          for registration in registrations { _ = try store.put(registration) }
          return .init(accounts: accounts, registrations: registrations.map(\.provider))
        }
      },
      update: { id, patience, edit throws(Problem) in
        try Self.update(id, in: shared, patience, edit)
      },
      remove: { id, patience throws(Problem) in try Self.remove(id, from: shared, patience) },
      decide: { place, patience, edit throws(Problem) in
        try Self.decide(place, edit, in: shared, patience)
      },
      credentials: { id, place, patience throws(Problem) in
        try Self.credentials(of: id, at: place, in: shared, patience)
      },
      settle: { id, settlement throws(Problem) in try Self.settle(settlement, of: id, in: shared) },
      forgetCredentials: { id throws(Problem) in try Self.forgetCredentials(of: id, in: shared) },
      setPreferred: { id, application, provider, patience throws(Problem) in
        try Self.setPreferred(id, application, provider, in: shared, patience)
      },
      isRemote: isRemote, lease: lease, requireWritable: requireWritable,
      registrations: .ofDatabase(shared),
      protection: { patience throws(Problem) in
        try shared.read(patience) { store throws(Problem) in try store.protection() }
          ?? keys.kind.rawValue
      },
      maintenance: maintenance, begunRenewals: begunRenewals, failedSignIns: failedSignIns,
      avatars: avatars,
      ownServers: .ofDatabase(shared),
      users: .ofDatabase(shared))
  }
}

extension AccountStore {
  private static func add(
    _ new: AccountStore.NewAccount, to shared: any SharedStore, _ patience: AccountStore.Patience
  ) throws(Problem) -> AccountStore.Added {
    try shared.write(patience, withKey: true) { store throws(Problem) in try store.add(new) }
  }

  private static func update(
    _ id: Account.ID, in shared: any SharedStore, _ patience: AccountStore.Patience,
    _ edit: AccountStore.Edit
  ) throws(Problem) -> Int64 {
    let revision = try shared.change(patience) { store throws(Problem) in
      let before = try store.existingAccount(id)
      let after = before.edited(by: edit)
      guard after != before else { return try store.connection.meta().revision }
      try store.connection.update(after)
      try store.note(id, from: before, to: after)
      return try store.connection.nextRevision()
    }
    guard let revision else { throw .unknownAccount(id) }
    return revision
  }

  private static func remove(
    _ id: Account.ID, from shared: any SharedStore, _ patience: AccountStore.Patience
  ) throws(Problem) -> Int64 {
    let revision = try shared.change(patience) { store throws(Problem) in
      let before = try store.existingAccount(id)
      _ = try store.connection.deleteAccount(id)
      for grant in try store.connection.grants(naming: id, of: before.provider) {
        _ = try store.decide(grant.place) { _ in grant.without(id) }
      }
      try store.note(id, from: before, to: nil)
      return try store.connection.nextRevision()
    }
    guard let revision else { throw .unknownAccount(id) }
    return revision
  }

  private static func decide(
    _ place: AccessGrant.Place, _ edit: (AccessGrant?) -> AccessGrant?, in shared: any SharedStore,
    _ patience: AccountStore.Patience
  ) throws(Problem) -> Int64 {
    let body = { (store: OpenStore) throws(Problem) in
      guard try store.decide(place, edit) else { return try store.connection.meta().revision }
      return try store.connection.nextRevision()
    }
    if let revision = try shared.change(patience, body) { return revision }
    // There is no store yet, and a decision that stays away creates none.
    return edit(nil) == nil ? 0 : try shared.write(patience, body)
  }

  private static func credentials(
    of id: Account.ID, at place: AccountStore.Place?, in shared: any SharedStore,
    _ patience: AccountStore.Patience
  ) throws(Problem) -> [StoredCredential] {
    let credentials = try shared.read(patience, withKey: true) { store throws(Problem) in
      try store.credentials(of: id, at: place)
    }
    guard let credentials else { throw .unknownAccount(id) }
    return credentials
  }

  private static func settle(
    _ settlement: AccountStore.Settlement, of id: Account.ID, in shared: any SharedStore
  ) throws(Problem) -> Int64? {
    let needsKey = settlement.credential != nil
    let revision = try shared.change(.usual, withKey: needsKey) { store throws(Problem) -> Int64? in
      try store.settle(settlement, of: store.existingAccount(id))
    }
    guard let revision else { throw .unknownAccount(id) }
    return revision
  }

  private static func forgetCredentials(
    of id: Account.ID, in shared: any SharedStore
  ) throws(Problem) -> Int64 {
    let revision = try shared.change(.usual) { store throws(Problem) in
      let before = try store.existingAccount(id)
      try store.connection.deleteCredentials(of: id)
      try store.note(id, from: before, to: store.connection.account(id))
      return try store.connection.nextRevision()
    }
    guard let revision else { throw .unknownAccount(id) }
    return revision
  }

  private static func setPreferred(
    _ id: Account.ID?, _ application: String, _ provider: String, in shared: any SharedStore,
    _ patience: AccountStore.Patience
  ) throws(Problem) -> Int64 {
    let revision = try shared.change(patience) { store throws(Problem) in
      if let id, try store.account(id) == nil { throw Problem.unknownAccount(id) }
      let former = try store.preferredAccount(of: provider, by: application)?.id
      if former != id {
        try store.connection.prefer(id, application: application, provider: provider)
        for id in [former, id].compactMap(\.self) {
          try store.connection.note(.account(id, .updated))
        }
      }
      return try store.connection.nextRevision()
    }
    if revision == nil, let id { throw .unknownAccount(id) }
    return revision ?? 0
  }
}

extension OpenStore {
  fileprivate func existingAccount(_ id: Account.ID) throws(Problem) -> Account {
    guard let account = try connection.account(id) else { throw .unknownAccount(id) }
    return account
  }

  /// Opens the key only if there is a credential to decrypt.
  fileprivate func credentials(
    of id: Account.ID, at place: AccountStore.Place?
  ) throws(Problem) -> [StoredCredential] {
    guard let account = try connection.account(id, withScopes: false) else {
      throw .unknownAccount(id)
    }
    let rows = try connection.credentialRows(of: id, at: place)
    guard !rows.isEmpty else { return [] }
    let key = try storeKey()
    var credentials: [StoredCredential] = []
    for row in rows {
      credentials.append(try row.open(account: account, key: key, path: connection.path))
    }
    return credentials
  }

  /// Throws `accountExists` before anything is changed.
  fileprivate func add(_ new: AccountStore.NewAccount) throws(Problem) -> AccountStore.Added {
    let existing = new.existing(among: try connection.candidates(for: new))
    let id = existing?.id ?? new.account.id
    if let existing {
      guard new.mayReplace(existing) else { throw new.collision(with: existing) }
      try connection.note(.credential(id))
      try connection.update(new.replacing(existing))
      if !new.isSamePerson(existing) {
        try connection.deleteCredentials(of: id)
      } else if new.bringsReverseAuthToken {
        try connection.deleteReverseAuthToken(of: id)
      }
    } else {
      try connection.insert(new.account)
    }
    var revision = new.credentials.isEmpty ? try connection.nextRevision() : 0
    for credential in new.credentials {
      revision = try save(credential, of: existingAccount(id), .usual)
    }
    let account = try existingAccount(id)
    try note(id, from: existing, to: account)
    return AccountStore.Added(account: account, created: existing == nil, revision: revision)
  }

  /// Returns `nil`, with nothing written, if the basis has changed since the request.
  fileprivate func settle(
    _ settlement: AccountStore.Settlement, of account: Account
  ) throws(Problem) -> Int64? {
    let generations = try connection.generations(of: account.id)
    guard settlement.isCurrent(generations) else { return nil }
    if settlement.isRefusal {
      for refused in settlement.basis { try connection.refuse(refused.place, of: account.id) }
    }
    for refusal in settlement.serviceRefusals {
      try connection.put(refusal, of: account.id, at: settlement.time)
    }
    var after = settlement.edit.map { account.edited(by: $0) } ?? account
    if after != account { try connection.update(after) }
    let revision: Int64
    if let credential = settlement.credential {
      try connection.note(.credential(account.id))
      revision = try save(credential, of: after, .renewal, refused: settlement.isRefusal)
      after.isSignedIn = true
      if let resource = credential.resource, generations[credential.place] == nil {
        after.resources.append(resource)
      }
    } else {
      revision = try connection.nextRevision()
    }
    after.serviceRefusals = try connection.serviceRefusals(of: account.id)
    after.refusedResources = try connection.refusedResources(of: account.id)
    try note(account.id, from: account, to: after)
    return revision
  }

  fileprivate func save(
    _ credential: StoredCredential, of account: Account, _ limit: SealLimit,
    refused isRefused: Bool = false
  ) throws(Problem) -> Int64 {
    var row = CredentialRow(credential, account: account, key: try storeKey())
    row.generation = try connection.nextRevision(sealing: row.cells.count, limit)
    row.isRefused = isRefused
    try connection.put(row)
    try connection.deleteServiceRefusals(of: credential.place, account.id)
    return row.generation
  }
}
