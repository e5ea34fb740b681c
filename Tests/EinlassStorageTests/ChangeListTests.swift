import Einlass
import EinlassStorage
import TestSupport
import Testing

/// The list of recent changes in a store, which front ends read.
struct ChangeListTests {
  typealias Kind = AccountStoreTests.Kind

  /// Returns the changes since a mark and moves the mark to the last of them.
  private func changes(
    _ store: AccountStore, _ mark: inout AccountStore.ChangeMark?
  ) throws -> [StoreChange]? {
    let changes = try store.changes(mark, .usual)
    #expect(try changes.revision == store.snapshot(.usual).revision)
    mark = changes.mark
    return changes.list
  }

  @Test(arguments: Kind.allCases)
  func `Every change of an account, a credential or a grant is in the list, and no other`(
    _ kind: Kind
  ) throws {
    let test = try AccountStoreTests.Case(kind)
    var mark: AccountStore.ChangeMark?
    #expect(try changes(test.store, &mark) == nil)
    #expect(try changes(test.store, &mark) == [])
    let ids = try ["ada", "bob"].map { try test.store.add(.example($0), .usual).account.id }
    #expect(
      try changes(test.next, &mark) == ids.map { .account($0, .added) })
    func told(_ change: (AccountStore) throws -> Void) throws -> [StoreChange]? {
      try change(test.next)
      return try changes(test.next, &mark)
    }
    let updated = StoreChange.account(ids[0], .updated)
    #expect(try told { _ = try $0.update(ids[0], .usual) { $0.displayName = "A" } } == [updated])
    #expect(try told { _ = try $0.update(ids[0], .usual) { $0.displayName = "A" } } == [])
    #expect(try told { _ = try $0.update(ids[0], .usual) { $0.lastUsedAt = 7 } } == [])
    #expect(
      try told { _ = try $0.update(ids[0], .usual) { $0.health = .banned } }
        == [.account(ids[0], .health)])
    #expect(
      try told { _ = try $0.setPreferred(ids[1], "editor", "example", .usual) }
        == [.account(ids[1], .updated)])
    let both = try #require(
      try told { _ = try $0.setPreferred(ids[0], "editor", "example", .usual) })
    #expect(both.count == 2 && both.contains(updated))
    #expect(try told { _ = try $0.setPreferred(ids[0], "editor", "example", .usual) } == [])
    let credential = StoreChange.credential(ids[0])
    #expect(try told { _ = try $0.saveCredential(ids[0], .oauth2Example("a")) } == [credential])
    #expect(
      try told {
        _ = try $0.saveCredential(ids[0], .oauth2Example("a", resource: "https://example.com"))
      } == [credential, updated])
    #expect(try told { _ = try $0.forgetCredentials(ids[0]) } == [updated])
    #expect(
      try told { _ = try $0.add(.example("ada", replacesExisting: true), .usual) }?.first
        == credential)
    #expect(
      try told { store in _ = problem { _ = try store.add(.example("ada"), .usual) } } == [])
    var grant = AccessGrant(
      application: "editor", provider: "example", state: .granted, changedAt: 1)
    #expect(try told { _ = try $0.setGrant(grant, .usual) } == [.grant(grant.place)])
    #expect(try told { _ = try $0.setGrant(grant, .usual) } == [])
    grant.state = .denied
    #expect(try told { _ = try $0.setGrant(grant, .usual) } == [.grant(grant.place)])
    #expect(
      try told { _ = try $0.resetGrant("editor", "example", .usual) } == [.grant(grant.place)])
    #expect(try told { _ = try $0.resetGrant("editor", "example", .usual) } == [])
    #expect(try told { _ = try $0.remove(ids[0], .usual) } == [.account(ids[0], .removed)])
  }

  @Test(arguments: Kind.allCases)
  func `A mark that is too old gets no list of changes`(_ kind: Kind) throws {
    let test = try AccountStoreTests.Case(kind)
    let id = try test.store.add(.example(), .usual).account.id
    var (old, late) = (try test.store.changes(nil, .usual).mark, AccountStore.ChangeMark.noStore)
    for number in 0..<1000 {
      if number == 800 { late = try test.store.changes(nil, .usual).mark }
      _ = try test.store.update(id, .usual) { $0.displayName = String(number) }
    }
    #expect(try test.next.changes(old, .usual).list == nil)
    #expect(try test.next.changes(.noStore, .usual).list == nil)
    #expect(try test.next.changes(late, .usual).list?.count == 200)
    // As after restoring an older copy of the store: the mark is ahead of it.
    old = late
    old.number += 10_000
    #expect(try test.next.changes(old, .usual).list == nil)
  }

  @Test func `A change that is rolled back is not in the list`() throws {
    let home = try StoreHome()
    let store = home.store()
    let id = try store.add(.example(), .usual).account.id
    let mark = try store.changes(nil, .usual).mark
    #expect(
      problem {
        _ = try store.addAll(
          .init(
            accounts: [
              .example("bob"),
              .init(
                account: Account(
                  id: id, provider: "other", username: "x", isSignedIn: true, addedAt: 0),
                credentials: []),
            ],
            registrations: [], replacesRegistrations: false), .usual)
      } != nil)
    #expect(try store.changes(mark, .usual).list == [])
  }

  @Test func `A mark of another store gets no list of changes`() throws {
    let (home, other) = (try StoreHome(), try StoreHome())
    let store = home.store()
    _ = try store.add(.example(), .usual)
    _ = try other.store().add(.example("bob"), .usual)
    let mark = try store.changes(nil, .usual).mark
    #expect(try store.changes(mark, .usual).list == [])
    #expect(try other.store().changes(mark, .usual).list == nil)
  }

  @Test func `The list of a migrated store begins with a gap`() throws {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    try SQLiteTool(path: home.database).run(StoreHome.backToSchema2)
    let changes = try home.store().changes(.noStore, .usual)
    #expect(changes.list == nil)
    let id = try home.store().add(.example("bob"), .usual).account.id
    #expect(try home.store().changes(changes.mark, .usual).list == [.account(id, .added)])
  }
}
