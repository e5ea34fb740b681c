internal import EinlassJSON

/// The account store: closures that `EinlassStorage` fills, from a database or from memory.
///
/// Every closure is synchronous, and its changes are durable when it returns. With `Patience.none`
/// a closure that would have to wait for another process throws `accountStoreFailure` with detail
/// `locked` and changes nothing.
public final class AccountStore: Sendable {
  /// How long a closure may wait for the store's lock.
  public enum Patience: Sendable, Equatable {
    /// Does not wait. For methods that answer immediately.
    case none
    /// Waits until this time of the system's monotonic clock, which all waits of one request share.
    case until(monotonicMilliseconds: Int64)
    /// Waits at most 10 s.
    case usual
  }

  /// The key of a credential among those of its account. Compares as bytes.
  public struct Place: Hashable, Sendable {
    public var clientID: String
    /// Empty for a credential without a resource.
    public var resource: String

    public init(_ clientID: String, resource: String) {
      self.clientID = clientID
      self.resource = resource
    }

    /// Compares bytes, because `String` equates canonically equivalent names.
    public static func == (left: Place, right: Place) -> Bool {
      sameBytes(left.clientID, right.clientID) && sameBytes(left.resource, right.resource)
    }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(Array(clientID.utf8))
      hasher.combine(Array(resource.utf8))
    }
  }

  /// All unencrypted rows of a store. Used for small stores and stores in memory.
  public struct Snapshot: Sendable, Equatable {
    /// Increases with every change by any process.
    public var revision: Int64
    /// In order of adding.
    public var accounts: [Account]
    /// Always sorted by place.
    public var grants: [AccessGrant] { didSet { grants.sort { $0.place < $1.place } } }
    /// The registrations for every application, without their sealed columns.
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

  /// An account to add, from `accounts.add`, `accounts.import` or a sign-in.
  public struct NewAccount: Sendable {
    public var account: Account
    /// At most one for each place. Without credentials the account is signed out.
    public var credentials: [StoredCredential]
    /// Whether to overwrite the account of the same provider and subject (else username) instead of
    /// throwing `accountExists`.
    public var replacesExisting: Bool
    /// Whether to give the credentials to the stored account of the same person, if that is signed
    /// out, instead of throwing `accountExists`: such an account holds nothing but settings, so
    /// nothing is lost.
    public var restoresSignedOut: Bool
    /// Whether the provider has room for one account only.
    public var isOnlyOne: Bool

    public init(
      account: Account, credentials: [StoredCredential], replacesExisting: Bool = false,
      restoresSignedOut: Bool = false, isOnlyOne: Bool = false
    ) {
      self.account = account
      self.credentials = credentials
      self.replacesExisting = replacesExisting
      self.restoresSignedOut = restoresSignedOut
      self.isOnlyOne = isOnlyOne
    }
  }

  /// The accounts and registrations of `accounts.import`, stored in one transaction.
  public struct Batch: Sendable {
    public var accounts: [NewAccount]
    public var registrations: [StoredRegistration]
    /// Whether a registration replaces one for the same provider.
    public var replacesRegistrations: Bool

    public init(
      accounts: [NewAccount], registrations: [StoredRegistration], replacesRegistrations: Bool
    ) {
      self.accounts = accounts
      self.registrations = registrations
      self.replacesRegistrations = replacesRegistrations
    }
  }

  /// The outcome of a batch.
  public struct AddedBatch: Sendable {
    /// The outcome for each account: added, or `accountExists` with the account that it collided
    /// with.
    public var accounts: [Result<Added, Problem>]
    /// The providers whose registration was stored.
    public var registrations: [String]

    public init(accounts: [Result<Added, Problem>], registrations: [String]) {
      self.accounts = accounts
      self.registrations = registrations
    }
  }

  /// The outcome of adding an account.
  public struct Added: Sendable, Equatable {
    @Indirect public var account: Account
    /// `false` if the account existed before.
    public var created: Bool
    public var revision: Int64
    /// After a sign-in: the person, as the provider has just reported them.
    @Indirect public var identity: Identity?
    /// After a sign-in: the failure of the identity request, if the id_token names the person.
    @Indirect public var identityProblem: Problem?
    /// After a sign-in: the person for the directory of users; `nil` if the provider names none.
    @Indirect public var person: ProvenIdentity?
    /// After a sign-in: whether it granted the application the account.
    public var isGranted = false

    public init(account: Account, created: Bool, revision: Int64) {
      self.account = account
      self.created = created
      self.revision = revision
    }
  }

  /// The changes after a request to a provider, stored in one transaction. They are stored only if
  /// every credential of the basis is unchanged, so that a slow response never overwrites a newer
  /// one.
  public struct Settlement: Sendable {
    /// The credentials that the request was made with, as they were read. A credential that is to
    /// be replaced must be among them; without one in the basis, the new credential's place must be
    /// empty.
    public var basis: [StoredCredential]
    /// The credential to store in its place.
    @Indirect public var credential: StoredCredential?
    /// Whether to mark the credentials of the basis as refused by a resource, and the one that is
    /// stored in their place too.
    public var isRefusal: Bool
    public var edit: Edit?
    /// The refusals of credentials of the basis by services. Refusals that have ended at `time` are
    /// removed.
    public var serviceRefusals: [ServiceRefusal] = []
    public var time: UnixTime = 0

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

  /// A change of an account's current record.
  public typealias Edit = @Sendable (inout Account) -> Void

  /// Calls the closure once with a consistent state of the store, without opening the key. Callers
  /// use `read`.
  public let reading:
    @Sendable (Patience, (any StoreReader) throws(Problem) -> Void) throws(Problem) -> Void
  /// Returns the changes by any process since this mark, as reported to front ends.
  public let changes: @Sendable (ChangeMark?, Patience) throws(Problem) -> Changes
  /// Adds an account. Throws `accountExists` with the account that it collided with.
  public let add: @Sendable (NewAccount, Patience) throws(Problem) -> Added
  /// Adds a batch in one transaction.
  public let addAll: @Sendable (Batch, Patience) throws(Problem) -> AddedBatch
  /// Edits an account. Returns the new revision, or the old one if the edit changed nothing. Throws
  /// `unknownAccount`.
  public let update: @Sendable (Account.ID, Patience, Edit) throws(Problem) -> Int64
  /// Removes an account, its credentials, its preferences, and its place in grants. A grant for this
  /// account alone is removed. Throws `unknownAccount`.
  public let remove: @Sendable (Account.ID, Patience) throws(Problem) -> Int64
  /// Replaces the decision about an application and a provider by the result of the closure, which
  /// gets the present one; `nil` for none. Returns the new revision, or the old one if nothing
  /// changed.
  public let decide:
    @Sendable (AccessGrant.Place, Patience, (AccessGrant?) -> AccessGrant?) throws(Problem) -> Int64
  /// Returns the decrypted credentials of an account: the one in this place, or all. Throws
  /// `unknownAccount`, `bindingMismatch` or `accountStoreFailure` with `keyUnavailable` or
  /// `decryptFailed`.
  public let credentials:
    @Sendable (Account.ID, Place?, Patience) throws(Problem) -> [StoredCredential]
  /// Stores a settlement. Returns the new revision, which is also the generation of the stored
  /// credential. Returns `nil` and changes nothing if the basis has changed meanwhile. Throws
  /// `unknownAccount`.
  public let settle: @Sendable (Account.ID, Settlement) throws(Problem) -> Int64?
  /// Removes all credentials and keeps the account. Throws `unknownAccount`.
  public let forgetCredentials: @Sendable (Account.ID) throws(Problem) -> Int64
  /// Makes an account of the provider the application's preferred one, or removes the preference.
  /// Throws `unknownAccount`.
  public let setPreferred:
    @Sendable (Account.ID?, _ application: String, _ provider: String, Patience) throws(Problem) ->
      Int64
  /// Waits for the account's lease. Throws `cancelled` when the task is cancelled.
  public let lease: @Sendable (Account.ID) async throws(Problem) -> Lease
  /// Throws `accountStoreFailure` with detail `readOnly` if the store cannot be written. Takes no
  /// lock and creates no file.
  public let requireWritable: @Sendable () throws(Problem) -> Void
  /// Whether the store is behind a network, so that `Patience.none` finds only what this process has
  /// read.
  public let isRemote: Bool
  public let registrations: RegistrationStore
  /// Returns the protection of the key: `keyfile`, `command`, `secretservice`, `passphrase`,
  /// `fd` or `memory`.
  /// Never opens the key. Throws the reason if the store cannot be used.
  public let protection: @Sendable (Patience) throws(Problem) -> String
  public let maintenance: StoreMaintenance
  public let begunRenewals: BegunRenewals
  public let failedSignIns: FailedSignIns
  public let avatars: AvatarFiles
  public let ownServers: OwnServerStore
  public let users: UserStore

  public init(
    reading:
      @escaping @Sendable (Patience, (any StoreReader) throws(Problem) -> Void) throws(Problem) ->
      Void,
    changes: @escaping @Sendable (ChangeMark?, Patience) throws(Problem) -> Changes,
    add: @escaping @Sendable (NewAccount, Patience) throws(Problem) -> Added,
    addAll: @escaping @Sendable (Batch, Patience) throws(Problem) -> AddedBatch,
    update: @escaping @Sendable (Account.ID, Patience, Edit) throws(Problem) -> Int64,
    remove: @escaping @Sendable (Account.ID, Patience) throws(Problem) -> Int64,
    decide:
      @escaping @Sendable (AccessGrant.Place, Patience, (AccessGrant?) -> AccessGrant?)
      throws(Problem) -> Int64,
    credentials:
      @escaping @Sendable (Account.ID, Place?, Patience) throws(Problem) -> [StoredCredential],
    settle: @escaping @Sendable (Account.ID, Settlement) throws(Problem) -> Int64?,
    forgetCredentials: @escaping @Sendable (Account.ID) throws(Problem) -> Int64,
    setPreferred:
      @escaping @Sendable (Account.ID?, String, String, Patience) throws(Problem) -> Int64,
    isRemote: Bool = false,
    lease: @escaping @Sendable (Account.ID) async throws(Problem) -> Lease,
    requireWritable: @escaping @Sendable () throws(Problem) -> Void,
    registrations: RegistrationStore,
    protection: @escaping @Sendable (Patience) throws(Problem) -> String,
    maintenance: StoreMaintenance,
    begunRenewals: BegunRenewals,
    failedSignIns: FailedSignIns,
    avatars: AvatarFiles,
    ownServers: OwnServerStore,
    users: UserStore
  ) {
    self.reading = reading
    self.changes = changes
    self.add = add
    self.addAll = addAll
    self.update = update
    self.remove = remove
    self.decide = decide
    self.credentials = credentials
    self.settle = settle
    self.forgetCredentials = forgetCredentials
    self.setPreferred = setPreferred
    self.isRemote = isRemote
    self.lease = lease
    self.requireWritable = requireWritable
    self.registrations = registrations
    self.protection = protection
    self.maintenance = maintenance
    self.begunRenewals = begunRenewals
    self.failedSignIns = failedSignIns
    self.avatars = avatars
    self.ownServers = ownServers
    self.users = users
  }
}

extension AccountStore {
  /// Returns the same store with these in place of its own.
  public func with(
    reading: (
      @Sendable (Patience, (any StoreReader) throws(Problem) -> Void) throws(Problem) -> Void
    )? = nil,
    add: (@Sendable (NewAccount, Patience) throws(Problem) -> Added)? = nil,
    credentials: (@Sendable (Account.ID, Place?, Patience) throws(Problem) -> [StoredCredential])? =
      nil,
    lease: (@Sendable (Account.ID) async throws(Problem) -> Lease)? = nil, isRemote: Bool? = nil,
    maintenance: StoreMaintenance? = nil, begunRenewals: BegunRenewals? = nil
  ) -> AccountStore {
    AccountStore(
      reading: reading ?? self.reading, changes: changes, add: add ?? self.add, addAll: addAll,
      update: update,
      remove: remove, decide: decide, credentials: credentials ?? self.credentials, settle: settle,
      forgetCredentials: forgetCredentials, setPreferred: setPreferred,
      isRemote: isRemote ?? self.isRemote, lease: lease ?? self.lease,
      requireWritable: requireWritable, registrations: registrations, protection: protection,
      maintenance: maintenance ?? self.maintenance,
      begunRenewals: begunRenewals ?? self.begunRenewals,
      failedSignIns: failedSignIns, avatars: avatars, ownServers: ownServers, users: users)
  }

  /// Stores a decision in place of the present one.
  @discardableResult
  public func setGrant(_ grant: AccessGrant, _ patience: Patience) throws(Problem) -> Int64 {
    try decide(grant.place, patience) { _ in grant }
  }

  /// Removes the decision about an application and a provider.
  @discardableResult
  public func resetGrant(
    _ application: String, _ provider: String, _ patience: Patience
  ) throws(Problem) -> Int64 {
    try decide(.init(provider: provider, application: application), patience) { _ in nil }
  }

  /// Returns all credentials of an account, with the usual patience.
  public func credentials(_ account: Account.ID) throws(Problem) -> [StoredCredential] {
    try credentials(account, nil, .usual)
  }
}
