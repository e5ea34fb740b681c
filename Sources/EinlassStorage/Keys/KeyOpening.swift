internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// Opening of key slots. Nothing slow runs while the store is locked: `root` and `rewrap` record
/// the slots that need the keyring or scrypt and throw `keyAwaited`. The caller unlocks the store,
/// calls `prepare`, and tries again.
extension KeySource {
  /// Returns the store's key, unwrapped from the first slot that the available secrets open. Throws
  /// `keyUnavailable` with the reason for every slot tried.
  func root(of slots: [KeySlot], store: String) throws(Problem) -> Secret {
    let tried = candidates(slots, store: store)
    guard !tried.isEmpty else { throw asking(noSlot(slots), slots) }
    var waiting: [KeySlot] = []
    var failures: [Problem] = []
    for slot in tried {
      do throws(Problem) {
        guard let secret = try secret(for: slot, store: store) else {
          waiting.append(slot)
          continue
        }
        if let root = slot.unwrap(store: store, with: secret) { return root }
        failures.append(try wrong(slot, store: store))
      } catch {
        failures.append(error)
      }
    }
    try wait(for: waiting, store: store)
    forgetPrepared()
    throw asking(
      .store(
        .keyUnavailable, failures.map(\.message).joined(separator: " "),
        advice: failures[0].advice, command: failures[0].command, path: failures[0].path),
      slots)
  }

  /// Wraps another key for the slots that the available secrets open. Other slots are left out.
  func rewrap(_ slots: [KeySlot], around root: Secret, store: String) throws(Problem) -> [KeySlot] {
    var kept: [KeySlot] = []
    var waiting: [KeySlot] = []
    for slot in slots where canOpen(slot, store: store) {
      do throws(Problem) {
        guard let secret = try secret(for: slot, store: store) else {
          waiting.append(slot)
          continue
        }
        guard slot.unwrap(store: store, with: secret) != nil else { continue }
        kept.append(
          .wrap(
            root, id: slot.id, kind: slot.kind, parameters: slot.parameters, salt: slot.salt,
            store: store, with: secret))
      } catch {}
    }
    try wait(for: waiting, store: store)
    forgetPrepared()
    return kept
  }

  /// Clears the results, because next time the keyring may be unlocked or the passphrase corrected.
  private func forgetPrepared() { prepared.withLock { $0 = [:] } }

  /// Returns the problem, with a passphrase prompt if the person's passphrase would solve it.
  private func asking(_ problem: Problem, _ slots: [KeySlot]) -> Problem {
    guard choice == .usual, passphrase == nil, slots.contains(where: { $0.kind == .passphrase })
    else { return problem }
    var problem = problem
    problem.neededPrompts = [
      .enterPassphrase(Prompt.Passphrase(.keySlot, path: location.path))
    ]
    return problem
  }

  /// Asks the keyring and runs scrypt for the recorded slots, however long that takes. The store
  /// must not be locked meanwhile.
  ///
  /// Runs on one thread at a time, because scrypt takes much memory. A thread that waited finds the
  /// results of the thread before it.
  func prepare() {
    preparing.withLock { _ in
      guard let awaited = awaited.withLock({ $0 }) else { return }
      for slot in awaited.slots where prepared.withLock({ $0[slot.salt] == nil }) {
        let result: Result<Secret, Problem>
        do throws(Problem) {
          result = .success(try prepared(slot, store: awaited.store))
        } catch {
          result = .failure(error)
        }
        prepared.withLock { $0[slot.salt] = result }
      }
    }
  }

  /// Tries a typed passphrase on these slots, invisible to other threads until it fits, and keeps
  /// it then. Throws `keyUnavailable`.
  func accept(_ passphrase: Secret, for slots: [KeySlot], store: String) throws(Problem) {
    try preparing.withLock { _ throws(Problem) in
      // Another thread has accepted the same passphrase while this one waited.
      guard typed.withLock({ $0 }) != passphrase else { return }
      let (slot, secret) = try opened(slots, by: passphrase, store: store)
      prepared.withLock { $0[slot.salt] = .success(secret) }
      typed.withLock { $0 = passphrase }
    }
  }

  /// Returns the secret of the slot that a passphrase opens, without keeping anything. Throws `keyUnavailable`.
  func secret(of passphrase: Secret, for slots: [KeySlot], store: String) throws(Problem) -> Secret
  {
    try preparing.withLock { _ throws(Problem) in
      try opened(slots, by: passphrase, store: store).secret
    }
  }

  private func opened(
    _ slots: [KeySlot], by passphrase: Secret, store: String
  ) throws(Problem) -> (slot: KeySlot, secret: Secret) {
    let tried = slots.filter { $0.kind == .passphrase }
    for slot in tried {
      let secret = try stretched(passphrase, for: slot)
      if slot.unwrap(store: store, with: secret) != nil { return (slot, secret) }
    }
    guard let slot = tried.first else { throw noSlot(slots) }
    throw asking(try wrong(slot, store: store), slots)
  }

  private func prepared(_ slot: KeySlot, store: String) throws(Problem) -> Secret {
    if slot.kind == .secretservice { return try secretService.read(store: store) }
    if slot.kind == .command, let command {
      return try slot.salt == Self.newSlotSalt ? command.readForNewSlot() : command.read()
    }
    guard let passphrase = try givenPassphrase else { throw .keyAwaited }
    return try stretched(passphrase, for: slot)
  }

  private func stretched(_ passphrase: Secret, for slot: KeySlot) throws(Problem) -> Secret {
    guard let way = ScryptParameters(slot) else {
      throw .store(
        .keyUnavailable,
        "The scrypt parameters of the account store's passphrase slot are damaged or exceed the limit.",
        advice: .restoreOrOtherSlot
      )
    }
    return try way.slotKey(of: passphrase, salt: slot.salt)
  }

  func wait(for slots: [KeySlot], store: String) throws(Problem) {
    guard !slots.isEmpty else { return }
    awaited.withLock { $0 = Awaited(slots: slots, store: store) }
    throw .keyAwaited
  }

  private func canOpen(_ slot: KeySlot, store: String) -> Bool {
    switch slot.kind {
    case .keyfile: key == nil
    case .fd: key != nil
    case .passphrase:
      passphrase != nil || typed.withLock { $0 != nil } || kept(for: slot, store: store) != nil
    case .command: choice == .usual && command != nil
    case .secretservice: choice == .usual
    }
  }

  /// Returns the slots to try, in order. If there is a slot for the key file or descriptor named on
  /// the command line, only that one. Otherwise a passphrase, typed or kept by the kernel, excludes the
  /// keyring and the program. A key file precedes a passphrase, because scrypt is slow and the
  /// passphrase may be meant for an accounts file.
  private func candidates(_ slots: [KeySlot], store: String) -> [KeySlot] {
    let fitting = slots.filter { canOpen($0, store: store) }
    let passphrases = fitting.filter { $0.kind == .passphrase }
    let others = fitting.filter { $0.kind != .passphrase }.sorted { $0.kind.cost < $1.kind.cost }
    if passphrases.isEmpty || (choice != .usual && !others.isEmpty) { return others }
    return others.filter { $0.kind == .keyfile } + passphrases
  }

  /// Returns `nil` if the slot has to be prepared first.
  private func secret(for slot: KeySlot, store: String) throws(Problem) -> Secret? {
    switch slot.kind {
    case .keyfile:
      let path = try path(for: slot, store: store)
      guard !location.isShared || FileStatus.at(path) != nil else {
        throw .store(
          .keyUnavailable,
          "This machine has no key for the account store \(location.path).", advice: .copyKeyFile,
          path: path)
      }
      return try KeyFile(path: path).read()
    case .fd: return try key?.secret
    case .command, .passphrase, .secretservice:
      let found = prepared.withLock { $0[slot.salt] }
      switch found {
      case nil: return kept(for: slot, store: store)?.secret
      case .success(let secret): return secret
      case .failure(let problem): throw problem
      }
    }
  }

  private func path(for slot: KeySlot, store: String) throws(Problem) -> String {
    if case .file(let path) = choice { return path }
    return slot.parameters.isEmpty ? try keyFile(store: store) : slot.parameters
  }

  private func wrong(_ slot: KeySlot, store: String) throws(Problem) -> Problem {
    let what =
      switch slot.kind {
      case .keyfile: "The key file \(try path(for: slot, store: store))"
      case .fd: "The secret from descriptor \(key?.number ?? -1)"
      case .command: "The key printed by \(command?.words[0] ?? "keyCommand")"
      case .passphrase: "The passphrase"
      case .secretservice: "The secret in the Secret Service"
      }
    return .store(
      .keyUnavailable,
      "\(what) does not open the account store.")
  }

  private func noSlot(_ slots: [KeySlot]) -> Problem {
    if slots.contains(where: { $0.kind == .passphrase }), choice == .usual {
      return .store(
        .keyUnavailable, "The account store needs a passphrase.", advice: .unlockStore)
    }
    let ways = KeySlot.Kind.allCases.filter { kind in slots.contains { $0.kind == kind } }
      .map(\.howToOpen)
    return .store(
      .keyUnavailable,
      "None of the given secrets opens the account store. It opens with \(ways.joined(separator: ", or with ")).",
      advice: command == nil && slots.allSatisfy { $0.kind == .command } ? .nameKeyCommand : nil
    )
  }
}

extension KeySource {
  /// Runs `body`, and again after each preparation of the key that it turns out to need. One
  /// deadline covers all waits except the preparations, which have limits of their own. The caller
  /// locks the store in `body` alone.
  func supplying<Result>(
    _ needsKey: Bool, _ patience: AccountStore.Patience,
    _ body: (Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    var deadline = patience.deadline
    if needsKey { try fetch(by: deadline) }
    while true {
      do throws(Problem) { return try body(deadline) } catch {
        // `keyAwaited` is thrown before anything is changed, so the attempt can be repeated.
        guard needsKey, patience != .none, error == .keyAwaited else { throw error }
        let left = deadline.millisecondsLeft
        prepare()
        // A wait that began again has used up the deadline.
        deadline = Deadline(milliseconds: max(Int(left), 2_000))
      }
    }
  }
}

extension KeySlot.Kind {
  fileprivate var cost: Int {
    switch self {
    case .keyfile, .passphrase, .fd: 0
    case .command: 1
    case .secretservice: 2
    }
  }

  fileprivate var howToOpen: String {
    switch self {
    case .keyfile: "a key file: leave --key-fd out"
    case .fd: "--key-fd"
    case .passphrase: "--passphrase-fd"
    case .command: "a program: name it as keyCommand in the configuration file"
    case .secretservice: "the Secret Service: leave --key-fd and --key-file out"
    }
  }
}
