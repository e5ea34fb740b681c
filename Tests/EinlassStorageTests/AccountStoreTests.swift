import Einlass
import EinlassCrypto
import EinlassStorage
import Foundation
import TestSupport
import Testing

/// The behaviour of every store: in memory, in a file, and in a file that another process reopens.
struct AccountStoreTests {
  enum Kind: CaseIterable { case memory, file, reopenedFile }

  /// A store, and the same store as the next process opens it.
  struct Case {
    let kind: Kind
    let home: StoreHome
    let store: AccountStore

    init(_ kind: Kind) throws {
      self.kind = kind
      home = try StoreHome()
      store = kind == .memory ? MemoryAccountStore.make() : home.store()
    }

    var next: AccountStore { kind == .reopenedFile ? home.store() : store }
  }

  @Test(arguments: Kind.allCases)
  func `An added account is listed with its values, and its credential opens`(_ kind: Kind) throws {
    let test = try Case(kind)
    let new = AccountStore.NewAccount.example(subject: "17")
    let added = try test.store.add(new, .usual)
    var expected = new.account
    expected.position = 1
    #expect(added == AccountStore.Added(account: expected, created: true, revision: 1))
    #expect(
      try test.next.snapshot(.none)
        == AccountStore.Snapshot(revision: 1, accounts: [expected], grants: []))
    #expect(try test.next.contents(expected.id) == [new.credential])
  }

  @Test(arguments: Kind.allCases)
  func `Accounts are listed in the order of adding, and a position is never reused`(_ kind: Kind)
    throws
  {
    let test = try Case(kind)
    for name in ["b", "a", "c"] { _ = try test.store.add(.example(name), .usual) }
    let last = try test.next.snapshot(.none).accounts[2]
    _ = try test.next.remove(last.id, .usual)
    _ = try test.next.add(.example("d"), .usual)
    let accounts = try test.next.snapshot(.none).accounts
    #expect(accounts.map(\.username) == ["b", "a", "d"])
    #expect(accounts.map(\.position) == [1, 2, 4])
  }

  /// Username and subject of a stored and of a new account, and whether the two are the same
  /// account.
  static let collisions: [(stored: (String, String?), new: (String, String?), isSame: Bool)] = [
    (("ada", nil), ("ada", nil), true),
    (("ada", nil), ("bob", nil), false),
    (("ada", "1"), ("ada", "1"), true),
    (("ada", "1"), ("renamed", "1"), true),
    (("ada", "1"), ("ada", "2"), false),
    (("ada", "1"), ("ada", nil), true),
    (("ada", nil), ("ada", "1"), true),
    (("ada", "1"), ("bob", nil), false),
    // Names compare as bytes, so the Kelvin sign and a decomposed accent make other names.
    (("K", nil), ("\u{212A}", nil), false),
    (("\u{E9}", nil), ("e\u{301}", nil), false),
  ]

  @Test(arguments: Kind.allCases, collisions.indices)
  func `Accounts with the same provider and subject, or else username, are the same account`(
    _ kind: Kind, _ row: Int
  )
    throws
  {
    let (stored, new, isSame) = Self.collisions[row]
    let test = try Case(kind)
    let first = try test.store.add(.example(stored.0, subject: stored.1), .usual)
    let problem = problem { _ = try test.next.add(.example(new.0, subject: new.1), .usual) }
    #expect(problem?.reason == (isSame ? .accountExists : nil))
    #expect(problem?.account == (isSame ? first.account.id : nil))
    #expect(try test.next.snapshot(.none).revision == (isSame ? 1 : 2))
    // The same name at another provider is another account.
    _ = try test.next.add(.example(stored.0, provider: "other", subject: stored.1), .usual)
  }

  @Test(arguments: Kind.allCases)
  func `A provider with room for one account refuses a second, or replaces the first`(_ kind: Kind)
    throws
  {
    let test = try Case(kind)
    let first = try test.store.add(.example("ada", isOnlyOne: true), .usual)
    let problem = problem { _ = try test.next.add(.example("bob", isOnlyOne: true), .usual) }
    #expect(problem?.reason == .accountExists && problem?.account == first.account.id)
    _ = try test.next.add(.example("bob", provider: "other", isOnlyOne: true), .usual)
    let added = try test.next.add(
      .example("bob", replacesExisting: true, isOnlyOne: true), .usual)
    #expect(added.account.id == first.account.id && !added.created)
    #expect(try test.next.snapshot(.none).accounts.map(\.username) == ["bob", "bob"])
  }

  @Test(arguments: Kind.allCases, [true, false])
  func `A signed-out person can be added again, and no other person in that place`(
    _ kind: Kind, isOnlyOne: Bool
  ) throws {
    let test = try Case(kind)
    var ada = AccountStore.NewAccount.example("ada", subject: "1", isOnlyOne: isOnlyOne)
    ada.restoresSignedOut = true
    ada.account.displayName = "Ada L."
    let first = try test.store.add(ada, .usual)
    #expect(problem { _ = try test.next.add(ada, .usual) }?.reason == .accountExists)
    _ = try test.next.forgetCredentials(first.account.id)
    var empty = ada
    empty.credentials = []
    #expect(problem { _ = try test.next.add(empty, .usual) }?.reason == .accountExists)
    if isOnlyOne {
      var bob = AccountStore.NewAccount.example("bob", subject: "2", isOnlyOne: true)
      bob.restoresSignedOut = true
      #expect(problem { _ = try test.next.add(bob, .usual) }?.reason == .accountExists)
    }
    var imported = ada
    imported.restoresSignedOut = false
    #expect(problem { _ = try test.next.add(imported, .usual) }?.reason == .accountExists)
    ada.account.displayName = nil
    let added = try test.next.add(ada, .usual)
    #expect(added.account.id == first.account.id && !added.created && added.account.isSignedIn)
    #expect(added.account.displayName == "Ada L.")
  }

  @Test(arguments: Kind.allCases)
  func `A replaced account keeps id, position, age and other credentials, and nothing else`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    let first = try test.store.add(.example("ada", subject: "1"), .usual)
    _ = try test.next.update(first.account.id, .usual) {
      $0.health = .reloginNeeded
      $0.lastUsedAt = 5
    }
    _ = try test.next.saveCredential(first.account.id, .oauth2Example("old"))
    _ = try test.next.add(.example("bob"), .usual)
    var new = AccountStore.NewAccount.example(
      "eve", subject: "1", secrets: "new", replacesExisting: true)
    new.account.displayName = nil
    new.account.addedAt = 9
    let added = try test.next.add(new, .usual)
    var expected = new.account
    (expected.id, expected.position) = (first.account.id, 1)
    (expected.addedAt, expected.lastUsedAt) = (first.account.addedAt, 5)
    #expect(added == AccountStore.Added(account: expected, created: false, revision: 5))
    #expect(try test.next.snapshot(.none).accounts.first == expected)
    #expect(try test.next.contents(expected.id) == [.oauth2Example("old"), new.credential])
  }

  @Test(arguments: Kind.allCases)
  func `A credential replaces only the credential of the same client id and resource`(_ kind: Kind)
    throws
  {
    let test = try Case(kind)
    let stored: [StoredCredential] = [
      .oauth2Example("a"), .oauth2Example("b", resource: "https://photos.example"),
      .oauth2Example("c", clientID: "APP2"), .oauth1Example("own"),
    ]
    var ada = AccountStore.NewAccount.example("ada", subject: "1", replacesExisting: true)
    ada.credentials = stored
    let id = try test.store.add(ada, .usual).account.id
    ada.credentials = [.oauth2Example("new")]
    _ = try test.next.add(ada, .usual)
    #expect(try test.next.contents(id) == [.oauth2Example("new")] + stored[1...])
    // An account has a single credential for reverse auth, so the client id does not matter.
    var own = StoredCredential.oauth1Example("other")
    own.registration.clientID = "SYS2"
    own.binding.clientID = "SYS2"
    ada.credentials = [own]
    _ = try test.next.add(ada, .usual)
    #expect(
      try test.next.contents(id) == [.oauth2Example("new")] + stored[1...2] + [own])
    // An imported file can contain an account without credentials or without a subject.
    ada.credentials = []
    ada.account.subject = nil
    let added = try test.next.add(ada, .usual).account
    #expect(added.isSignedIn && added.subject == "1")
    #expect(added.resources == ["https://photos.example"])
    #expect(try test.next.contents(id).count == 4)
  }

  @Test(arguments: Kind.allCases)
  func `A second person in a provider's only place gets no credential of the first`(_ kind: Kind)
    throws
  {
    let test = try Case(kind)
    var ada = AccountStore.NewAccount.example("ada", subject: "1", isOnlyOne: true)
    ada.credentials = [.oauth2Example("a"), .oauth2Example("b", clientID: "APP2")]
    let id = try test.store.add(ada, .usual).account.id
    var bob = AccountStore.NewAccount.example(
      "bob", subject: "2", replacesExisting: true, isOnlyOne: true)
    bob.credentials = [.oauth2Example("c")]
    let added = try test.next.add(bob, .usual).account
    #expect(added.id == id && added.subject == "2")
    #expect(try test.next.contents(id) == bob.credentials)
  }

  @Test(arguments: Kind.allCases)
  func `An edit changes only editable members, and the revision only if a value changed`(
    _ kind: Kind
  )
    throws
  {
    let test = try Case(kind)
    let before = try test.store.add(.example(), .usual).account
    let revision = try test.next.update(before.id, .usual) {
      $0.id = Account.ID(rawValue: "a_other")
      ($0.provider, $0.addedAt, $0.position, $0.isSignedIn) = ("other", 1, 99, false)
      ($0.username, $0.displayName, $0.subject, $0.email) = ("new", nil, "s", nil)
      ($0.avatar, $0.health, $0.lastUsedAt) = ("https://example.com/b", .banned, 7)
    }
    #expect(revision == 2)
    var expected = before
    (expected.username, expected.displayName, expected.subject) = ("new", nil, "s")
    (expected.email, expected.avatar) = (nil, "https://example.com/b")
    (expected.health, expected.lastUsedAt) = (.banned, 7)
    #expect(try test.next.snapshot(.none).accounts == [expected])
    #expect(try test.next.update(before.id, .usual) { $0.position = 3 } == 2)
    #expect(try test.next.snapshot(.none).revision == 2)
  }

  @Test(arguments: Kind.allCases)
  func `An account has one credential for each client id, and its removal deletes them all`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    let first = AccountStore.NewAccount.example()
    let id = try test.store.add(first, .usual).account.id
    let other = try test.store.add(.example("bob"), .usual).account.id
    #expect(try test.next.saveCredential(id, .oauth2Example("a")) == 3)
    #expect(try test.next.saveCredential(id, .oauth2Example("b")) == 4)
    #expect(try test.next.saveCredential(id, .oauth2Example("c", clientID: "APP2")) == 5)
    let stored = try test.next.contents(id).sorted {
      $0.registration.clientID < $1.registration.clientID
    }
    #expect(
      stored == [.oauth2Example("b"), .oauth2Example("c", clientID: "APP2"), first.credential])
    #expect(try test.next.remove(id, .usual) == 6)
    #expect(problem { _ = try test.next.contents(id) }?.reason == .unknownAccount)
    #expect(try test.next.contents(other).count == 1)
    #expect(try test.next.snapshot(.none).accounts.map(\.id) == [other])
  }

  @Test(arguments: Kind.allCases)
  func `A credential that was obtained with an outdated one is not stored`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    let id = try test.store.add(.example(), .usual).account.id
    let read = try test.next.credentials(id)
    let banned: AccountStore.Edit = { $0.health = .banned }
    func settle(_ basis: [StoredCredential], _ new: StoredCredential?) throws -> Int64? {
      try test.next.settle(id, .init(basis: basis, credential: new, edit: banned))
    }
    // A system credential is replaced, and then deleted, before the answer arrives.
    _ = try test.next.add(.example("ada", secrets: "b", replacesExisting: true), .usual)
    let newer = try test.next.credentials(id)
    #expect(newer[0].generation > read[0].generation)
    #expect(try settle(read, .oauth2Example("late")) == nil)
    #expect(try settle(read, nil) == nil)
    _ = try test.next.forgetCredentials(id)
    #expect(try settle(newer, .oauth2Example("late")) == nil)
    #expect(try test.next.snapshot(.none).accounts.map(\.isSignedIn) == [false])
    // An application credential is stored in the meantime. The answer is not based on it.
    _ = try test.next.saveCredential(id, .oauth2Example("first"))
    #expect(try settle([], .oauth2Example("late")) == nil)
    #expect(try test.next.contents(id) == [.oauth2Example("first")])
    #expect(try test.next.snapshot(.none).accounts.map(\.health) == [.ok])
    // Negative control. A generation is never used again.
    let first = try test.next.credentials(id)
    #expect(try settle(first, .oauth2Example("second")) == 5)
    #expect(try test.next.credentials(id).map(\.generation) == [5])
    #expect(try test.next.snapshot(.none).accounts.map(\.health) == [.banned])
    #expect(try settle(first, .oauth2Example("late")) == nil)
  }

  @Test(arguments: Kind.allCases)
  func `A refused credential stays marked until another replaces it`(_ kind: Kind) throws {
    let test = try Case(kind)
    let id = try test.store.add(.example(), .usual).account.id
    _ = try test.next.saveCredential(id, .oauth2Example("a"))
    let refused = try test.next.credentials(id).filter { $0.role == .application }
    _ = try test.next.settle(id, .init(basis: refused, isRefusal: true))
    func marks() throws -> [Bool] {
      try test.next.credentials(id).sorted { $0.generation < $1.generation }.map(\.isRefused)
    }
    #expect(try marks() == [false, true])
    #expect(try test.next.credentials(id).map(\.generation).max() == refused[0].generation)
    _ = try test.next.saveCredential(id, .oauth2Example("b"))
    #expect(try marks() == [false, false])
  }

  @Test(arguments: Kind.allCases)
  func `An application prefers at most one account of a provider`(_ kind: Kind) throws {
    let test = try Case(kind)
    let ids = try ["ada", "bob"].map { try test.store.add(.example($0), .usual).account.id }
    func preferred() throws -> [[String]] {
      try test.next.snapshot(.none).accounts.map(\.preferredBy)
    }
    _ = try test.next.setPreferred(ids[0], "neovim", "example", .usual)
    _ = try test.next.setPreferred(ids[0], "emacs", "example", .usual)
    _ = try test.next.setPreferred(ids[1], "neovim", "example", .usual)
    #expect(try preferred() == [["emacs"], ["neovim"]])
    // Neither an edit nor a new credential changes the preference.
    _ = try test.next.update(ids[0], .usual) { $0.preferredBy = [] }
    _ = try test.next.add(.example("ada", replacesExisting: true), .usual)
    #expect(try preferred() == [["emacs"], ["neovim"]])
    _ = try test.next.setPreferred(nil, "emacs", "example", .usual)
    _ = try test.next.remove(ids[1], .usual)
    #expect(try preferred() == [[]])
    let unknown = problem { _ = try test.next.setPreferred(ids[1], "emacs", "example", .usual) }
    #expect(unknown?.reason == .unknownAccount)
  }

  @Test(arguments: Kind.allCases)
  func `A grant is stored, replaced and reset`(_ kind: Kind) throws {
    let test = try Case(kind)
    var grant = AccessGrant(
      application: "neovim", provider: "example", state: .granted,
      permissions: ["email", "", "a\nb\\"], audience: .friends, includes: [.refreshToken],
      changedAt: 1)
    let other = AccessGrant(
      application: "emacs", provider: "example", state: .denied, changedAt: 2)
    #expect(try test.store.setGrant(grant, .usual) == 1)
    #expect(try test.next.setGrant(other, .usual) == 2)
    grant.permissions = []
    grant.changedAt = 3
    #expect(try test.next.setGrant(grant, .usual) == 3)
    #expect(Set(try test.next.snapshot(.none).grants.map(\.changedAt)) == [2, 3])
    #expect(try test.next.snapshot(.none).grants.contains(grant))
    #expect(try test.next.resetGrant("neovim", "other", .usual) == 3)
    #expect(try test.next.resetGrant("neovim", "example", .usual) == 4)
    #expect(try test.next.snapshot(.none).grants == [other])
  }

  @Test(arguments: Kind.allCases)
  func `A removed account leaves its grants, and a grant for it alone is removed`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    let ids = try ["ada", "bob"].map { try test.store.add(.example($0), .usual).account.id }
    func grant(_ application: String, _ accounts: [Account.ID]?) -> AccessGrant {
      AccessGrant(
        application: application, provider: "example", state: .granted, accounts: accounts,
        title: "Editor", changedAt: 1)
    }
    let (all, both) = (grant("all", nil), grant("both", ids))
    var denied = grant("denied", [ids[0]])
    denied.state = .denied
    for grant in [all, both, denied, grant("one", [ids[0]])] {
      _ = try test.store.setGrant(grant, .usual)
    }
    #expect(try test.next.snapshot(.none).grants.contains(both))
    _ = try test.next.remove(ids[0], .usual)
    #expect(try test.next.snapshot(.none).grants == [all, grant("both", [ids[1]]), denied])
  }

  @Test(arguments: Kind.allCases)
  func `An unchanged decision leaves the revision, and an edit gets the present decision`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    let grant = AccessGrant(
      application: "neovim", provider: "example", state: .granted, changedAt: 1)
    #expect(try test.store.setGrant(grant, .usual) == 1)
    #expect(try test.next.setGrant(grant, .usual) == 1)
    var seen: [AccessGrant?] = []
    _ = try test.next.decide(grant.place, .usual) { former in
      seen.append(former)
      return former
    }
    #expect(seen.contains(grant))
    #expect(try test.next.snapshot(.none).revision == 1)
  }

  @Test(arguments: Kind.allCases)
  func `A missing item is reported as missing, and reading creates no store`(_ kind: Kind) throws {
    let test = try Case(kind)
    let id = Account.ID(rawValue: "a_none")
    #expect(problem { _ = try test.store.remove(id, .usual) }?.reason == .unknownAccount)
    #expect(problem { _ = try test.store.update(id, .usual) { _ in } }?.reason == .unknownAccount)
    #expect(problem { _ = try test.store.contents(id) }?.reason == .unknownAccount)
    let problem = problem { _ = try test.store.saveCredential(id, .oauth2Example("a")) }
    #expect(problem?.reason == .unknownAccount && problem?.account == id)
    #expect(try test.store.resetGrant("a", "b", .usual) == 0)
    #expect(try test.store.snapshot(.none) == AccountStore.Snapshot())
    #expect(try test.store.protection(.none) == (kind == .memory ? "memory" : "keyfile"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: test.home.path).isEmpty)
  }

  @Test(arguments: Kind.allCases)
  func `Account ids match as bytes`(_ kind: Kind) throws {
    let test = try Case(kind)
    var new = AccountStore.NewAccount.example()
    new.account.id = Account.ID(rawValue: "a_K")
    _ = try test.store.add(new, .usual)
    let lookAlike = Account.ID(rawValue: "a_\u{212A}")
    #expect(problem { _ = try test.next.contents(lookAlike) }?.reason == .unknownAccount)
    #expect(problem { _ = try test.next.remove(lookAlike, .usual) }?.reason == .unknownAccount)
  }
}

/// Returns the problem that the closure throws, or `nil`.
func problem(_ body: () throws -> Void) -> Problem? {
  do {
    try body()
    return nil
  } catch {
    return error as? Problem
  }
}
