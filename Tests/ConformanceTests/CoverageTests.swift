import Testing

/// The transcripts that must exist. A test fails if one of them is deleted.
@Suite struct CoverageTests {
  /// The problems of the original Einlass, eight for each provider.
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

  /// The possible numbers of accounts. Facebook has at most one account.
  static let accounts = ["twitter": ["none", "one", "many"], "facebook": ["none", "one"]]

  static let names = Set(Transcript.all.map(\.name))

  @Test(arguments: problems.keys.sorted())
  func `Each of the eight problems has its transcript`(provider: String) throws {
    let problems = try #require(Self.problems[provider])
    try #require(Set(problems).count == 8)
    for problem in problems { expect("auth.perform/problems/\(provider)-\(problem)") }
  }

  @Test(
    arguments: accounts.keys.sorted().flatMap { provider in
      ["always", "whenMany"].map { (provider, $0) }
    })
  func `Each cell of the selection matrix has its transcript`(provider: String, selection: String)
    throws
  {
    for access in ["never-asked", "granted", "denied"] {
      for accounts in try #require(Self.accounts[provider]) {
        let cell = "auth.perform/matrix/\(provider)-\(selection)-\(access)-\(accounts)"
        expect(cell)  // with credential: "none"
        expect(cell + "-fetch")
      }
    }
  }

  @Test(arguments: accounts.keys.sorted(), ["declined", "cancelled"])
  func `Declining and cancelling have their transcripts`(provider: String, end: String) {
    expect("auth.perform/matrix/\(provider)-asked-and-\(end)")
  }

  @Test func `A credential that was issued to another registration has its transcript`() {
    expect("auth.perform/issued-to-another")
  }

  private func expect(_ name: String) {
    #expect(Self.names.contains(name), "protocol/transcripts/\(name).jsonl is missing")
  }
}
