internal import EinlassJSON

/// The store as the domain sees it: closures that `EinlassStorage` fills, from a database or from memory.
///
/// Every closure is synchronous and durable when it returns. With `Patience.none` one that would have to wait
/// for another process throws `accountStoreFailure`, detail `locked`, having done nothing.
public struct AccountStore: Sendable {
  /// How long a closure may wait for the store's lock.
  public enum Patience: Sendable, Equatable {
    /// Not at all: for the path that answers immediate methods.
    case none
    /// Until this moment of the system's monotonic clock, which all waits of one request share.
    case until(monotonicMilliseconds: Int64)
    /// As long as is usual (10 s).
    case usual
  }

  /// Where a credential stands among those of its account. Compares as bytes.
  public struct Place: Hashable, Sendable {
    public var clientID: String
    /// Empty for a credential that is for no resource in particular.
    public var resource: String

    public init(_ clientID: String, resource: String) {
      self.clientID = clientID
      self.resource = resource
    }

    /// Names that only look the same are different ones.
    public static func == (left: Place, right: Place) -> Bool {
      sameBytes(left.clientID, right.clientID) && sameBytes(left.resource, right.resource)
    }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(Array(clientID.utf8))
      hasher.combine(Array(resource.utf8))
    }
  }

  /// All that a store holds in the clear, where that is little or in memory.
  public struct Snapshot: Sendable, Equatable {
    /// Grows with every change by any process.
    public var revision: Int64
    /// In order of adding.
    public var accounts: [Account]
    /// In the order of their places, however they are assigned.
    public var grants: [AccessGrant] { didSet { grants.sort { $0.place < $1.place } } }
    /// Those that the store keeps for every application, without what is sealed.
    public var registrations: [StoredRegistration.Known]

    public init(
      revision: Int64 = 0, accounts: [Account] = [], grants: [AccessGrant] = [],
      registrations: [StoredRegistration.Known] = []
    ) {
      self.revision = revision
      self.accounts = accounts
      self.grants = grants.sorted { $0.place < $1.place }
      self.registrations = registrations
    }
  }

  /// What `accounts.add` and `accounts.import` bring.
  public struct NewAccount: Sendable {
    public var account: Account
    /// Under as many registrations; none: the account is signed out.
    public var credentials: [StoredCredential]
    /// Overwrite the account of the same provider and subject (else username) instead of `accountExists`.
    public var replacesExisting: Bool
    /// Sign in again whom it is about, where that person has signed out, instead of `accountExists`.
    public var signsInAgain: Bool
    /// The provider has room for one account only.
    public var isOnlyOne: Bool

    public init(
      account: Account, credentials: [StoredCredential], replacesExisting: Bool = false,
      signsInAgain: Bool = false, isOnlyOne: Bool = false
    ) {
      self.account = account
      self.credentials = credentials
      self.replacesExisting = replacesExisting
      self.signsInAgain = signsInAgain
      self.isOnlyOne = isOnlyOne
    }
  }

  /// What `accounts.import` brings, stored in one transaction.
  public struct Batch: Sendable {
    public var accounts: [NewAccount]
    public var registrations: [StoredRegistration]
    /// Whether a registration takes the place of one for the same provider.
    public var replacesRegistrations: Bool

    public init(
      accounts: [NewAccount], registrations: [StoredRegistration], replacesRegistrations: Bool
    ) {
      self.accounts = accounts
      self.registrations = registrations
      self.replacesRegistrations = replacesRegistrations
    }
  }

  /// What became of a batch.
  public struct AddedBatch: Sendable {
    /// For each account what was done, or `accountExists` with the account it collided with.
    public var accounts: [Result<Added, Problem>]
    /// The providers whose registration was stored.
    public var registrations: [String]

    public init(accounts: [Result<Added, Problem>], registrations: [String]) {
      self.accounts = accounts
      self.registrations = registrations
    }
  }

  /// What a change did.
  public struct Added: Sendable, Equatable {
    public var account: Account
    /// `false` when it replaced one.
    public var created: Bool
    public var revision: Int64

    public init(account: Account, created: Bool, revision: Int64) {
      self.account = account
      self.created = created
      self.revision = revision
    }
  }

  /// What came of a request to a provider. Written down in one transaction, and only while every credential that it
  /// was obtained with is stored as it was: a slow answer never overwrites a newer one.
  public struct Settlement: Sendable {
    /// As they were read, generation included. One that is to be replaced stands here; a place of which none stands here
    /// must be empty.
    public var basis: [StoredCredential]
    /// Stored in its place, whatever stood there.
    public var credential: StoredCredential?
    /// Marks the credentials of the basis as refused by a resource.
    public var isRefusal: Bool
    public var edit: Edit?

    public init(
      basis: [StoredCredential], credential: StoredCredential? = nil, isRefusal: Bool = false,
      edit: Edit? = nil
    ) {
      self.basis = basis
      self.credential = credential
      self.isRefusal = isRefusal
      self.edit = edit
    }
  }

  /// Members of an account that may change; the closure gets the current record and edits it.
  public typealias Edit = @Sendable (inout Account) -> Void

  /// Calls the closure once with one state of the store, without opening the key. Callers use `read`.
  public var reading:
    @Sendable (Patience, (any StoreReader) throws(Problem) -> Void) throws(Problem) -> Void
  /// The changes by any process since this mark, as front ends are told of them.
  public var changes: @Sendable (ChangeMark?, Patience) throws(Problem) -> Changes
  /// Throws `accountExists` with the account it collided with.
  public var add: @Sendable (NewAccount, Patience) throws(Problem) -> Added
  /// All of it in one transaction.
  public var addAll: @Sendable (Batch, Patience) throws(Problem) -> AddedBatch
  /// Throws `unknownAccount`. Returns the new revision (the old one when the edit changed nothing).
  public var update: @Sendable (Account.ID, Patience, Edit) throws(Problem) -> Int64
  /// Removes account, credentials and nothing else. Throws `unknownAccount`.
  public var remove: @Sendable (Account.ID, Patience) throws(Problem) -> Int64
  public var setGrant: @Sendable (AccessGrant, Patience) throws(Problem) -> Int64
  /// Back to never asked.
  public var resetGrant:
    @Sendable (_ application: String, _ provider: String, Patience) throws(Problem) -> Int64
  /// The credentials of an account, opened: the one in this place, or all. Throws `unknownAccount`, `bindingMismatch`
  /// or `accountStoreFailure` with `keyUnavailable` or `decryptFailed`.
  public var credentials:
    @Sendable (Account.ID, Place?, Patience) throws(Problem) -> [StoredCredential]
  /// Returns the new revision, which is the generation of a stored credential; `nil`, and nothing was written, when
  /// the basis has changed meanwhile. Throws `unknownAccount`.
  public var settle: @Sendable (Account.ID, Settlement) throws(Problem) -> Int64?
  /// Forgets all credentials and keeps the account. Throws `unknownAccount`.
  public var forgetCredentials: @Sendable (Account.ID) throws(Problem) -> Int64
  /// Makes an account the application's preferred one of its provider, or none. Throws `unknownAccount`.
  public var setPreferred:
    @Sendable (Account.ID?, _ application: String, _ provider: String, Patience) throws(Problem) ->
      Int64
  /// Waits until no other request of any process has the account's lease. Throws `cancelled` when the task is.
  public var lease: @Sendable (Account.ID) async throws(Problem) -> Lease
  /// Throws `accountStoreFailure`, detail `readOnly`, where nothing could be stored now; locks nothing and makes nothing.
  public var requireWritable: @Sendable () throws(Problem) -> Void
  public var registrations: RegistrationStore
  /// How the key is protected: `keyfile`, `fd`, `memory`; never opens it. Throws why the store can't be used.
  public var protection: @Sendable (Patience) throws(Problem) -> String
  public var maintenance: StoreMaintenance
  public var begunRenewals = BegunRenewals.none

  public init(
    reading:
      @escaping @Sendable (Patience, (any StoreReader) throws(Problem) -> Void) throws(Problem) ->
      Void,
    changes: @escaping @Sendable (ChangeMark?, Patience) throws(Problem) -> Changes,
    add: @escaping @Sendable (NewAccount, Patience) throws(Problem) -> Added,
    addAll: @escaping @Sendable (Batch, Patience) throws(Problem) -> AddedBatch,
    update: @escaping @Sendable (Account.ID, Patience, Edit) throws(Problem) -> Int64,
    remove: @escaping @Sendable (Account.ID, Patience) throws(Problem) -> Int64,
    setGrant: @escaping @Sendable (AccessGrant, Patience) throws(Problem) -> Int64,
    resetGrant: @escaping @Sendable (String, String, Patience) throws(Problem) -> Int64,
    credentials:
      @escaping @Sendable (Account.ID, Place?, Patience) throws(Problem) -> [StoredCredential],
    settle: @escaping @Sendable (Account.ID, Settlement) throws(Problem) -> Int64?,
    forgetCredentials: @escaping @Sendable (Account.ID) throws(Problem) -> Int64,
    setPreferred:
      @escaping @Sendable (Account.ID?, String, String, Patience) throws(Problem) -> Int64,
    lease: @escaping @Sendable (Account.ID) async throws(Problem) -> Lease,
    requireWritable: @escaping @Sendable () throws(Problem) -> Void,
    registrations: RegistrationStore,
    protection: @escaping @Sendable (Patience) throws(Problem) -> String,
    maintenance: StoreMaintenance
  ) {
    self.reading = reading
    self.changes = changes
    self.add = add
    self.addAll = addAll
    self.update = update
    self.remove = remove
    self.setGrant = setGrant
    self.resetGrant = resetGrant
    self.credentials = credentials
    self.settle = settle
    self.forgetCredentials = forgetCredentials
    self.setPreferred = setPreferred
    self.lease = lease
    self.requireWritable = requireWritable
    self.registrations = registrations
    self.protection = protection
    self.maintenance = maintenance
  }
}

extension AccountStore {
  /// All credentials of an account, with the usual patience.
  public func credentials(_ account: Account.ID) throws(Problem) -> [StoredCredential] {
    try credentials(account, nil, .usual)
  }
}
