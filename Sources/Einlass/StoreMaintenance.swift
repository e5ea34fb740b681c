internal import EinlassCrypto

/// What keeps a store sound, apart from its use: closures of `AccountStore` that `EinlassStorage` fills.
///
/// All but `status` may take as long as the store is big. They tell their progress, and end without having
/// changed anything when that throws.
public struct StoreMaintenance: Sendable {
  /// Is told what is done of how much, while the store is locked: it must not wait.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) throws(Problem) -> Void

  /// What costs nothing to know; the key is not opened.
  public var status: @Sendable (AccountStore.Patience) throws(Problem) -> Status
  /// Reads everything. What is unsound is a result; a store that cannot be opened is a problem.
  public var check: @Sendable (Progress) throws(Problem) -> Check
  /// Copies the store to an absolute path that is free. The key file is not in the copy.
  public var backup: @Sendable (_ path: String, Progress) throws(Problem) -> Backup
  /// Seals everything anew under another key, all of it or nothing.
  public var rotateKey: @Sendable (Progress) throws(Problem) -> Rotation
  /// Another way to open the key, in the place of one of the same kind; the kinds there are then. A passphrase that is
  /// not given here is the one that was brought.
  public var addKeySlot:
    @Sendable (_ kind: String, _ passphrase: Secret?) throws(Problem) -> [String]
  /// One way less to open the key, never the last; the kinds there are then.
  public var removeKeySlot: @Sendable (_ kind: String) throws(Problem) -> [String]
  /// Opens the key, if there is a store, with what was brought or with this passphrase, which later uses then go on
  /// with. Throws `keyUnavailable`, with the prompt that mends it where the person can.
  public var openKey: @Sendable (_ typed: Secret?) throws(Problem) -> Void
  /// What came by `--passphrase-fd` or, for a file of accounts, by `--file-passphrase-fd`; `nil` when nothing was to.
  public var passphrase: @Sendable (_ isOfFile: Bool) throws(Problem) -> Secret?
  /// What tokens are named by in the audit trail, the same for all processes; another key of the store brings another.
  public var auditKey: @Sendable (AccountStore.Patience) throws(Problem) -> Secret?

  public init(
    status: @escaping @Sendable (AccountStore.Patience) throws(Problem) -> Status,
    check: @escaping @Sendable (Progress) throws(Problem) -> Check,
    backup: @escaping @Sendable (String, Progress) throws(Problem) -> Backup,
    rotateKey: @escaping @Sendable (Progress) throws(Problem) -> Rotation,
    addKeySlot: @escaping @Sendable (String, Secret?) throws(Problem) -> [String],
    removeKeySlot: @escaping @Sendable (String) throws(Problem) -> [String],
    openKey: @escaping @Sendable (Secret?) throws(Problem) -> Void = { _ in },
    passphrase: @escaping @Sendable (Bool) throws(Problem) -> Secret? = { _ in nil },
    auditKey: @escaping @Sendable (AccountStore.Patience) throws(Problem) -> Secret? = { _ in nil }
  ) {
    self.status = status
    self.check = check
    self.backup = backup
    self.rotateKey = rotateKey
    self.addKeySlot = addKeySlot
    self.removeKeySlot = removeKeySlot
    self.openKey = openKey
    self.passphrase = passphrase
    self.auditKey = auditKey
  }

  /// For a store that says this at every use.
  public init(failing problem: Problem) {
    self.init(
      status: { _ throws(Problem) in throw problem }, check: { _ throws(Problem) in throw problem },
      backup: { _, _ throws(Problem) in throw problem },
      rotateKey: { _ throws(Problem) in throw problem },
      addKeySlot: { _, _ throws(Problem) in throw problem },
      removeKeySlot: { _ throws(Problem) in throw problem })
  }
}

extension StoreMaintenance {
  /// Where a store is, how its key is protected, and how much there is.
  public struct Status: Sendable, Equatable {
    /// Of the database; `nil` for one in memory.
    public var path: String?
    /// Whether there is one yet: the first change makes it.
    public var exists = false
    /// `keyfile`, `secretservice`, `passphrase`, `fd` or `memory`: of the recorded slots the one that says least.
    public var protection: String
    /// Every recorded way to open the key.
    public var slots: [String] = []
    public var schema: Int64 = 0
    public var revision: Int64 = 0
    public var accounts: Int64 = 0
    public var databaseBytes: Int64 = 0
    /// What is still to be moved from the journal into the database.
    public var journalBytes: Int64 = 0
    public var isReadOnly = false
    /// The id of another process that keeps changes waiting now.
    public var holder: Int?
    /// How often the key has sealed something; at 2^31 it has to be rotated.
    public var keyUses: Int64 = 0
    /// Whether keys in memory are kept from being written to a swap file.
    public var isMemoryLocked = Secret.isLocked
    /// Version of the database library; `nil` for a store in memory.
    public var sqlite: String?

    public init(path: String? = nil, protection: String) {
      self.path = path
      self.protection = protection
    }
  }

  /// What a check of everything found.
  public struct Check: Sendable, Equatable {
    /// How many accounts and sealed values were looked at.
    public var accounts = 0
    public var sealedValues = 0
    /// The first ones; `countFindings` has them all.
    public private(set) var findings: [Finding] = []
    public private(set) var countFindings = 0

    public init() {}

    public var isSound: Bool { countFindings == 0 }

    /// Notes one more.
    public mutating func add(_ finding: Finding) {
      countFindings += 1
      if findings.count < 50 { findings.append(finding) }
    }
  }

  /// Something unsound, told without secrets.
  public struct Finding: Sendable, Equatable {
    /// What kind of thing it is.
    public enum Kind: String, Sendable, CaseIterable {
      /// The database contradicts itself.
      case damage
      /// A row that belongs to no account.
      case orphan
      /// A sealed value that does not open.
      case undecryptable
      /// Where a credential may be sent was edited.
      case bindingMismatch
      /// The key is not to be had, so no sealed value could be tried.
      case keyUnavailable
    }

    public var kind: Kind
    public var account: Account.ID?
    /// For people.
    public var message: String

    public init(_ kind: Kind, _ message: String, account: Account.ID? = nil) {
      self.kind = kind
      self.message = message
      self.account = account
    }
  }

  /// A finished copy.
  public struct Backup: Sendable, Equatable {
    public var path: String
    public var countBytes: Int64

    public init(path: String, countBytes: Int64) {
      self.path = path
      self.countBytes = countBytes
    }
  }

  /// What a new key did.
  public struct Rotation: Sendable, Equatable {
    public var sealedValues: Int
    /// The kinds of slot that open the new key.
    public var slots: [String]
    /// The kinds of slot that could not be opened and are gone.
    public var droppedSlots: [String]

    public init(sealedValues: Int, slots: [String], droppedSlots: [String]) {
      self.sealedValues = sealedValues
      self.slots = slots
      self.droppedSlots = droppedSlots
    }
  }
}
