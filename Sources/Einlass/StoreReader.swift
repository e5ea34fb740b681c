internal import EinlassJSON

/// One state of the store, asked for the rows that a request needs. Opens no key.
///
/// The cost of an answer depends on its own size, not on that of the store. Names compare as bytes.
public protocol StoreReader {
  /// All that the store holds in the clear, where that is in memory.
  var whole: AccountStore.Snapshot? { get }
  /// Grows with every change by any process.
  var revision: Int64 { get throws(Problem) }
  /// The account of this id, whichever provider's it is.
  func account(_ id: Account.ID) throws(Problem) -> Account?
  /// The accounts behind a position, in order of adding: those of one provider, or all.
  func accounts(
    of provider: String?, after position: Int64, limit: Int
  ) throws(Problem) -> [Account]
  /// A provider's accounts, those last used first; those never used follow in order of adding.
  func lastUsedAccounts(of provider: String, limit: Int) throws(Problem) -> [Account]
  /// A provider's accounts of one subject, in order of adding.
  func accounts(of provider: String, subject: String, limit: Int) throws(Problem) -> [Account]
  /// The account that an application prefers of a provider.
  func preferredAccount(of provider: String, by application: String) throws(Problem) -> Account?
  func grant(_ place: AccessGrant.Place) throws(Problem) -> AccessGrant?
  /// The grants behind a place, or from the first on, in the order of their places.
  func grants(after place: AccessGrant.Place?, limit: Int) throws(Problem) -> [AccessGrant]
  /// The unsealed columns of the registration that the store keeps for a provider.
  func registration(at provider: String) throws(Problem) -> StoredRegistration.Known?
  /// All of these: at most one for each provider.
  var registrations: [StoredRegistration.Known] { get throws(Problem) }
}

extension StoreReader {
  /// The first account behind a position.
  func firstAccount(of provider: String) throws(Problem) -> Account? {
    try accounts(of: provider, after: .min, limit: 1).first
  }
}

extension AccountStore {
  /// The result of `body` on one state of the store. `body` may ask its reader alone, because the store is in use.
  @inlinable @inline(__always) public func read<Result>(
    _ patience: Patience = .usual, _ body: (any StoreReader) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    var result: Result?
    try reading(patience) { reader throws(Problem) in result = try body(reader) }
    guard let result else { throw Problem(.internal, "The store was not read.") }
    return result
  }

  /// The account of this id. Throws `unknownAccount`.
  public func account(
    _ id: Account.ID, _ patience: Patience = .usual
  ) throws(Problem) -> Account {
    let account = try read(patience) { reader throws(Problem) in try reader.account(id) }
    guard let account else { throw .unknownAccount(id) }
    return account
  }

  /// Calls `body` with every account, in order of adding, while others may change the store.
  func forEachAccount(_ body: (Account) throws(Problem) -> Void) throws(Problem) {
    try eachAccount(
      of: { last throws(Problem) in
        try read { reader throws(Problem) in
          try reader.accounts(of: nil, after: last, limit: 100)
        }
      }, body)
  }

  /// The account of this id, of this provider. Throws `unknownAccount`.
  func account(_ id: Account.ID, of provider: Provider) throws(Problem) -> Account {
    let account = try read { reader throws(Problem) in try reader.account(id) }
    guard let account, sameBytes(account.provider, provider.id) else {
      throw .unknownAccount(id, provider.id)
    }
    return account
  }

  /// The unsealed columns of the registration that is kept for a provider.
  func knownRegistration(
    at provider: Provider, _ patience: Patience = .usual
  ) throws(Problem) -> StoredRegistration.Known? {
    try read(patience) { reader throws(Problem) in try reader.registration(at: provider.id) }
  }
}

/// Calls `body` with every account of these pages; each is asked for by the position that it is behind.
public func eachAccount(
  of page: (Int64) throws(Problem) -> [Account], _ body: (Account) throws(Problem) -> Void
) throws(Problem) {
  var last = Int64.min
  while true {
    let accounts = try page(last)
    for account in accounts { try body(account) }
    guard let account = accounts.last else { return }
    last = account.position
  }
}

extension AccountStore.Snapshot: StoreReader {
  /// Itself.
  public var whole: AccountStore.Snapshot? { self }

  /// The account of this id.
  public func account(_ id: Account.ID) -> Account? { accounts.first { $0.id == id } }

  /// The accounts behind a position, in order of adding.
  public func accounts(of provider: String?, after position: Int64, limit: Int) -> [Account] {
    let found = accounts.lazy.filter { account in
      account.position > position && (provider.map { sameBytes($0, account.provider) } ?? true)
    }
    return Array(found.prefix(limit))
  }

  /// A provider's accounts, those last used first.
  public func lastUsedAccounts(of provider: String, limit: Int) -> [Account] {
    let sorted = accounts.filter { sameBytes($0.provider, provider) }.enumerated().sorted {
      let times = ($0.element.lastUsedAt ?? .min, $1.element.lastUsedAt ?? .min)
      return times.0 == times.1 ? $0.offset < $1.offset : times.0 > times.1
    }
    return sorted.prefix(limit).map(\.element)
  }

  /// A provider's accounts of one subject, in order of adding.
  public func accounts(of provider: String, subject: String, limit: Int) -> [Account] {
    let found = accounts.lazy.filter { account in
      sameBytes(account.provider, provider)
        && account.subject.map { sameBytes($0, subject) } ?? false
    }
    return Array(found.prefix(limit))
  }

  /// The account that an application prefers of a provider.
  public func preferredAccount(of provider: String, by application: String) -> Account? {
    accounts.first { account in
      sameBytes(account.provider, provider)
        && account.preferredBy.contains { sameBytes($0, application) }
    }
  }

  /// The grant in this place.
  public func grant(_ place: AccessGrant.Place) -> AccessGrant? {
    let index = grants.firstIndex(notBefore: place)
    return index < grants.count && grants[index].place == place ? grants[index] : nil
  }

  /// The grants behind a place, in the order of their places.
  public func grants(after place: AccessGrant.Place?, limit: Int) -> [AccessGrant] {
    let rest = place.map { place in
      grants[grants.firstIndex(notBefore: place)...].drop { $0.place == place }
    }
    return Array((rest ?? grants[...]).prefix(limit))
  }

  /// The unsealed columns of the registration for a provider.
  public func registration(at provider: String) -> StoredRegistration.Known? {
    registrations.first { sameBytes($0.provider, provider) }
  }
}
