import Testing

/// What the transcripts promise to cover: deleting one of these files fails.
@Suite struct CoverageTests {
  /// The problems of the original, eight for each provider.
  static let problems = [
    "twitter": [
      "no-system-account", "access-not-granted", "user-canceled-account-selection",
      "account-banned", "authenticator-unconfigured", "network-failure", "failure",
      "account-store-failure",
    ],
    "facebook": [
      "no-system-account", "access-not-granted", "user-canceled-account-selection",
      "system-account-relogin-needed", "authenticator-unconfigured", "network-failure", "failure",
      "account-store-failure",
    ],
  ]

  /// How many accounts there can be: one of them has only ever one.
  static let accounts = ["twitter": ["none", "one", "many"], "facebook": ["none", "one"]]

  static let names = Set(Transcript.all.map(\.name))

  @Test(arguments: problems.keys.sorted())
  func `each of the eight problems has its transcript`(provider: String) throws {
    let problems = try #require(Self.problems[provider])
    try #require(Set(problems).count == 8)
    for problem in problems { expect("auth.perform/problems/\(provider)-\(problem)") }
  }

  @Test(
    arguments: accounts.keys.sorted().flatMap { provider in
      ["always", "whenMany"].map { (provider, $0) }
    })
  func `each cell of the matrix has its transcript`(provider: String, selection: String) throws {
    for access in ["never-asked", "granted", "denied"] {
      for accounts in try #require(Self.accounts[provider]) {
        let cell = "auth.perform/matrix/\(provider)-\(selection)-\(access)-\(accounts)"
        expect(cell)  // with credential: "none"
        expect(cell + "-fetch")
      }
    }
  }

  @Test(arguments: accounts.keys.sorted(), ["declined", "cancelled"])
  func `a no and a cancel have their transcripts`(provider: String, end: String) {
    expect("auth.perform/matrix/\(provider)-asked-and-\(end)")
  }

  @Test func `what another registration was issued has its transcript`() {
    expect("auth.perform/issued-to-another")
  }

  private func expect(_ name: String) {
    #expect(Self.names.contains(name), "protocol/transcripts/\(name).jsonl is missing")
  }
}
