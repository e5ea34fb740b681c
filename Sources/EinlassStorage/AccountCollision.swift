internal import Einlass

extension AccountStore.NewAccount {
  /// The account that this one would take the place of: for a provider with room for one, whichever there is;
  /// else that of the same subject; else, where one side knows no subject, that of the same username.
  ///
  /// Compares bytes. `accounts` are those of the provider.
  func existing(among accounts: [Account]) -> Account? {
    let others = accounts.filter { isSame($0.provider, account.provider) }
    if isOnlyOne { return others.first }
    if let subject = account.subject,
      let same = others.first(where: { $0.subject.map { isSame($0, subject) } ?? false })
    {
      return same
    }
    return others.first(where: isSamePerson)
  }

  /// Whether it may take that one's place: when it was told to, or when it signs the same person in again.
  func mayReplace(_ existing: Account) -> Bool {
    replacesExisting
      || signsInAgain && !existing.isSignedIn && !credentials.isEmpty && isSamePerson(existing)
  }

  /// Whether it is about the same person: of the same subject or, where one side knows none, of the same username.
  func isSamePerson(_ other: Account) -> Bool {
    if let mine = account.subject, let theirs = other.subject { return isSame(mine, theirs) }
    return isSame(account.username, other.username)
  }

  /// Whether a credential of `existing` stays: nothing of another person's, and one that reverse auth pays with is the
  /// account's only one.
  func keeps(_ stored: StoredCredential, of existing: Account) -> Bool {
    isSamePerson(existing) && !(stored.isSystemsAlone && bringsSystemsAlone)
  }

  /// Whether a credential that reverse auth pays with comes with it.
  var bringsSystemsAlone: Bool { credentials.contains(where: \.isSystemsAlone) }

  /// What `existing` becomes: everything of the new one except who it is and since when. Who signs in again keeps what
  /// the new one does not bring.
  func replacing(_ existing: Account) -> Account {
    var account = account
    account.id = existing.id
    account.position = existing.position
    account.addedAt = existing.addedAt
    account.lastUsedAt = existing.lastUsedAt
    account.preferredBy = existing.preferredBy
    if isSamePerson(existing) { account.subject = account.subject ?? existing.subject }
    if !replacesExisting {
      account.displayName = account.displayName ?? existing.displayName
      account.email = account.email ?? existing.email
      account.avatar = account.avatar ?? existing.avatar
    }
    return account
  }

  /// Says which account is in the way.
  func collision(with existing: Account) -> Problem {
    Problem(
      .accountExists,
      isOnlyOne && !isSamePerson(existing)
        ? "The provider has room for one account, and another one is stored. Pass replace: true to overwrite it."
        : "This account is stored already. Pass replace: true to overwrite it.",
      provider: existing.provider, account: existing.id)
  }
}

extension [AccountStore.NewAccount] {
  /// What became of each: added, or in the way of another.
  func added(
    by add: (AccountStore.NewAccount) throws(Problem) -> AccountStore.Added
  ) throws(Problem) -> [Result<AccountStore.Added, Problem>] {
    var results: [Result<AccountStore.Added, Problem>] = []
    for new in self {
      do throws(Problem) { results.append(.success(try add(new))) } catch {
        guard error.reason == .accountExists else { throw error }
        results.append(.failure(error))
      }
    }
    return results
  }
}

extension AccountStore.Batch {
  /// Those that are stored where there are these already.
  func registrations(besides known: [StoredRegistration.Known]) -> [StoredRegistration] {
    registrations.filter { new in
      guard let former = known.first(where: { isSame($0.provider, new.provider) }) else {
        return true
      }
      return replacesRegistrations && new.mayReplace(isIssued: former.isIssued)
    }
  }
}

extension Account {
  /// After an edit, of which only the members that may change count.
  func edited(by edit: AccountStore.Edit) -> Account {
    var after = self
    edit(&after)
    after.id = id
    after.provider = provider
    after.isSignedIn = isSignedIn
    after.addedAt = addedAt
    after.position = position
    after.preferredBy = preferredBy
    after.resources = resources
    return after
  }
}

extension AccountStore.Settlement {
  /// Whether everything is still as it was when the request was made.
  ///
  /// - Parameter generations: of the credentials that the account has now.
  func isCurrent(_ generations: [AccountStore.Place: Int64]) -> Bool {
    let replacesKnown =
      credential.map { credential in
        generations[credential.place] == nil
          || basis.contains { $0.place == credential.place }
      } ?? true
    return replacesKnown && basis.allSatisfy { generations[$0.place] == $0.generation }
  }
}

/// Whether two identifiers are the same bytes: `==` would take U+212A for `K`.
func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

extension Problem {
  static func unknownAccount(_ id: Account.ID) -> Problem {
    Problem(.unknownAccount, "There is no such account.", account: id)
  }
}
