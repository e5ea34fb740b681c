public import Einlass
internal import EinlassJSON
public import EinlassRPC
public import EinlassSystem

/// Owns the engine, the open prompts and the running flows, and makes the methods.
public final class Server: Sendable {
  /// The parts of the server. `EinlassCommand` assembles them.
  public struct Parts: Sendable {
    public var catalog: ProviderCatalog
    public var store: AccountStore
    @Indirect public var audit: AuditLines
    public var files: AccountsFiles
    /// The descriptors that were added to the catalogue. `catalog` already contains them.
    @Indirect public var overlay: ProviderOverlay
    /// The text of `overlay` that `catalog` was made of.
    public var overlayText: [UInt8]?
    public var effects: Effects
    @Indirect public var configuration: Configuration
    /// The problem with the configuration file, reported by `initialize` and by every method that
    /// needs the configuration.
    @Indirect public var configurationProblem: Problem?
    /// The added providers missing from the catalogue, with their errors. `initialize` reports
    /// them.
    public var leftOut: [ProviderCatalog.Fault]
    @Indirect public var script: Script
    /// The command of the person's program for prompts that the front end cannot show.
    public var prompter: [String] = []
    /// The limits of a front end that is not trusted; `nil` for the person's own.
    @Indirect public var door: Door?
    @Indirect public var version: String
    /// Makes the watch of the store's changes; `nil` if no other process can change the store.
    public var watch: ChangeFeed.Watching?
    public var network: NetworkSource
    /// The language of the prompts.
    public var language = PromptLanguage.english
    /// Moves the clock; set only with `--test`.
    public var advanceClock: (@Sendable (Int64) -> Void)?

    public init(
      catalog: ProviderCatalog, store: AccountStore, audit: AuditLines, files: AccountsFiles,
      overlay: ProviderOverlay, effects: Effects,
      configuration: Configuration = Configuration(), configurationProblem: Problem? = nil,
      leftOut: [ProviderCatalog.Fault] = [],
      script: Script = Script(), version: String, watch: ChangeFeed.Watching? = nil,
      network: NetworkSource = .unknown,
      advanceClock: (@Sendable (Int64) -> Void)? = nil
    ) {
      self.catalog = catalog
      self.store = store
      self.audit = audit
      self.files = files
      self.overlay = overlay
      self.effects = effects
      self.configuration = configuration
      self.configurationProblem = configurationProblem
      self.leftOut = leftOut
      self.script = script
      self.version = version
      self.watch = watch
      self.network = network
      self.advanceClock = advanceClock
    }
  }

  let added: AddedProviders
  let store: AccountStore
  let audit: AuditTrail
  let pauses: RetryPauses
  let turns = Turns()
  let files: AccountsFiles
  let effects: Effects
  let configuration: Configuration
  let configurationProblem: Problem?
  let leftOut: [ProviderCatalog.Fault]
  let script: Script
  let version: String
  let advanceClock: (@Sendable (Int64) -> Void)?
  let door: Door?
  let session: Session
  let announcer: Announcer
  let changes: ChangeFeed
  let network: NetworkFeed
  let prompts: Prompts
  /// `nil` if the person has not set one.
  let prompter: Prompter?
  let refresher: Refresher
  let flows = PendingRequests()
  let lastAccounts = LastAccounts()
  /// Set only with `--test`.
  let isWithoutLeases = Lock(false)
  let hasWarnedOfValidity = Lock(false)
  /// The names of `methods`, because making the methods a second time costs 6 % of a start.
  let methodNames = Lock<[String]>([])
  private let attachedLog = Lock(Log.silent)
  private let sharedSnapshot = SharedSnapshot()

  public init(_ parts: Parts) {
    let session = Session(parts.door)
    door = parts.door
    let announcer = Announcer(
      session: session, sharesUsers: parts.configuration.users.isShared)
    self.session = session
    self.announcer = announcer
    effects = parts.effects.logged(in: attachedLog).with(outlive: { work in
      await announcer.outlive(work)
    })
    let shared = parts.store.sharing(sharedSnapshot)
    added = AddedProviders(
      parts.overlay, to: parts.catalog, of: parts.overlayText,
      origins: parts.configuration.origins, announce: { announcer.announceProviders($0) })
    configuration = parts.configuration
    audit = AuditTrail(
      parts.audit, key: shared.maintenance.auditKey,
      isRequired: parts.configuration.requiresAudit, now: parts.effects.now,
      log: attachedLog)
    pauses = RetryPauses(parts.effects)
    files = parts.files
    configurationProblem = parts.configurationProblem
    leftOut = parts.leftOut
    script = parts.script
    version = parts.version
    advanceClock = parts.advanceClock
    changes = ChangeFeed(
      store: parts.store, announcer: announcer, watching: parts.door == nil ? parts.watch : nil)
    network = NetworkFeed(parts.network) {
      announcer.announceChange("network.changed", ["online": .bool($0)])
    }
    store = shared.announced(by: changes, announcer)
      .leasing(unless: isWithoutLeases)
      .behind(parts.door, now: parts.effects.now)
    refresher = Refresher(
      effects: effects, executor: { announcer.executor },
      failed: { [attachedLog] request, problem in
        announcer.announceRefreshFailure(request, problem)
        attachedLog.withLock { $0 }.info(
          "refresh", "\(request.account.rawValue) is no longer refreshed: \(problem.message)")
      })
    let newPromptID: @Sendable () -> String = { [effects] in identifier("p", effects) }
    prompts = Prompts(
      in: parts.language, newID: newPromptID, notify: { announcer.announce($0, $1) })
    prompter =
      parts.prompter.isEmpty
      ? nil
      : Prompter(
        parts.prompter, effects: effects, refusals: parts.store.failedSignIns, log: attachedLog,
        language: parts.language, newID: newPromptID)
    announcer.afterDecisions { [weak self] in self?.closeNeedlessPrompts(after: $0) }
  }

  /// Serves a connection to its end on the calling thread and returns the exit code of the process.
  public func serve(
    _ streams: consuming StandardStreams, signals: consuming SignalDescriptor?,
    options: Peer.Options = Peer.Options()
  ) throws(SystemError) -> Int32 {
    var options = options
    options.components = { components[$0] }
    options.notifications = { notifications }
    options.secretErrorMembers = ["pendingCredential"]
    options.isPersonal = isPersonal
    options.gate = gate
    options.willTakeRequests = { [sharedSnapshot, changes, added, session, isDoor = door != nil] in
      sharedSnapshot.forget()
      guard !isDoor else { return added.refreshBeforeUse() }
      // The watch rings before a request that another process's change has led to.
      guard !changes.isComplete else { return }
      if session.hearsOfChanges { added.refresh() } else { added.refreshBeforeUse() }
      changes.look()
    }
    let methods = door?.narrowed(self.methods) ?? self.methods
    methodNames.withLock { $0 = methods.map(\.descriptor.name) }
    let peer = try Peer(methods: methods, streams: streams, signals: signals, options: options)
    announcer.attach(peer)
    attachedLog.withLock { $0 = options.log }
    defer {
      refresher.end()
      announcer.attach(nil)
    }
    return peer.run()
  }

  /// Whether the front end has called `initialize`.
  public var hasGreeted: Bool { session.frontEnd.isInitialized }

  /// The log of the current connection.
  var log: Log { attachedLog.withLock { $0 } }

  var catalog: ProviderCatalog { added.catalog }

  /// The engine with the current catalogue.
  var einlass: Einlass { engine(effects) }

  /// The engine for a network method, with a limit of 30 s for all its requests together.
  var budgetedEinlass: Einlass { engine(effects.within(seconds: 30)) }

  private func engine(_ effects: Effects) -> Einlass {
    Einlass(
      catalog: catalog, store: store, effects: effects.speaking(session.frontEnd.locale),
      signInsGrantAccess: !configuration.asksForAccess)
  }

  /// Closes the questions for access that were decided elsewhere.
  ///
  /// - Parameter places: the changed decisions; `nil` for any.
  private func closeNeedlessPrompts(after places: [AccessGrant.Place]?) {
    let isNeedless = { [self] (prompt: Prompt, flow: PendingRequest) -> Bool in
      guard prompt.kind == .grantAccess, case .perform(let request) = flow.kind else {
        return false
      }
      let place = AccessGrant.Place(
        provider: request.provider, application: request.application)
      guard places?.contains(place) ?? true else { return false }
      // A store that cannot be read now leaves the question open.
      return (try? einlass.asksForAccess(request)) == false
    }
    prompts.satisfy(isNeedless)
    prompter?.satisfy(isNeedless)
  }

  /// Refreshes a handed-out token while this process runs, if the token expires, and announces each
  /// replacement.
  func scheduleRefresh(of result: PerformResult, for resource: String? = nil) {
    guard case .oauth2(let token)? = result.credential, let clientID = result.clientID else {
      return
    }
    if changes.isWatching {
      let place = AccountStore.Place(clientID, resource: resource ?? "")
      let key = HeldTokens.Key(account: result.account.id, place: place)
      // The change that replaced the token may have been read already.
      if !changes.held.hold(token, at: key, in: store) { changes.look() }
    }
    if let end = token.expiresAt {
      scheduleRefresh(of: result.account.id, for: resource, endingAt: end)
    }
  }

  /// Refreshes a stored credential while this process runs. Without `end` its expiry is read from
  /// the store.
  func scheduleRefresh(of account: Account.ID, for resource: String?, endingAt end: UnixTime? = nil)
  {
    refresher.scheduleRefresh(of: credentialRequest(of: account, for: resource), endingAt: end) {
      [weak self] in
      self?.budgetedEinlass
    }
  }

  /// Finishes the renewals that other processes had begun when they ended.
  func finishRenewals() {
    guard store.isRemote, let executor = announcer.executor else { return finishBegunRenewals() }
    // The look waits for the network.
    Task(executorPreference: executor) { [weak self] in self?.finishBegunRenewals() }
  }

  private func finishBegunRenewals() {
    refresher.finish(store.begunRenewals.all()) { [weak self] in
      self?.budgetedEinlass
    } _: { [weak self] in
      self?.credentialRequest(of: $0, for: $1)
    }
  }

  /// Returns a new id: a letter, `_`, and 128 random bits.
  func newID(_ letter: String) -> String { identifier(letter, effects) }

  /// Returns the registration of a front end at a provider: its own from `initialize`, or else the
  /// one of the configuration, or else its client ID metadata document.
  func registration(for frontEnd: Session.FrontEnd, at provider: String) -> ClientRegistration? {
    frontEnd.registrations[provider]
      ?? configuration.registration(frontEnd.application, provider)
      ?? document(of: frontEnd.application, at: provider)
  }

  private func document(of application: String, at provider: String) -> ClientRegistration? {
    guard let document = configuration.document(of: application),
      (try? catalog.provider(provider))?.takesClientMetadata == true
    else { return nil }
    return document
  }

  /// Returns the result from the store before the deadline. Without a deadline it returns `nil`
  /// instead of waiting for a locked store.
  func withStore<Success>(
    by deadline: Deadline?, _ body: (AccountStore.Patience) throws(Problem) -> Success
  ) throws(RPCError) -> Success? {
    do throws(Problem) {
      return try body(AccountStore.Patience(until: deadline))
    } catch {
      if error.isLockedStore, deadline == nil { return nil }
      throw RPCError(error)
    }
  }

  /// Returns a page of a list in memory. The cursor is the id of the last entry.
  func list(
    _ name: String, _ entries: [JSONObject], id: String, _ params: JSONObject
  ) throws(RPCError) -> JSONValue {
    var rest = entries[...]
    if let cursor = params[.cursor] {
      guard let index = entries.firstIndex(where: { $0[id] == .string(cursor) }) else {
        throw RPCError(.invalidCursor)
      }
      rest = entries[(index + 1)...]
    }
    return .object(
      Pages.page(
        name, rest, limit: params[.limit], log: log, cursor: { $0[id]?.string ?? "" },
        encode: { .object($0) }))
  }
}

extension AccountStore {
  /// Returns the same store, with leases that exclude nobody while this is `true`. Meanwhile it
  /// knows no begun renewals, because they would be those of ended processes without the leases.
  fileprivate func leasing(unless isWithoutLeases: Lock<Bool>) -> AccountStore {
    let renewals = begunRenewals
    return with(
      lease: { [lease] id throws(Problem) in
        isWithoutLeases.withLock { $0 } ? Lease(end: {}) : try await lease(id)
      },
      begunRenewals: BegunRenewals(
        begin: { if !isWithoutLeases.withLock({ $0 }) { renewals.begin($0) } },
        end: renewals.end,
        all: { isWithoutLeases.withLock { $0 } ? [] : renewals.all() },
        contains: renewals.contains))
  }
}

extension AccountStore.Patience {
  /// The wait of an immediate method: until its deadline, or none without a deadline.
  init(until deadline: Deadline?) {
    self = deadline.map { .until(monotonicMilliseconds: $0.monotonicMilliseconds) } ?? .none
  }
}

extension Problem {
  /// Whether another process holds the store's lock.
  var isLockedStore: Bool {
    reason == .accountStoreFailure && detail == StoreDetail.locked.rawValue
  }
}

private func identifier(_ letter: String, _ effects: Effects) -> String {
  "\(letter)_\(Base64URL.encode(effects.randomBytes(16)))"
}
