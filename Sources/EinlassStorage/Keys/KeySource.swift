internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The secrets for opening a store's key, as configured on the command line. `KeyOpening.swift`
/// opens slots with them.
///
/// If an explicitly named secret fails, that is an error, and no other is tried. A store that has a
/// key never gets a second one.
final class KeySource: Sendable {
  /// The key option of the command line.
  enum Choice: Sendable, Equatable {
    /// No option: a generated key file in the default directory.
    case usual
    /// `--key-file`
    case file(String)
    /// `--key-fd`
    case descriptor(Int32)
  }

  /// The secret of a new slot, and the values to record with it.
  struct NewSlot {
    var kind: KeySlot.Kind
    var parameters = ""
    var salt = SecureRandom.bytes(16)
    var secret: Secret
  }

  let choice: Choice
  let secretService: KeySecretService
  /// `keyCommand` of the configuration file
  let command: KeyCommand?
  /// `--passphrase-fd`
  let passphrase: KeyDescriptor?
  /// `--file-passphrase-fd`: the passphrase of an accounts file, if it differs.
  let filePassphrase: KeyDescriptor?
  let key: KeyDescriptor?
  /// The passphrase that the person typed last.
  let typed = Lock<Secret?>(nil)
  /// The scrypt parameters of a new passphrase slot.
  private let stretching: ScryptParameters
  /// The slots to prepare, recorded while the store was locked.
  let awaited = Lock<Awaited?>(nil)
  /// Held while slots are prepared. Not a `Lock<Void>`, because the thread sanitizer reports a race
  /// on an empty value.
  let preparing = Lock(false)
  /// The results of `prepare`, by the slot's salt.
  let prepared = Lock<[[UInt8]: Result<Secret, Problem>]>([:])
  let location: StoreLocation
  let opened = Lock<StoreKey?>(nil)

  /// The place in `prepared` of the secret for a slot that is not made yet.
  static let newSlotSalt: [UInt8] = []

  struct Awaited {
    var slots: [KeySlot]
    var store: String
  }

  init(
    _ choice: Choice, passphraseDescriptor: Int32? = nil,
    filePassphraseDescriptor: Int32? = nil,
    stretching: ScryptParameters = .standard,
    secretService: KeySecretService = KeySecretService(), command: KeyCommand? = nil,
    location: StoreLocation
  ) {
    self.choice = choice
    self.stretching = stretching
    self.secretService = secretService
    self.command = command
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

  var kind: KeySlot.Kind {
    switch choice {
    case .descriptor: .fd
    case .usual where passphrase != nil: .passphrase
    case .usual where command != nil: .command
    case .usual, .file: .keyfile
    }
  }

  /// Reads the descriptors. Called before the store is locked, because the parent process may take
  /// its time to write to them.
  ///
  /// Throws `keyUnavailable`, or `locked` if reading would exceed the deadline.
  func fetch(by deadline: Deadline) throws(Problem) {
    for descriptor in [key, passphrase] {
      guard let descriptor else { continue }
      guard try descriptor.fetch(by: deadline) != nil else { throw .keyAwaited }
    }
  }

  /// Returns the first slot of a new store, and the key file if it is still to be written.
  func create(
    store: String, storeDirectory: borrowing SafeDirectory
  ) throws(Problem) -> (slot: NewSlot, unwritten: KeyFile?) {
    if kind == .command, prepared.withLock({ $0[Self.newSlotSalt] == nil }) {
      try wait(
        for: [
          KeySlot(
            id: 0, kind: .command, parameters: "", salt: Self.newSlotSalt, wrappedKey: [])
        ], store: store)
    }
    guard kind == .keyfile else {
      return (try newSlot(kind, store: store, storeDirectory: storeDirectory), nil)
    }
    let file = KeyFile(path: try keyFile(store: store))
    let (secret, isNew) = try file.prepare(awayFrom: storeDirectory)
    return (try slot(of: file, secret), isNew ? file : nil)
  }

  /// Returns the secret of another slot of this kind. Throws `keyUnavailable`, and `refused` if the
  /// secret was not configured.
  ///
  /// - Parameter chosen: a new passphrase; `nil` for the configured one.
  func newSlot(
    _ kind: KeySlot.Kind, store: String, storeDirectory: borrowing SafeDirectory,
    chosen: Secret? = nil
  ) throws(Problem) -> NewSlot {
    switch kind {
    case .keyfile:
      let file = KeyFile(path: try keyFile(store: store))
      return try slot(of: file, file.create(awayFrom: storeDirectory))
    case .fd:
      guard let secret = try key?.secret else { throw .missing("a key", "--key-fd") }
      return NewSlot(kind: .fd, secret: secret)
    case .passphrase:
      let secret = if let chosen { chosen } else { try passphrase?.secret }
      guard let secret else {
        throw .missing("a passphrase", "--passphrase-fd")
      }
      var slot = NewSlot(kind: .passphrase, parameters: stretching.text, secret: secret)
      slot.secret = try stretching.slotKey(of: secret, salt: slot.salt)
      prepared.withLock { $0[slot.salt] = .success(slot.secret) }
      return slot
    case .command:
      guard let command else {
        throw .store(
          .refused,
          "This operation needs a program that prints the key.", advice: .nameKeyCommand
        )
      }
      let printed = prepared.withLock { $0.removeValue(forKey: Self.newSlotSalt) }
      let secret = if let printed { try printed.get() } else { try command.readForNewSlot() }
      let slot = NewSlot(kind: .command, secret: secret)
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

  /// The typed passphrase, else the one from the descriptor.
  var givenPassphrase: Secret? {
    get throws(Problem) {
      if let typed = typed.withLock({ $0 }) { return typed }
      return try passphrase?.secret
    }
  }

  /// Returns the named key file, else the default path for this store.
  func keyFile(store: String) throws(Problem) -> String {
    if case .file(let path) = choice { return path }
    guard let directory = location.keyDirectory else {
      throw .store(
        .keyUnavailable,
        "\(StoreLocation.homeFault()), so the account store's key has no default path.",
        advice: .setHome
      )
    }
    return "\(directory)/\(store).key"
  }
}

extension KeyDescriptor {
  /// Creates a descriptor for a passphrase of one line.
  convenience init(passphrase number: Int32) {
    self.init(
      number, limitBytes: ScryptParameters.limitBytes + 2,
      what: "passphrase. A passphrase is one line.", parse: ScryptParameters.passphrase)
  }
}

extension Problem {
  /// The key or passphrase has not been written to its descriptor yet, or has to be prepared.
  static var keyAwaited: Problem {
    .store(.locked, "The account store's key is not available yet.", advice: .tryAgain)
  }

  fileprivate static func missing(_ what: String, _ option: String) -> Problem {
    .store(
      .refused, "This operation needs \(what), which is passed with \(option).", advice: .passSecret
    )
  }
}
