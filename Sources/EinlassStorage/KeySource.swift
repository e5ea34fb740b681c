internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// What this process brings to open a store's key, as its command line says. How slots are opened: `KeyOpening.swift`.
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

  /// What a slot is wrapped with, and what is recorded of it.
  struct NewSlot {
    var kind: KeySlot.Kind
    var parameters = ""
    var salt = SecureRandom.bytes(16)
    var secret: Secret
  }

  let choice: Choice
  let secretService: KeySecretService
  /// `--passphrase-fd`
  let passphrase: KeyDescriptor?
  /// `--file-passphrase-fd`: of a file of accounts, where that is another one.
  let filePassphrase: KeyDescriptor?
  let key: KeyDescriptor?
  /// What the person typed since.
  let typed = Lock<Secret?>(nil)
  /// How much work a new passphrase slot is.
  private let stretching: KeyFromPassphrase
  /// Slots that need something that takes its time, found while the store was locked.
  let awaited = Lock<Awaited?>(nil)
  /// Held by who gets what they need, as long as that takes. A lock of nothing looks like a race to a sanitizer.
  let preparing = Lock(false)
  /// What that came to, by the slot's salt.
  let prepared = Lock<[[UInt8]: Result<Secret, Problem>]>([:])
  let location: StoreLocation
  /// The key that was opened last.
  let opened = Lock<StoreKey?>(nil)

  /// Some slots of a store.
  struct Awaited {
    var slots: [KeySlot]
    var store: String
  }

  init(
    _ choice: Choice, passphraseDescriptor: Int32? = nil,
    filePassphraseDescriptor: Int32? = nil,
    stretching: KeyFromPassphrase = .standard,
    secretService: KeySecretService = KeySecretService(), location: StoreLocation
  ) {
    self.choice = choice
    self.stretching = stretching
    self.secretService = secretService
    self.location = location
    passphrase = passphraseDescriptor.map { KeyDescriptor(passphrase: $0) }
    filePassphrase = filePassphraseDescriptor.map { KeyDescriptor(passphrase: $0) }
    if case .descriptor(let number) = choice {
      key = KeyDescriptor(
        number, limitBytes: KeyText.limitBytes, what: "key. \(KeyText.form)", parse: KeyText.secret)
    } else {
      key = nil
    }
  }

  /// The kind of slot that a new store would get.
  var kind: KeySlot.Kind {
    switch choice {
    case .descriptor: .fd
    case .usual where passphrase != nil: .passphrase
    case .usual, .file: .keyfile
    }
  }

  /// Gets what somebody may take their time to bring. To be called before anything of the store is locked; what
  /// opens a slot then waits for nobody.
  ///
  /// Throws `keyUnavailable`, or `locked` when it would have to wait and may not.
  func fetch(by deadline: Deadline) throws(Problem) {
    for descriptor in [key, passphrase] {
      guard let descriptor else { continue }
      guard try descriptor.fetch(by: deadline) != nil else { throw .keyAwaited }
    }
  }

  /// Makes or reads what the first slot of a new store is wrapped with, and where that is still to be written.
  func create(
    store: String, storeDirectory: borrowing SafeDirectory
  ) throws(Problem) -> (slot: NewSlot, unwritten: KeyFile?) {
    guard kind == .keyfile else {
      return (try newSlot(kind, store: store, storeDirectory: storeDirectory), nil)
    }
    let file = KeyFile(path: try keyFile(store: store))
    let (secret, isNew) = try file.prepare(awayFrom: storeDirectory)
    return (try slot(of: file, secret), isNew ? file : nil)
  }

  /// Makes or reads what another slot of this kind is wrapped with. Throws `keyUnavailable`, and `refused` for what
  /// was not brought.
  ///
  /// - Parameter chosen: a new passphrase; the one that was brought, when missing.
  func newSlot(
    _ kind: KeySlot.Kind, store: String, storeDirectory: borrowing SafeDirectory,
    chosen: Secret? = nil
  ) throws(Problem) -> NewSlot {
    switch kind {
    case .keyfile:
      let file = KeyFile(path: try keyFile(store: store))
      return try slot(of: file, file.create(awayFrom: storeDirectory))
    case .fd:
      guard let secret = try key?.secret else { throw .notBrought("a key", "--key-fd") }
      return NewSlot(kind: .fd, secret: secret)
    case .passphrase:
      let words = if let chosen { chosen } else { try passphrase?.secret }
      guard let words else {
        throw .notBrought("a passphrase", "--passphrase-fd")
      }
      var slot = NewSlot(kind: .passphrase, parameters: stretching.text, secret: words)
      slot.secret = try stretching.slotKey(of: words, salt: slot.salt)
      prepared.withLock { $0[slot.salt] = .success(slot.secret) }
      return slot
    case .secretservice:
      return NewSlot(kind: .secretservice, secret: try secretService.make(store: store))
    }
  }

  private func slot(of file: KeyFile, _ secret: Secret) throws(Problem) -> NewSlot {
    guard case .file = choice else { return NewSlot(kind: .keyfile, secret: secret) }
    return NewSlot(kind: .keyfile, parameters: try file.absolutePath(), secret: secret)
  }

  /// The passphrase that was brought or typed.
  var words: Secret? {
    get throws(Problem) {
      if let typed = typed.withLock({ $0 }) { return typed }
      return try passphrase?.secret
    }
  }

  /// The key file of a slot without a path of its own, or the one that was named.
  func keyFile(store: String) throws(Problem) -> String {
    if case .file(let path) = choice { return path }
    guard let directory = location.keyDirectory else {
      throw .store(
        .keyUnavailable,
        "HOME is not set, so there is no usual place for the account store's key. Set it, or use --key-file or --key-fd."
      )
    }
    return "\(directory)/\(store).key"
  }
}

extension KeyDescriptor {
  /// One that brings a passphrase: one line.
  convenience init(passphrase number: Int32) {
    self.init(
      number, limitBytes: KeyFromPassphrase.limitBytes + 2,
      what: "passphrase. It takes one line.", parse: KeyFromPassphrase.passphrase)
  }
}

extension Problem {
  /// Whoever brings the key has not done so yet.
  static var keyAwaited: Problem {
    .store(.locked, "The account store's key has not come yet. Try again.")
  }

  fileprivate static func notBrought(_ what: String, _ option: String) -> Problem {
    .store(.refused, "That takes \(what). Bring it with \(option).")
  }
}
