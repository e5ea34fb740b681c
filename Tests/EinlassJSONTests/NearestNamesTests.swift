import EinlassJSON
import Testing

struct NearestNamesTests {
  private static let names = ["github", "gitlab", "gitea", "google", "google-cloud", "x"]

  @Test(
    "A misspelt name has near ones, the nearest first",
    arguments: [
      ("githb", ["github"]), ("GITHUB", ["github"]), ("gihtub", ["github"]),
      ("gitlub", ["github", "gitlab"]),
      ("goo", ["google", "google-cloud"]), ("gogle-cloud", ["google-cloud"]),
      // One change for each three bytes, one at least.
      ("gixxub", ["github"]), ("gxxxub", []), ("gi", []), ("xx", ["x"]),
      // 2 to 64 bytes.
      ("y", []), (String(repeating: "g", count: 65), []),
    ])
  func near(typed: String, expected: [String]) {
    #expect(nearestNames(to: typed, among: Self.names) == expected)
  }

  @Test("A name of 64 bytes is compared, and at most three names are given")
  func limits() {
    let long = String(repeating: "g", count: 63)
    #expect(nearestNames(to: long + "h", among: [long + "g"]) == [long + "g"])
    #expect(nearestNames(to: "aba", among: ["abb", "abc", "abd", "abe"]) == ["abb", "abc", "abd"])
  }
}
