import EinlassJSON
import Testing

@testable import EinlassControl
@testable import EinlassHelpers

struct SelectionTests {
  private func isNamed(_ text: String) throws -> Bool {
    try #require(
      Account(["account": "a_1", "provider": "twitter", "username": "k\u{E9}"])
    ).isNamed(text)
  }

  @Test(
    "An account is found by id, user name, or provider and user name",
    arguments: ["a_1", "ké", "twitter/ké"])
  func names(text: String) throws {
    #expect(try isNamed(text))
  }

  @Test(
    "A prefix, a look-alike or an equivalent character does not name an account",
    arguments: [
      "", "a_", "A_1", "k", "ke\u{301}", "Ké", "\u{212A}é", "ké ", "twitter/", "/ké", "facebook/ké",
      "a_1\0",
    ])
  func others(text: String) throws {
    #expect(try !isNamed(text))
  }
}
