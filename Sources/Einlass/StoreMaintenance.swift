internal import EinlassCrypto

/// The maintenance of a store: closures of `AccountStore` that `EinlassStorage` fills.
///
/// `check`, `backup` and `rotateKey` take time in proportion to the store's size. They report their
/// progress. If the progress closure throws, they end without a change.
public struct StoreMaintenance: Sendable {
  /// Receives the progress while the store is locked, so it must not wait.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) throws(Problem) -> Void

  /// Returns the facts that are available at once, without opening the key.
  public var status: @Sendable (AccountStore.Patience) throws(Problem) -> Status
  /// Reads the whole store. Damage is a result; a store that cannot be opened is a problem.
  public var check: @Sendable (Progress) throws(Problem) -> Check
  /// Copies the store to an absolute path without an existing file. The copy does not contain the
  /// key file.
  public var backup: @Sendable (_ path: String, Progress) throws(Problem) -> Backup
  /// Moves the store to a path or address without a store, and gives the old one another name. The
  /// key slots stay.
  public var move: @Sendable (_ place: String, Progress) throws(Problem) -> Moved
  /// Encrypts all sealed values with a new key, atomically.
  public var rotateKey: @Sendable (Progress) throws(Problem) -> Rotation
  /// Adds a key slot, or replaces the one of the same kind. Returns the kinds of all slots. Without
  /// a passphrase here, a passphrase slot uses the one of `--passphrase-fd`.
  public var addKeySlot:
    @Sendable (_ kind: String, _ passphrase: Secret?) throws(Problem) -> [String]
  /// Removes a key slot, but never the last one. Returns the kinds of the remaining slots.
  public var removeKeySlot: @Sendable (_ kind: String) throws(Problem) -> [String]
  /// Lets the kernel keep the secret of the passphrase slot for this user's processes, for these
  /// seconds, which end at this time. Throws `refused` without such a slot or keyring, also without a
  /// passphrase here, and `keyUnavailable` for a wrong one.
  public var unlock:
    @Sendable (_ passphrase: Secret?, _ seconds: UInt32, UnixTime) throws(Problem) -> Void
  /// Lets the kernel forget that secret. Returns whether there was one.
  public var lock: @Sendable () throws(Problem) -> Bool
  /// Opens the key of an existing store with the secrets given at start or with this passphrase,
  /// which is then kept for later uses. Throws `keyUnavailable`, with the needed prompt if a
  /// passphrase from the person would help.
  public var openKey: @Sendable (_ typed: Secret?) throws(Problem) -> Void
  /// Returns the passphrase of `--passphrase-fd` or, for an accounts file, of
  /// `--file-passphrase-fd`; `nil` if neither option was given.
  public var passphrase: @Sendable (_ isOfFile: Bool) throws(Problem) -> Secret?
  /// Returns the key of token digests in the audit trail, the same for all processes. `rotateKey`
  /// changes it. `nil` while there is no store.
  public var auditKey: @Sendable (AccountStore.Patience) throws(Problem) -> Secret?

  public init(
    status: @escaping @Sendable (AccountStore.Patience) throws(Problem) -> Status,
    check: @escaping @Sendable (Progress) throws(Problem) -> Check,
    backup: @escaping @Sendable (String, Progress) throws(Problem) -> Backup,
    move: @escaping @Sendable (String, Progress) throws(Problem) -> Moved,
    rotateKey: @escaping @Sendable (Progress) throws(Problem) -> Rotation,
    addKeySlot: @escaping @Sendable (String, Secret?) throws(Problem) -> [String],
    removeKeySlot: @escaping @Sendable (String) throws(Problem) -> [String],
    unlock: @escaping @Sendable (Secret?, UInt32, UnixTime) throws(Problem) -> Void,
    lock: @escaping @Sendable () throws(Problem) -> Bool,
    openKey: @escaping @Sendable (Secret?) throws(Problem) -> Void = { _ in },
    passphrase: @escaping @Sendable (Bool) throws(Problem) -> Secret? = { _ in nil },
    auditKey: @escaping @Sendable (AccountStore.Patience) throws(Problem) -> Secret? = { _ in nil }
  ) {
    self.status = status
    self.check = check
    self.backup = backup
    self.move = move
    self.rotateKey = rotateKey
    self.addKeySlot = addKeySlot
    self.removeKeySlot = removeKeySlot
    self.unlock = unlock
    self.lock = lock
    self.openKey = openKey
    self.passphrase = passphrase
    self.auditKey = auditKey
  }

  /// Throws this problem at every use.
  public init(failing problem: Problem) {
    self.init(
      status: { _ throws(Problem) in throw problem }, check: { _ throws(Problem) in throw problem },
      backup: { _, _ throws(Problem) in throw problem },
      move: { _, _ throws(Problem) in throw problem },
      rotateKey: { _ throws(Problem) in throw problem },
      addKeySlot: { _, _ throws(Problem) in throw problem },
      removeKeySlot: { _ throws(Problem) in throw problem },
      unlock: { _, _, _ throws(Problem) in throw problem },
      lock: { () throws(Problem) in throw problem })
  }
}

extension StoreMaintenance {
  /// The state of a store.
  public struct Status: Sendable, Equatable {
    /// The path of the database; `nil` for a store in memory.
    public var path: String?
    /// Whether the database exists. The first change creates it.
    public var exists = false
    /// `keyfile`, `command`, `secretservice`, `passphrase`, `fd` or `memory`: the weakest protection among the
    /// recorded slots.
    public var protection: String
    /// The kinds of all recorded key slots.
    public var slots: [String] = []
    /// The time until which the kernel keeps the secret of the passphrase slot; `nil` if it has none.
    public var unlockedUntil: UnixTime?
    public var schema: Int64 = 0
    public var revision: Int64 = 0
    public var accounts: Int64 = 0
    public var databaseBytes: Int64 = 0
    /// The size of the journal that is not yet written to the database.
    public var journalBytes: Int64 = 0
    public var isReadOnly = false
    /// The id of another process that holds the write lock.
    public var holder: Int?
    /// The number of values sealed with the key. At 2^31 it must be rotated.
    public var keyUses: Int64 = 0
    /// Whether keys in memory are locked, so that they are never written to a swap file.
    public var isMemoryLocked = Secret.isLocked
    /// The version of SQLite; `nil` for a store in memory.
    public var sqlite: String?
    /// The server of a store in PostgreSQL.
    public var database: Database?

    public init(path: String? = nil, protection: String) {
      self.path = path
      self.protection = protection
    }
  }

  /// The facts about a database server that decide what it promises.
  public struct Database: Sendable, Equatable {
    /// Whether a standby has each change before it counts as stored.
    public enum Standby: String, Sendable, CaseIterable {
      /// There is no standby.
      case none
      /// A promotion may lose the last changes.
      case asynchronous
      case synchronous
    }

    public var version: String
    /// Whether a change that counts as stored survives a crash of the server.
    public var isDurable: Bool
    public var standby: Standby
    public var usesTLS: Bool
    /// Whether a pooler stands between einlass and the server.
    public var isPooled: Bool
    /// The server's wall clock, in seconds since 1970.
    public var time: UnixTime

    public init(
      version: String, isDurable: Bool, standby: Standby, usesTLS: Bool, isPooled: Bool,
      time: UnixTime
    ) {
      self.version = version
      self.isDurable = isDurable
      self.standby = standby
      self.usesTLS = usesTLS
      self.isPooled = isPooled
      self.time = time
    }
  }

  /// The result of a check.
  public struct Check: Sendable, Equatable {
    /// The numbers of checked accounts and sealed values.
    public var accounts = 0
    public var sealedValues = 0
    /// At most the first 50 findings; `countFindings` counts all.
    public private(set) var findings: [Finding] = []
    public private(set) var countFindings = 0

    public init() {}

    public var isSound: Bool { countFindings == 0 }

    /// Records a finding.
    public mutating func add(_ finding: Finding) {
      countFindings += 1
      if findings.count < 50 { findings.append(finding) }
    }
  }

  /// A defect of the store, described without secrets.
  public struct Finding: Sendable, Equatable {
    /// The kind of defect.
    public enum Kind: String, Sendable, CaseIterable {
      /// The database contradicts itself.
      case damage
      /// A row without an account.
      case orphan
      /// A sealed value that cannot be decrypted.
      case undecryptable
      /// The origins or the flow of a credential were edited without the key.
      case bindingMismatch
      /// The key is not available, so no sealed value was checked.
      case keyUnavailable
    }

    public var kind: Kind
    public var account: Account.ID?
    /// English text for people.
    public var message: String
    public var advice: Problem.Advice?
    /// A command of a shell for the advice.
    public var command: String?

    public init(
      _ kind: Kind, _ message: String, advice: Problem.Advice? = nil, account: Account.ID? = nil
    ) {
      (self.kind, self.message, self.advice, self.account) = (kind, message, advice, account)
    }

    /// Makes the finding of a value that does not open.
    public init(_ kind: Kind, _ problem: Problem, account: Account.ID? = nil) {
      self.init(kind, problem.message, advice: problem.advice, account: account)
      command = problem.command
    }
  }

  /// The result of a backup.
  public struct Backup: Sendable, Equatable {
    public var path: String
    public var countBytes: Int64

    public init(path: String, countBytes: Int64) {
      self.path = path
      self.countBytes = countBytes
    }
  }

  /// The result of a move.
  public struct Moved: Sendable, Equatable {
    /// The path or address of the store now.
    public var path: String
    /// The name of the old store: a path, or a schema of its database.
    public var former: String
    /// The number of rows that were moved and compared.
    public var countRows: Int

    public init(path: String, former: String, countRows: Int) {
      self.path = path
      self.former = former
      self.countRows = countRows
    }
  }

  /// The result of a key rotation.
  public struct Rotation: Sendable, Equatable {
    public var sealedValues: Int
    /// The kinds of slot that open the new key.
    public var slots: [String]
    /// The kinds of slot that were dropped, because they could not be opened.
    public var droppedSlots: [String]

    public init(sealedValues: Int, slots: [String], droppedSlots: [String]) {
      self.sealedValues = sealedValues
      self.slots = slots
      self.droppedSlots = droppedSlots
    }
  }
}
