internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// What this process brings to open a store's key, as its command line says.
///
/// What was named explicitly and fails is an error, never a reason to try something else; and no second key is
/// ever made for a store that has one.
final class KeySource: Sendable {
  /// What the command line names.
  enum Choice: Sendable, Equatable {
    /// Nothing: a generated file in the usual place.
    case usual
    /// `--key-file`
    case file(String)
    /// `--key-fd`
    case descriptor(Int32)
  }

  /// What a new store gets.
  struct NewSlot {
    var kind: KeySlot.Kind
    var parameters: String
    var secret: Secret
  }

  let choice: Choice
  private let location: StoreLocation
  /// A descriptor can be read only once; its number may soon be another file's.
  private let fetched = Lock(Fetched.nothing)

  private enum Fetched {
    case nothing
    case secret(Secret)
    case failure(Problem)
  }

  init(_ choice: Choice, location: StoreLocation) {
    self.choice = choice
    self.location = location
  }

  /// The kind of slot that a new store would get.
  var kind: KeySlot.Kind {
    if case .descriptor = choice { .fd } else { .keyfile }
  }

  /// Gets what somebody may take their time to bring. To be called before anything of the store is locked; what
  /// opens a slot then waits for nobody.
  ///
  /// Throws `keyUnavailable`, or `locked` when it would have to wait and may not.
  func fetch(by deadline: Deadline) throws(Problem) {
    guard case .descriptor(let number) = choice else { return }
    let secret = try fetched.withLock(by: deadline) { fetched throws(Problem) in
      if case .nothing = fetched, deadline.millisecondsLeft > 0 {
        do throws(Problem) {
          fetched = .secret(try Self.read(number, by: deadline))
        } catch {
          fetched = .failure(error)
        }
      }
      return try Self.secret(&fetched)
    }
    guard secret != nil else { throw .keyAwaited }
  }

  /// Makes or reads what the first slot of a new store is wrapped with.
  func create(store: String, storeDirectory: borrowing SafeDirectory) throws(Problem) -> NewSlot {
    switch choice {
    case .usual:
      let path = try usualFile(store: store)
      let secret = try KeyFile(path: path).create(awayFrom: storeDirectory)
      return NewSlot(kind: .keyfile, parameters: "", secret: secret)
    case .file(let path):
      let file = KeyFile(path: path)
      let secret = try file.create(awayFrom: storeDirectory)
      return NewSlot(kind: .keyfile, parameters: try file.absolutePath(), secret: secret)
    case .descriptor:
      return NewSlot(kind: .fd, parameters: "", secret: try fetchedSecret())
    }
  }

  /// The store's key from the first slot that fits what was brought. Throws `keyUnavailable`.
  func root(of slots: [KeySlot], store: String) throws(Problem) -> Secret {
    let wanted = slots.filter { $0.kind == kind }
    guard let first = wanted.first else { throw noSlot(slots) }
    for slot in wanted {
      if let root = slot.unwrap(store: store, with: try secret(for: slot, store: store)) {
        return root
      }
    }
    throw .store(
      .keyUnavailable,
      "\(try name(for: first, store: store)) does not open the account store's key. Bring the one it was made with."
    )
  }

  /// The slots that what was brought opens, around another key; the others are left out (C-37).
  func rewrap(_ slots: [KeySlot], around root: Secret, store: String) -> [KeySlot] {
    slots.filter { $0.kind == kind }.compactMap { slot in
      guard let secret = try? secret(for: slot, store: store),
        slot.unwrap(store: store, with: secret) != nil
      else { return nil }
      return .wrap(
        root, id: slot.id, kind: slot.kind, parameters: slot.parameters, store: store, with: secret)
    }
  }

  private func secret(for slot: KeySlot, store: String) throws(Problem) -> Secret {
    if case .descriptor = choice { return try fetchedSecret() }
    return try KeyFile(path: try path(for: slot, store: store)).read()
  }

  private func path(for slot: KeySlot, store: String) throws(Problem) -> String {
    if case .file(let path) = choice { return path }
    return slot.parameters.isEmpty ? try usualFile(store: store) : slot.parameters
  }

  private func name(for slot: KeySlot, store: String) throws(Problem) -> String {
    if case .descriptor(let number) = choice { return "What descriptor \(number) brought" }
    return "The key file \(try path(for: slot, store: store))"
  }

  private func usualFile(store: String) throws(Problem) -> String {
    guard let directory = location.keyDirectory else {
      throw .store(
        .keyUnavailable,
        "HOME is not set, so there is no usual place for the account store's key. Set it, or use --key-file or --key-fd."
      )
    }
    return "\(directory)/\(store).key"
  }

  /// What `fetch` got.
  private func fetchedSecret() throws(Problem) -> Secret {
    try fetched.withLock(Self.secret)
  }

  private static func secret(_ fetched: inout Fetched) throws(Problem) -> Secret {
    switch fetched {
    case .nothing: throw .keyAwaited
    case .secret(let secret): return secret
    case .failure(let problem): throw problem
    }
  }

  private static func read(_ number: Int32, by deadline: Deadline) throws(Problem) -> Secret {
    let bytes = try FileProblem.key { () throws(FileError) in
      try NamedDescriptor.readAndClose(number, limitBytes: KeyText.limitBytes, by: deadline)
    }
    guard let key = KeyText.secret(bytes) else {
      throw .store(
        .keyUnavailable, "What descriptor \(number) brought is no key. \(KeyText.form)")
    }
    return key
  }

  private func noSlot(_ slots: [KeySlot]) -> Problem {
    let kinds = Set(slots.map(\.kind))
    let fix =
      kinds.contains(.fd) && kind == .keyfile
      ? "It is opened with --key-fd." : "It is opened with a key file: leave --key-fd out."
    return .store(.keyUnavailable, "The account store has no key slot for what was brought. \(fix)")
  }
}

extension Problem {
  /// Whoever brings the key has not done so yet.
  fileprivate static var keyAwaited: Problem {
    .store(.locked, "The account store's key has not come yet. Try again.")
  }
}
