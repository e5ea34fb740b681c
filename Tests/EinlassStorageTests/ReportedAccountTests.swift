import Einlass
import EinlassStorage
import TestSupport
import Testing

/// The provider's word about an account, in every kind of store.
@Suite struct ReportedAccountTests {
  private static func reported(
    email: String? = "ada@example.com", subject: String? = "17", replaces: Bool = false
  ) -> AccountStore.NewAccount {
    var new = AccountStore.NewAccount.example(subject: subject, replacesExisting: replaces)
    new.account.email = email
    return new
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A store keeps whether the provider has named the subject and verified the address`(
    _ kind: AccountStoreTests.Kind
  ) throws {
    let test = try AccountStoreTests.Case(kind)
    for (isVerified, reporter) in [(false, 0), (true, 1), (false, 2), (true, Int64.max >> 1)] {
      var new = AccountStore.NewAccount.example("\(isVerified)\(reporter)")
      (new.account.isEmailVerified, new.account.reportedBy) = (isVerified, reporter)
      let id = try test.store.add(new, .usual).account.id
      let account = try #require(try test.next.snapshot(.none).accounts.last)
      #expect(account.isEmailVerified == isVerified && account.reportedBy == reporter)
      _ = try test.next.update(id, .usual) {
        ($0.isEmailVerified, $0.reportedBy) = (!isVerified, reporter ^ 1)
      }
      let edited = try #require(try test.next.snapshot(.none).accounts.last)
      #expect(edited.isEmailVerified == !isVerified && edited.reportedBy == reporter ^ 1)
    }
  }

  /// Address and subject of a replacement, and whether the provider's word about each stays.
  static let replacements: [(email: String?, subject: String?, keeps: (Bool, Bool))] = [
    ("ada@example.com", "17", (true, true)),
    // An account without a subject keeps the stored one.
    ("ada@example.com", nil, (true, true)),
    ("eve@example.com", "17", (false, true)),
    ("Ada@example.com", "17", (false, true)),
    (nil, "17", (false, true)),
    ("ada@example.com", "18", (true, false)),
    ("eve@example.com", "18", (false, false)),
  ]

  @Test(arguments: AccountStoreTests.Kind.allCases, replacements.indices)
  func `A replacement with another address or subject loses the provider's word about it`(
    _ kind: AccountStoreTests.Kind, _ row: Int
  ) throws {
    let (email, subject, keeps) = Self.replacements[row]
    let test = try AccountStoreTests.Case(kind)
    var first = Self.reported()
    (first.account.isEmailVerified, first.account.reportedBy, first.isOnlyOne) = (true, 1, true)
    let id = try test.store.add(first, .usual).account.id
    var new = Self.reported(email: email, subject: subject, replaces: true)
    new.isOnlyOne = true
    let added = try test.next.add(new, .usual).account
    #expect(added.id == id)
    #expect(added.isEmailVerified == keeps.0 && added.isReported == keeps.1)
    #expect(try test.next.snapshot(.none).accounts.first == added)
  }

  @Test func `Front ends hear nothing of a change that they cannot see`() {
    let before = Self.reported().account
    var after = before
    (after.isEmailVerified, after.reportedBy) = (true, 1)
    #expect(StoreChange.Kind(from: before, to: after) == nil)
    after.email = "eve@example.com"
    #expect(StoreChange.Kind(from: before, to: after) == .updated)
  }
}
