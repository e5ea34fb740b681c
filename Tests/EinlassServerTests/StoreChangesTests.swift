import Einlass
import Testing

@testable import EinlassServer

@Suite struct StoreChangesTests {
  /// `+` added, `-` removed, `~` updated, `!` health, followed by the account's name.
  private static let signs: [Character: StoreChange.Kind] = [
    "+": .added, "-": .removed, "~": .updated, "!": .health,
  ]

  private static func changes(_ words: String) -> [StoreChange] {
    words.split(separator: " ").compactMap { word in
      word.first.flatMap { signs[$0] }.map {
        .account(Account.ID(rawValue: String(word.dropFirst())), $0)
      }
    }
  }

  private static func words(_ changes: [StoreChanges.OfAccount]) -> String {
    changes.map { change in
      let sign = signs.first { $0.value == change.change }?.key ?? "?"
      return String(sign) + change.account.rawValue
    }.joined(separator: " ")
  }

  @Test(arguments: [
    ("", ""), ("+a +b", "+a +b"), ("-b -a", "-b -a"), ("+a ~a", "+a"), ("+a !a ~a", "+a"),
    ("+a -a", ""), ("+a ~b -a", "~b"), ("~a ~a", "~a"), ("!a ~a", "!a"), ("~a !a", "!a"),
    ("~a ~b !a", "!a ~b"), ("~a -a", "-a"), ("!a -a +b", "-a +b"),
  ])
  func `An account is announced once, with the sum of its changes`(changes: String, told: String) {
    #expect(Self.words(StoreChanges(Self.changes(changes)).accounts) == told)
  }

  @Test func `A grant is announced once, and names in different Unicode forms are different names`()
  {
    let places = ["caf\u{E9}", "cafe\u{301}", "caf\u{E9}"].map {
      AccessGrant.Place(provider: "example", application: $0)
    }
    #expect(StoreChanges(places.map(StoreChange.grant)).grants == Array(places.prefix(2)))
  }

  @Test func `An unknown list of changes counts as everything`() {
    #expect(StoreChanges(nil).isEverything)
    #expect(!StoreChanges([]).isEverything)
  }
}
