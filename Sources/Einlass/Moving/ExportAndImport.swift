internal import EinlassCrypto
public import EinlassJSON

/// The export of accounts to a file that a passphrase opens, and their import: `accounts.export`,
/// `accounts.import`.
extension Einlass {
  /// Returns the bytes of an accounts file and the number of accounts in it. The file holds all
  /// accounts with their credentials, the stored registrations, and those of the added providers
  /// that either needs.
  ///
  /// Throws `cancelled`, and `accountStoreFailure` if a credential does not open or there are no
  /// accounts.
  public func exportedAccounts(
    sealedWith passphrase: Secret, addedProviders: [JSONValue] = []
  ) throws(Problem) -> (bytes: [UInt8], accounts: Int, users: Int) {
    var accounts: [PortableAccount] = []
    try store.forEachAccount { account throws(Problem) in
      if Task.isCancelled { throw Problem(.cancelled, "The export was cancelled.") }
      do throws(Problem) {
        accounts.append(
          PortableAccount(account: account, credentials: try store.credentials(account.id)))
      } catch {
        // The account was removed meanwhile.
        guard error.reason == .unknownAccount else { throw error }
      }
    }
    let users = try exportedUsers()
    guard !accounts.isEmpty || !users.isEmpty else { throw .nothingToExport }
    var registrations: [StoredRegistration] = []
    let known = try store.read { reader throws(Problem) in try reader.registrations }
    for known in known {
      guard let stored = try store.registrations.get(known.provider, known.flow, .usual) else {
        continue
      }
      registrations.append(stored)
    }
    let needed =
      accounts.map(\.account.provider) + registrations.map(\.provider)
      + users.flatMap { $0.user.identities.map(\.place.provider) }
    let providers = addedProviders.filter { descriptor in
      needed.contains { sameBytes($0, descriptor["id"]?.string ?? "") }
    }
    let bytes = try AccountsFile.seal(
      AccountsFileContents.encode(accounts, registrations, providers, users), with: passphrase,
      randomBytes: effects.randomBytes)
    return (bytes, accounts.count, users.count)
  }

  /// Adds the accounts of a file, and its registrations at providers of the catalogue, in one
  /// transaction. An existing account or registration is changed only if `replaces` is set. Each
  /// credential and registration keeps the origins that it may be sent to.
  ///
  /// Throws `accountStoreFailure`; then nothing was changed.
  ///
  /// - Parameters:
  ///   - contents: the opened file.
  ///   - replaces: whether the file's accounts and registrations replace existing ones.
  ///   - unknown: the reasons why providers of the file are not in the catalogue, by id.
  public func importAccounts(
    _ contents: AccountsFileContents, replaces: Bool, unknown: [String: Problem] = [:]
  ) throws(Problem) -> AccountsImport {
    var moved = AccountsImport(
      entries: contents.entries.map { .init(provider: $0.provider, username: $0.username) },
      usersOfFile: contents.users.count, refusedUsers: contents.refusedUsers)
    var new: [AccountStore.NewAccount] = []
    var places: [Int] = []
    for (index, entry) in contents.entries.enumerated() {
      do throws(Problem) {
        new.append(try newAccount(entry, replaces: replaces))
        places.append(index)
      } catch {
        moved.entries[index].outcome = .refused(unknown[entry.provider] ?? error)
      }
    }
    // Skip a registration that is bound to other origins than the catalogue's provider of the same
    // id.
    let registrations = contents.registrations.filter { stored in
      (try? catalog.provider(stored.provider))?.takes(stored.known) == true
    }
    guard !new.isEmpty || !registrations.isEmpty else {
      moved.users = try importUsers(contents.users)
      return moved
    }
    let added = try store.addAll(
      AccountStore.Batch(
        accounts: new, registrations: registrations, replacesRegistrations: replaces), .usual)
    moved.registrations = added.registrations.withoutRepetitions
    for (place, result) in zip(places, added.accounts) {
      switch result {
      case .success(let added):
        moved.entries[place].outcome =
          added.created ? .added(added.account.id) : .replaced(added.account.id)
      case .failure(let problem): moved.entries[place].outcome = .alreadyThere(problem.account)
      }
    }
    moved.users = try importUsers(contents.users)
    return moved
  }

  private func newAccount(
    _ entry: AccountsFileContents.Entry, replaces: Bool
  ) throws(Problem) -> AccountStore.NewAccount {
    guard var portable = entry.account else { throw .notTaken }
    let provider = try catalog.provider(portable.account.provider)
    portable.account.id = Account.ID(
      rawValue: "a_" + Base64URL.encode(effects.randomBytes(16)))
    return AccountStore.NewAccount(
      account: portable.account, credentials: portable.credentials, replacesExisting: replaces,
      isOnlyOne: provider.hasOneAccount)
  }
}

/// The outcome of an import.
public struct AccountsImport: Sendable {
  /// The outcome for one account.
  public enum Outcome: Sendable, Equatable {
    case added(Account.ID)
    case replaced(Account.ID)
    /// The account existed and was not changed.
    case alreadyThere(Account.ID?)
    case refused(Problem)
  }

  /// One account of the file.
  public struct Entry: Sendable, Equatable {
    public var provider: String
    public var username: String
    public var outcome = Outcome.alreadyThere(nil)
  }

  /// The accounts, in the file's order.
  public internal(set) var entries: [Entry]
  /// The ids of the providers with a registration that was stored.
  public internal(set) var registrations: [String] = []
  /// The number of users in the file that this version can read.
  public internal(set) var usersOfFile: Int
  /// The number of the others.
  public internal(set) var refusedUsers: Int
  /// The number of added users.
  public internal(set) var users = 0
}

extension Problem {
  fileprivate static let nothingToExport = Problem.store(
    .refused,
    "The store has no accounts and no users, so nothing was written.", advice: .checkStorePath
  )

  fileprivate static let notTaken = Problem(
    .invalidParameter,
    "The file's entry for this account has an unknown or invalid member.", advice: .updateEinlass,
    path: "/path")
}
