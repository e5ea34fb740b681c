internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// How slots are opened with what was brought. While the store is locked nothing is waited for: what takes time is
/// noted, prepared without the lock, and then tried again.
extension KeySource {
  /// The store's key from the first slot that fits what was brought. Throws `keyUnavailable`, saying of every slot
  /// that was tried why it does not open.
  func root(of slots: [KeySlot], store: String) throws(Problem) -> Secret {
    let tried = candidates(slots)
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
        .keyUnavailable, failures.map(\.message).joined(separator: " "), path: failures[0].path),
      slots)
  }

  /// The slots that what was brought opens, around another key; the others are left out (C-37).
  func rewrap(_ slots: [KeySlot], around root: Secret, store: String) throws(Problem) -> [KeySlot] {
    var kept: [KeySlot] = []
    var waiting: [KeySlot] = []
    for slot in slots where canOpen(slot) {
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

  /// The keyring may be unlocked the next time, the passphrase be another one.
  private func forgetPrepared() { prepared.withLock { $0 = [:] } }

  /// The problem, with the prompt that mends it where the person's passphrase does.
  private func asking(_ problem: Problem, _ slots: [KeySlot]) -> Problem {
    guard choice == .usual, passphrase == nil, slots.contains(where: { $0.kind == .passphrase })
    else { return problem }
    var problem = problem
    problem.neededPrompts = [
      .enterPassphrase(Prompt.Passphrase(.keySlot, path: location.path))
    ]
    return problem
  }

  /// Gets what was missing when slots were to be opened, however long that takes. Nothing of the store is locked
  /// meanwhile.
  ///
  /// One thread at a time: a passphrase takes its memory, and who waited finds what the one before has got.
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

  /// Tries what the person typed at these slots, without anybody else's taking it for what opens them, and keeps it
  /// if it does. Throws `keyUnavailable`.
  func accept(_ words: Secret, for slots: [KeySlot], store: String) throws(Problem) {
    try preparing.withLock { _ throws(Problem) in
      // Who has waited for others with the same words need not try them.
      guard typed.withLock({ $0 }) != words else { return }
      let tried = slots.filter { $0.kind == .passphrase }
      for slot in tried {
        let secret = try stretched(words, for: slot)
        guard slot.unwrap(store: store, with: secret) != nil else { continue }
        prepared.withLock { $0[slot.salt] = .success(secret) }
        typed.withLock { $0 = words }
        return
      }
      guard let slot = tried.first else { throw noSlot(slots) }
      throw asking(try wrong(slot, store: store), slots)
    }
  }

  private func prepared(_ slot: KeySlot, store: String) throws(Problem) -> Secret {
    guard slot.kind == .passphrase else { return try secretService.read(store: store) }
    guard let words = try words else { throw .keyAwaited }
    return try stretched(words, for: slot)
  }

  private func stretched(_ words: Secret, for slot: KeySlot) throws(Problem) -> Secret {
    guard let way = KeyFromPassphrase(slot) else {
      throw .store(
        .keyUnavailable,
        "The account store's passphrase slot asks for more work than is taken, or was damaged.")
    }
    return try way.slotKey(of: words, salt: slot.salt)
  }

  private func wait(for slots: [KeySlot], store: String) throws(Problem) {
    guard !slots.isEmpty else { return }
    awaited.withLock { $0 = Awaited(slots: slots, store: store) }
    throw .keyAwaited
  }

  private func canOpen(_ slot: KeySlot) -> Bool {
    switch slot.kind {
    case .keyfile: key == nil
    case .fd: key != nil
    case .passphrase: passphrase != nil || typed.withLock { $0 != nil }
    case .secretservice: choice == .usual
    }
  }

  /// What was brought explicitly opens the slots that it is for. A key file is tried before a passphrase, which may be
  /// that of a file of accounts, and costs more.
  private func candidates(_ slots: [KeySlot]) -> [KeySlot] {
    let fitting = slots.filter(canOpen)
    let passphrases = fitting.filter { $0.kind == .passphrase }
    let others = fitting.filter { $0.kind != .passphrase }.sorted { $0.kind.cost < $1.kind.cost }
    if passphrases.isEmpty || (choice != .usual && !others.isEmpty) { return others }
    return others.filter { $0.kind == .keyfile } + passphrases
  }

  /// `nil` when it takes time to get.
  private func secret(for slot: KeySlot, store: String) throws(Problem) -> Secret? {
    switch slot.kind {
    case .keyfile: return try KeyFile(path: try path(for: slot, store: store)).read()
    case .fd: return try key?.secret
    case .passphrase, .secretservice:
      let found = prepared.withLock { $0[slot.salt] }
      switch found {
      case nil: return nil
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
      case .fd: "What descriptor \(key?.number ?? -1) brought"
      case .passphrase: "The passphrase"
      case .secretservice: "What the Secret Service keeps"
      }
    return .store(
      .keyUnavailable,
      "\(what) does not open the account store's key. Bring the one it was made with.")
  }

  private func noSlot(_ slots: [KeySlot]) -> Problem {
    if slots.contains(where: { $0.kind == .passphrase }), choice == .usual {
      return .store(
        .keyUnavailable,
        "A passphrase opens the account store, and none was brought. Enter it, or bring it with --passphrase-fd."
      )
    }
    let ways = KeySlot.Kind.allCases.filter { kind in slots.contains { $0.kind == kind } }
      .map(\.howToOpen)
    return .store(
      .keyUnavailable,
      "The account store has no key slot for what was brought. It is opened with \(ways.joined(separator: ", or with "))."
    )
  }
}

extension KeySlot.Kind {
  /// What costs less is tried first.
  fileprivate var cost: Int { self == .secretservice ? 1 : 0 }

  fileprivate var howToOpen: String {
    switch self {
    case .keyfile: "a key file: leave --key-fd out"
    case .fd: "--key-fd"
    case .passphrase: "--passphrase-fd"
    case .secretservice: "the Secret Service: leave --key-fd and --key-file out"
    }
  }
}
