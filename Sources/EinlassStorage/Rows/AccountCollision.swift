internal import Einlass

extension AccountStore.NewAccount {
  /// Returns the stored account in conflict with the new one. With `isOnlyOne` it is the provider's
  /// first account. Otherwise it is the account with the same subject or, if either side has no
  /// subject, with the same username.
  ///
  /// Compares bytes. `accounts` are the provider's accounts.
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

  /// Returns whether the new account may overwrite `existing`: on request, or because the same
  /// person signs in again after a sign-out.
  func mayReplace(_ existing: Account) -> Bool {
    replacesExisting
      || restoresSignedOut && !existing.isSignedIn && !credentials.isEmpty && isSamePerson(existing)
  }

  /// Compares the subjects or, if either side has none, the usernames.
  func isSamePerson(_ other: Account) -> Bool {
    if let mine = account.subject, let theirs = other.subject { return isSame(mine, theirs) }
    return isSame(account.username, other.username)
  }

  /// Returns whether a credential of `existing` is kept. Credentials of another person are not. The
  /// account has only one token for reverse auth to exchange, so a new one displaces the old.
  func keeps(_ stored: StoredCredential, of existing: Account) -> Bool {
    isSamePerson(existing) && !(stored.isForReverseAuth && bringsReverseAuthToken)
  }

  /// Whether the new account brings a token for reverse auth to exchange.
  var bringsReverseAuthToken: Bool { credentials.contains(where: \.isForReverseAuth) }

  /// Returns `existing` overwritten by the new account. Identity, position and dates stay those of
  /// `existing`. A new sign-in, as opposed to a replacement, also keeps the profile members absent
  /// from the new account.
  func replacing(_ existing: Account) -> Account {
    var account = account
    account.id = existing.id
    account.position = existing.position
    account.addedAt = existing.addedAt
    account.lastUsedAt = existing.lastUsedAt
    account.preferredBy = existing.preferredBy
    account.serviceRefusals = existing.serviceRefusals
    if isSamePerson(existing) { account.subject = account.subject ?? existing.subject }
    if !replacesExisting {
      account.displayName = account.displayName ?? existing.displayName
      account.email = account.email ?? existing.email
      account.avatar = account.avatar ?? existing.avatar
    }
    // The provider's word about another address or subject does not count.
    let hasSameEmail = isSame(account.email ?? "", existing.email ?? "")
    let hasSameSubject = isSame(account.subject ?? "", existing.subject ?? "")
    account.isEmailVerified =
      account.isEmailVerified || existing.isEmailVerified && hasSameEmail
    if !account.isReported, hasSameSubject { account.reportedBy = existing.reportedBy }
    return account
  }

  func collision(with existing: Account) -> Problem {
    Problem(
      .accountExists,
      isOnlyOne && !isSamePerson(existing)
        ? "Only one account of this provider can be stored, and another one is stored already."
        : "This account is stored already.",
      provider: existing.provider, account: existing.id)
  }
}

extension [AccountStore.NewAccount] {
  /// Adds each account and returns its result: the added account, or the `accountExists` problem.
  /// Other problems are thrown.
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
  /// Returns the registrations to store, given the registrations already stored.
  func registrations(besides known: [StoredRegistration.Known]) -> [StoredRegistration] {
    registrations.filter { new in
      guard
        let former = known.first(where: {
          isSame($0.provider, new.provider) && $0.flow == new.flow
        })
      else {
        return true
      }
      return replacesRegistrations && new.mayReplace(isIssued: former.isIssued)
    }
  }
}

extension Account {
  /// Returns the account after an edit. Changes to members outside an edit's reach are dropped.
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
    after.scopes = scopes
    after.refreshExpiresAt = refreshExpiresAt
    after.serviceRefusals = serviceRefusals
    after.refusedResources = refusedResources
    return after
  }
}

extension AccountStore.Settlement {
  /// Returns whether the basis of the request is still stored unchanged.
  ///
  /// - Parameter generations: the generations of the account's stored credentials.
  func isCurrent(_ generations: [AccountStore.Place: Int64]) -> Bool {
    let replacesKnown =
      credential.map { credential in
        generations[credential.place] == nil
          || basis.contains { $0.place == credential.place }
      } ?? true
    return replacesKnown && basis.allSatisfy { generations[$0.place] == $0.generation }
  }
}

/// Returns whether two identifiers are the same bytes. `==` compares canonical equivalents as
/// equal, for example U+212A (Kelvin sign) and `K`.
func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

extension Problem {
  static func unknownAccount(_ id: Account.ID) -> Problem {
    Problem(.unknownAccount, "There is no account with this id.", account: id)
  }
}
