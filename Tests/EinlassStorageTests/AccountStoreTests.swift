import Einlass
import EinlassCrypto
import EinlassStorage
import Foundation
import Testing

/// What every store does, in memory or in a file.
struct AccountStoreTests {
  enum Kind: CaseIterable { case memory, file, reopenedFile }

  /// A store, and the same one as the next process finds it.
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
  func `an added account is listed as it was given and its credential opens`(_ kind: Kind) throws {
    let test = try Case(kind)
    let new = AccountStore.NewAccount.example(subject: "17")
    let added = try test.store.add(new, .usual)
    var expected = new.account
    expected.position = 1
    #expect(added == AccountStore.Added(account: expected, created: true, revision: 1))
    #expect(
      try test.next.snapshot(.usual)
        == AccountStore.Snapshot(revision: 1, accounts: [expected], grants: []))
    #expect(try test.next.credentials(expected.id) == [new.credential])
  }
}
