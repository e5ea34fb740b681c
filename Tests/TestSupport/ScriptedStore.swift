public import Einlass
internal import EinlassSystem

/// An account store in memory that reports its changes and fails on demand.
public final class ScriptedStore: Sendable {
  private struct Client: Hashable {
    var provider: String
    var flow: FlowKind?
  }

  private struct State {
    var snapshot = AccountStore.Snapshot()
    var credentials: [Account.ID: [StoredCredential]] = [:]
    var registrations: [Client: StoredRegistration] = [:]
    var failures: [String: Problem] = [:]
    var lostAnswers: [String: Problem] = [:]
    var begunRenewals: Set<BegunRenewal> = []
    var leases: [String] = []
    var refusals: [OwnServerStore.Login: (OwnServerStore.Refusals, Secret)] = [:]
    var settings: [[String]: ServerSettings] = [:]
    var avatars: [String: KeptAvatar] = [:]
    var watch: (@Sendable (String) -> Void)?

    func note(_ event: String) { watch?(event) }

    mutating func set(_ registration: StoredRegistration?, of client: Client) -> Int64 {
      if registration?.mayReplace(isIssued: registrations[client]?.isIssued) ?? true {
        registrations[client] = registration
        snapshot.registrations = registrations.values.map(\.known)
      }
      return snapshot.revision
    }

    mutating func refuse(_ refused: [StoredCredential], of account: Account.ID) {
      credentials[account] = credentials[account]?.map { stored in
        var stored = stored
        if refused.contains(stored) { stored.isRefused = true }
        return stored
      }
    }

    mutating func save(_ credential: StoredCredential, of account: Account.ID) {
      note("save \(credential.role.rawValue) \(credential.registration.clientID)")
      var credential = credential
      credential.generation = snapshot.revision
      credentials[account, default: []].removeAll {
        $0.place == credential.place
      }
      credentials[account, default: []].append(credential)
    }
  }

  private let state: Lock<State>

  public init(
    accounts: [Account] = [], grants: [AccessGrant] = [],
    credentials: [Account.ID: [StoredCredential]] = [:]
  ) {
    state = Lock(
      State(
        snapshot: .init(revision: 1, accounts: accounts, grants: grants), credentials: credentials))
  }

  /// Sets the observer of changes, which are texts such as `grant granted`, `save application APP`,
  /// `update ada`.
  func watch(_ watch: @escaping @Sendable (String) -> Void) { state.withLock { $0.watch = watch } }

  public var accounts: [Account] { state.withLock { $0.snapshot.accounts } }
  public var grants: [AccessGrant] { state.withLock { $0.snapshot.grants } }
  public func credentials(of account: Account.ID) -> [StoredCredential] {
    state.withLock { $0.credentials[account] ?? [] }
  }

  /// Makes every further call of this closure of `AccountStore` throw: `reading`, `decide`,
  /// `settle`, …
  public func fail(_ closure: String, with problem: Problem) {
    state.withLock { $0.failures[closure] = problem }
  }

  /// Makes the next change by this closure of `AccountStore` throw after it was made.
  public func loseAnswer(_ closure: String, with problem: Problem) {
    state.withLock { $0.lostAnswers[closure] = problem }
  }

  /// The beginnings and ends of leases, in order: `take a_ada`, `end a_ada`.
  public var leases: [String] { state.withLock { $0.leases } }

  /// The renewals that have begun and have no stored answer.
  public var begunRenewals: Set<BegunRenewal> {
    get { state.withLock { $0.begunRenewals } }
    set { state.withLock { $0.begunRenewals = newValue } }
  }

  /// The kept pictures by their web address.
  public var avatars: [String: KeptAvatar] {
    get { state.withLock { $0.avatars } }
    set { state.withLock { $0.avatars = newValue } }
  }

  /// The store as the domain sees it.
  public var accountStore: AccountStore {
    AccountStore(
      reading: { [self] _, body throws(Problem) in
        try body(read("reading") { $0.snapshot })
      },
      changes: { _, _ throws(Problem) in
        throw Problem(.internal, "A scripted store keeps no list of changes.")
      },
      add: { [self] new, _ throws(Problem) in
        try change("add", "add \(new.account.username)") { (state) throws(Problem) in
          let existing = state.snapshot.accounts.first {
            $0.provider == new.account.provider
              && ($0.subject == nil || new.account.subject == nil
                ? $0.username == new.account.username : $0.subject == new.account.subject)
          }
          if let existing {
            throw Problem(.accountExists, "It is there already.", account: existing.id)
          }
          state.snapshot.accounts.append(new.account)
          state.credentials[new.account.id] = new.credentials
          return .init(account: new.account, created: true, revision: state.snapshot.revision)
        }
      },
      addAll: { _, _ throws(Problem) in
        throw Problem(.internal, "A scripted store imports nothing.")
      },
      update: { [self] id, _, edit throws(Problem) in
        try change("update", "update") { (state) throws(Problem) in
          guard let index = state.snapshot.accounts.firstIndex(where: { $0.id == id }) else {
            throw Problem(.unknownAccount, "There is no account with this id.")
          }
          edit(&state.snapshot.accounts[index])
          return state.snapshot.revision
        }
      },
      remove: { [self] id, _ throws(Problem) in
        try change("remove", "remove") { (state) throws(Problem) in
          guard state.snapshot.accounts.contains(where: { $0.id == id }) else {
            throw Problem(.unknownAccount, "There is no account with this id.")
          }
          state.snapshot.accounts.removeAll { $0.id == id }
          state.credentials[id] = nil
          return state.snapshot.revision
        }
      },
      decide: { [self] place, _, edit throws(Problem) in
        let former: AccessGrant? = state.withLock { $0.snapshot.grant(place) }
        let decision = edit(former)
        let event = decision.map { "grant \($0.state.rawValue)" } ?? "reset grant"
        return try change("decide", event) { (state) throws(Problem) in
          state.snapshot.grants.removeAll { $0.place == place }
          if let decision { state.snapshot.grants.append(decision) }
          return state.snapshot.revision
        }
      },
      credentials: { [self] id, place, _ throws(Problem) in
        try read("credentials") { state in
          (state.credentials[id] ?? []).filter { place == nil || $0.place == place }
        }
      },
      settle: { [self] id, settlement throws(Problem) -> Int64? in
        try change("settle") { (state) throws(Problem) -> Int64? in
          guard let index = state.snapshot.accounts.firstIndex(where: { $0.id == id }) else {
            throw Problem(.unknownAccount, "There is no account with this id.")
          }
          guard settlement.basis.allSatisfy(state.credentials[id, default: []].contains) else {
            return nil
          }
          if settlement.isRefusal {
            state.note("refuse")
            state.refuse(settlement.basis, of: id)
          }
          for refusal in settlement.serviceRefusals {
            if refusal.refresh == nil {
              state.note(
                "refuse \(refusal.service.isEmpty ? "no service" : refusal.service) until \(refusal.endsAt - settlement.time)"
              )
            }
            state.snapshot.accounts[index].serviceRefusals.append(refusal)
          }
          if var credential = settlement.credential {
            credential.isRefused = settlement.isRefusal
            state.save(credential, of: id)
          }
          if let edit = settlement.edit {
            state.note("update")
            edit(&state.snapshot.accounts[index])
          }
          return state.snapshot.revision
        }
      },
      forgetCredentials: { [self] id throws(Problem) in
        try change("forgetCredentials", "forget") { (state) throws(Problem) in
          state.credentials[id] = nil
          for index in state.snapshot.accounts.indices where state.snapshot.accounts[index].id == id
          {
            state.snapshot.accounts[index].isSignedIn = false
          }
          return state.snapshot.revision
        }
      },
      setPreferred: { [self] _, _, _, _ throws(Problem) in
        try change("setPreferred", "prefer") { $0.snapshot.revision }
      },
      lease: { [self] account throws(Problem) in
        try read("lease") { _ in }
        state.withLock { $0.leases.append("take \(account.rawValue)") }
        return Lease(end: { [self] in
          state.withLock { $0.leases.append("end \(account.rawValue)") }
        })
      },
      requireWritable: { [self] () throws(Problem) in try read("requireWritable") { _ in } },
      registrations: RegistrationStore(
        get: { [self] provider, flow, _ throws(Problem) in
          try read("registrations") { $0.registrations[Client(provider: provider, flow: flow)] }
        },
        set: { [self] provider, flow, registration, _ throws(Problem) in
          try change("setRegistration", "register \(provider)") { (state) throws(Problem) in
            state.set(registration, of: Client(provider: provider, flow: flow))
          }
        }),
      protection: { [self] _ throws(Problem) in try read("protection") { _ in "memory" } },
      maintenance: StoreMaintenance(
        failing: Problem(.internal, "A scripted store needs no maintenance.")),
      begunRenewals: BegunRenewals(
        begin: { [self] begun in state.withLock { _ = $0.begunRenewals.insert(begun) } },
        end: { [self] begun in state.withLock { _ = $0.begunRenewals.remove(begun) } },
        all: { [self] in begunRenewals }),
      failedSignIns: .none,
      avatars: AvatarFiles(
        kept: { [self] address in state.withLock { $0.avatars[address] } },
        keep: { [self] address, avatar, now in
          let kept = KeptAvatar(path: "/\(address)", format: avatar.format, fetchedAt: now)
          state.withLock { $0.avatars[address] = kept }
          return kept
        },
        keepOnly: { [self] addresses in
          guard let used = try? addresses() else { return }
          state.withLock { state in state.avatars = state.avatars.filter { used.contains($0.key) } }
        }),
      ownServers: ownServers,
      users: UserStore(
        failing: Problem(.internal, "The users are tested with a store in memory.")))
  }

  private func read<Value>(
    _ closure: String, _ body: (State) -> Value
  ) throws(Problem) -> Value {
    try state.withLock { (state) throws(Problem) in
      if let failure = state.failures[closure] { throw failure }
      return body(state)
    }
  }

  /// Keeps the refused password itself. Never removes old refusals.
  private var ownServers: OwnServerStore {
    OwnServerStore(
      refusals: { [self] login throws(Problem) in try read("refusals") { $0.refusals[login]?.0 } },
      isRefused: { [self] login, password, since throws(Problem) in
        try read("isRefused") { state in
          state.refusals[login].map { $0.0.lastAt >= since && $0.1 == password } ?? false
        }
      },
      noteRefusal: { [self] login, password, now throws(Problem) in
        try change("noteRefusal") { (state) throws(Problem) in
          let count = state.refusals[login]?.0.count ?? 0
          state.refusals[login] = (.init(count: count + 1, lastAt: now), password)
        }
      },
      forgetRefusals: { [self] login throws(Problem) in
        try change("forgetRefusals") { (state) throws(Problem) in state.refusals[login] = nil }
      },
      settings: { [self] application, provider, _ throws(Problem) in
        try read("settings") { $0.settings[[application, provider]] }
      },
      setSettings: { [self] settings, application, provider throws(Problem) in
        try change("setSettings") { (state) throws(Problem) in
          state.settings[[application, provider]] = settings
        }
      })
  }

  /// Stores a credential without a log entry, as the initial state of a script.
  public func put(_ credential: StoredCredential, of account: Account.ID) {
    state.withLock { state in
      state.credentials[account, default: []].removeAll {
        $0.place == credential.place
      }
      state.credentials[account, default: []].append(credential)
    }
  }

  private func change<Value>(
    _ closure: String, _ event: String? = nil, _ body: (inout State) throws(Problem) -> Value
  ) throws(Problem) -> Value {
    try state.withLock { (state) throws(Problem) in
      if let failure = state.failures[closure] { throw failure }
      state.snapshot.revision += 1
      if let event { state.note(event) }
      let value = try body(&state)
      if let lost = state.lostAnswers.removeValue(forKey: closure) { throw lost }
      return value
    }
  }
}
