import Einlass
import Testing

@testable import EinlassServer

@Suite struct StoreChangesTests {
  private static func account(
    _ name: String, _ position: Int64, _ edit: (inout Account) -> Void = { _ in }
  ) -> Account {
    var account = Account(
      id: Account.ID(rawValue: "a_\(name)"), provider: "example", username: name, isSignedIn: true,
      addedAt: 0)
    account.position = position
    edit(&account)
    return account
  }

  private static func grant(
    _ application: String, _ state: AccessGrant.State = .granted
  ) -> AccessGrant {
    AccessGrant(
      application: application, provider: "example", state: state, permissions: [], changedAt: 0)
  }

  /// `+` added, `-` removed, `~` updated, `!` health, then the account's name.
  private static func told(_ former: [Account], _ now: [Account]) -> String {
    AccountStore.Snapshot(accounts: now).changes(since: .init(accounts: former)).accounts
      .map { change in
        let sign: [StoreChanges.Change: String] = [
          .added: "+", .removed: "-", .updated: "~", .health: "!",
        ]
        return sign[change.change, default: "?"] + change.account.rawValue.dropFirst(2)
      }
      .joined(separator: " ")
  }

  @Test func `A file that somebody has edited, so that two grants look like one, is no end`() {
    let (one, other) = (Self.grant("b/c"), Self.grant("c"))
    var edited = other
    edited.provider = "example/b"
    let former = AccountStore.Snapshot(grants: [one, edited])
    #expect(AccountStore.Snapshot(grants: [one]).changes(since: former).grants.isEmpty == false)
  }

  @Test func `Accounts that came, went or changed are told, others not`() {
    let (a, b, c, d) = (
      Self.account("a", 1), Self.account("b", 2), Self.account("c", 5), Self.account("d", 9)
    )
    let cases: [([Account], [Account], String)] = [
      ([], [], ""),
      ([a, b], [a, b], ""),
      ([], [a, b], "+a +b"),
      ([a, b, c], [], "-a -b -c"),
      ([a, b, c], [a, c], "-b"),
      ([b, c], [a, b, c, d], "+a +d"),
      ([a, b], [c, d], "-a -b +c +d"),
      ([a, c], [b, d], "-a +b -c +d"),
      ([a], [Self.account("a", 1) { $0.displayName = "A" }], "~a"),
      ([a], [Self.account("a", 1) { $0.health = .banned }], "!a"),
      ([a], [Self.account("a", 1) { $0.lastUsedAt = 7 }], ""),
      // Another store in the place of this one counts anew.
      ([a, b], [Self.account("x", 1), b], "-a +x"),
    ]
    for (former, now, expected) in cases { #expect(Self.told(former, now) == expected) }
  }

  @Test func `Grants that came, went or changed are told, in whatever order they stand`() {
    let former = AccountStore.Snapshot(grants: ["a", "b", "c"].map { Self.grant($0) })
    let now = AccountStore.Snapshot(
      grants: [Self.grant("d"), Self.grant("c"), Self.grant("b", .denied)])
    #expect(
      now.changes(since: former).grants
        == ["b", "d", "a"].map { .init(application: $0, provider: "example") })
    #expect(former.changes(since: former) == StoreChanges())
  }

  @Test func `Names that only look the same are different names`() {
    let (one, other) = (Self.grant("caf\u{E9}"), Self.grant("cafe\u{301}"))
    let changes = AccountStore.Snapshot(grants: [one]).changes(since: .init(grants: [other]))
    #expect(changes.grants.count == 2)
  }
}
