internal import EinlassJSON

/// A consistent state of the store that returns single rows. Never opens the key.
///
/// The cost of a query depends on the size of its result, not on that of the store. Names compare
/// as bytes.
public protocol StoreReader {
  /// All unencrypted rows, if the store is in memory.
  var whole: AccountStore.Snapshot? { get }
  /// Increases with every change by any process.
  var revision: Int64 { get throws(Problem) }
  /// Returns the account of this id, of any provider.
  func account(_ id: Account.ID) throws(Problem) -> Account?
  /// Returns the accounts after a position in order of adding, of one provider or of all.
  func accounts(
    of provider: String?, after position: Int64, limit: Int
  ) throws(Problem) -> [Account]
  /// Returns a provider's accounts, last used first. Accounts that were never used follow in order
  /// of adding.
  func lastUsedAccounts(of provider: String, limit: Int) throws(Problem) -> [Account]
  /// Returns a provider's accounts with this subject, in order of adding.
  func accounts(of provider: String, subject: String, limit: Int) throws(Problem) -> [Account]
  /// Returns a provider's accounts with this user name, in order of adding.
  func accounts(of provider: String, username: String, limit: Int) throws(Problem) -> [Account]
  /// Returns the accounts with a credential for a protected resource that begins with this text, in
  /// order of adding.
  func accounts(withResourceBelow prefix: String) throws(Problem) -> [Account]
  /// Returns the account of a provider that an application prefers.
  func preferredAccount(of provider: String, by application: String) throws(Problem) -> Account?
  func grant(_ place: AccessGrant.Place) throws(Problem) -> AccessGrant?
  /// Returns the grants after a place, or from the first one, sorted by place.
  func grants(after place: AccessGrant.Place?, limit: Int) throws(Problem) -> [AccessGrant]
  /// Returns the unsealed columns of the stored registrations for a provider.
  func registrations(at provider: String) throws(Problem) -> [StoredRegistration.Known]
  /// All stored registrations: at most one for each provider and each flow of it.
  var registrations: [StoredRegistration.Known] { get throws(Problem) }
}

extension StoreReader {
  /// Returns the provider's first account in order of adding.
  func firstAccount(of provider: String) throws(Problem) -> Account? {
    try accounts(of: provider, after: .min, limit: 1).first
  }
}

extension AccountStore {
  /// Returns the result of `body` on a consistent state of the store. `body` must use only its
  /// reader, because the store is locked during the call.
  @inlinable @inline(__always) public func read<Result>(
    _ patience: Patience = .usual, _ body: (any StoreReader) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    var result: Result?
    try reading(patience) { reader throws(Problem) in result = try body(reader) }
    guard let result else { throw Problem(.internal, "The store returned no result.") }
    return result
  }

  /// Returns the account of this id. Throws `unknownAccount`.
  public func account(
    _ id: Account.ID, _ patience: Patience = .usual
  ) throws(Problem) -> Account {
    let account = try read(patience) { reader throws(Problem) in try reader.account(id) }
    guard let account else { throw .unknownAccount(id) }
    return account
  }

  /// Calls `body` with every account, in order of adding. Reads in pages, so the store may change
  /// meanwhile.
  func forEachAccount(_ body: (Account) throws(Problem) -> Void) throws(Problem) {
    try eachAccount(
      of: { last throws(Problem) in
        try read { reader throws(Problem) in
          try reader.accounts(of: nil, after: last, limit: 100)
        }
      }, body)
  }

  /// Returns the account of this id if it belongs to the provider. Throws `unknownAccount`.
  func account(_ id: Account.ID, of provider: Provider) throws(Problem) -> Account {
    let account = try read { reader throws(Problem) in try reader.account(id) }
    guard let account, sameBytes(account.provider, provider.id) else {
      throw .unknownAccount(id, provider.id)
    }
    return account
  }

  /// Returns the unsealed columns of the stored registrations for a provider.
  func knownRegistrations(
    at provider: Provider, _ patience: Patience = .usual
  ) throws(Problem) -> [StoredRegistration.Known] {
    try read(patience) { reader throws(Problem) in try reader.registrations(at: provider.id) }
  }
}

/// Calls `body` with every account. `page` returns the accounts after a position.
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
  public var whole: AccountStore.Snapshot? { self }

  /// Returns the account of this id, of any provider.
  public func account(_ id: Account.ID) -> Account? { accounts.first { $0.id == id } }

  /// Returns the accounts after a position in order of adding, of one provider or of all.
  public func accounts(of provider: String?, after position: Int64, limit: Int) -> [Account] {
    let found = accounts.lazy.filter { account in
      account.position > position && (provider.map { sameBytes($0, account.provider) } ?? true)
    }
    return Array(found.prefix(limit))
  }

  /// Returns a provider's accounts, last used first.
  public func lastUsedAccounts(of provider: String, limit: Int) -> [Account] {
    let sorted = accounts.filter { sameBytes($0.provider, provider) }.enumerated().sorted {
      let times = ($0.element.lastUsedAt ?? .min, $1.element.lastUsedAt ?? .min)
      return times.0 == times.1 ? $0.offset < $1.offset : times.0 > times.1
    }
    return sorted.prefix(limit).map(\.element)
  }

  /// Returns a provider's accounts with this subject, in order of adding.
  public func accounts(of provider: String, subject: String, limit: Int) -> [Account] {
    let found = accounts.lazy.filter { account in
      sameBytes(account.provider, provider)
        && account.subject.map { sameBytes($0, subject) } ?? false
    }
    return Array(found.prefix(limit))
  }

  /// Returns a provider's accounts with this user name, in order of adding.
  public func accounts(of provider: String, username: String, limit: Int) -> [Account] {
    let found = accounts.lazy.filter { account in
      sameBytes(account.provider, provider) && sameBytes(account.username, username)
    }
    return Array(found.prefix(limit))
  }

  /// Returns the accounts with a credential for a protected resource that begins with this text, in
  /// order of adding.
  public func accounts(withResourceBelow prefix: String) -> [Account] {
    accounts.filter { account in
      account.resources.contains { $0.utf8.starts(with: prefix.utf8) }
    }
  }

  /// Returns the account of a provider that an application prefers.
  public func preferredAccount(of provider: String, by application: String) -> Account? {
    accounts.first { account in
      sameBytes(account.provider, provider)
        && account.preferredBy.contains { sameBytes($0, application) }
    }
  }

  /// Returns the grant with this key.
  public func grant(_ place: AccessGrant.Place) -> AccessGrant? {
    let index = grants.firstIndex(notBefore: place)
    return index < grants.count && grants[index].place == place ? grants[index] : nil
  }

  /// Returns the grants after a place, or from the first one, sorted by place.
  public func grants(after place: AccessGrant.Place?, limit: Int) -> [AccessGrant] {
    let rest = place.map { place in
      grants[grants.firstIndex(notBefore: place)...].drop { $0.place == place }
    }
    return Array((rest ?? grants[...]).prefix(limit))
  }

  /// Returns the unsealed columns of the stored registrations for a provider.
  public func registrations(at provider: String) -> [StoredRegistration.Known] {
    registrations.filter { sameBytes($0.provider, provider) }
  }
}
