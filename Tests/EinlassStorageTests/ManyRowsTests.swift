import Einlass
import TestSupport
import Testing

@testable import EinlassStorage

/// A request reads only the rows that it needs, however many rows the store has. The test counts
/// SQLite's virtual machine steps, because they are the same in every run.
struct ManyRowsTests {
  /// A store with many accounts of one provider, each with credentials, a preference and a grant.
  struct Case {
    /// An account in the middle of the others.
    static let account = Account.ID(rawValue: "a_5")

    let home: StoreHome
    let file: StoreFile
    let store: AccountStore

    init(count: Int) throws {
      home = try StoreHome()
      let location = StoreLocation(directory: home.directory, keyDirectory: home.keyDirectory)
      let keys = KeySource(.usual, location: location)
      file = StoreFile(location: location, keys: keys)
      store = SQLiteAccountStore.store(in: file, keys: keys)
      _ = try store.add(.example("first"), .usual)
      let columns = Migrations.released.columns["credential", default: []]
        .subtracting(["account", "resource"]).sorted().joined(separator: ", ")
      try SQLiteTool(path: home.database).run(
        """
        CREATE TEMP TABLE number AS WITH RECURSIVE number(n) AS (
          SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count)) SELECT n FROM number;
        BEGIN;
        INSERT INTO account (id, provider, username, subject, health, added_at, last_used_at)
          SELECT 'a_' || n, 'example', 'user' || n, 'subject' || n, 'ok', n, iif(n % 3, n, NULL) FROM number;
        INSERT INTO credential (account, resource, \(columns))
          SELECT 'a_' || n, iif(n % 2, 'https://example.com/' || n, ''), \(columns) FROM credential, number;
        INSERT INTO preference SELECT 'caf\u{E9}' || n, 'example', 'a_' || n FROM number;
        INSERT INTO access_grant (application, provider, state, permissions, changed_at)
          SELECT 'caf\u{E9}' || n, 'example', 'granted', '', n FROM number;
        COMMIT
        """)
      // The sealed columns of the copied rows are bound to the first account and would not open
      // here.
      _ = try store.forgetCredentials(Self.account)
      _ = try store.saveCredential(Self.account, .oauth2Example("own"))
    }

    /// Returns the number of virtual machine steps of the body's statements.
    func steps(_ body: (AccountStore) throws -> Void) throws -> Int64 {
      func count() throws -> Int64 {
        func steps(_ store: OpenStore) -> Int64 { (store as? OpenFile)?.file.countSteps ?? 0 }
        return try (file.read(.usual, steps) ?? 0) + (file.change(.usual, steps) ?? 0)
      }
      let before = try count()
      try body(store)
      return try count() - before
    }

    func questionSteps<Answer>(
      _ question: (any StoreReader) throws(Problem) -> Answer
    ) throws -> Int64 {
      try steps { store in _ = try store.read(.usual, question) }
    }
  }

  /// One change of each kind, in an order in which all are possible.
  private static func changes(of id: Account.ID) -> [(String, (AccountStore) throws -> Void)] {
    [
      ("add", { _ = try $0.add(.example("new", subject: "new"), .usual) }),
      (
        "replace",
        { _ = try $0.add(.example("new", subject: "new", replacesExisting: true), .usual) }
      ),
      (
        "add the only one",
        { store in
          _ = problem { _ = try store.add(.example("user2", isOnlyOne: true), .usual) }
        }
      ),
      ("update", { _ = try $0.update(id, .usual) { $0.lastUsedAt = 1_800_000_000 } }),
      ("prefer", { _ = try $0.setPreferred(id, "caf\u{E9}7", "example", .usual) }),
      (
        "grant",
        {
          _ = try $0.setGrant(
            AccessGrant(application: "new", provider: "example", state: .granted, changedAt: 1),
            .usual)
        }
      ),
      ("reset", { _ = try $0.resetGrant("new", "example", .usual) }),
      ("settle", { _ = try $0.settle(id, .init(basis: [], credential: .oauth2Example("new"))) }),
      ("forget", { _ = try $0.forgetCredentials(id) }),
      ("remove", { _ = try $0.remove(id, .usual) }),
    ]
  }

  /// Returns the steps of each use of the store, by its name.
  private static func costs(count: Int) throws -> [String: Int64] {
    let test = try Case(count: count)
    let (id, middle) = (Case.account, Int64(count / 2))
    var costs = [
      "an account": try test.questionSteps { reader throws(Problem) in try reader.account(id) },
      "no account": try test.questionSteps { reader throws(Problem) in
        try reader.account(Account.ID(rawValue: "a_nobody"))
      },
      "a page": try test.questionSteps { reader throws(Problem) in
        try reader.accounts(of: nil, after: middle, limit: 11)
      },
      "a page of a provider": try test.questionSteps { reader throws(Problem) in
        try reader.accounts(of: "example", after: middle, limit: 11)
      },
      "a page of no provider": try test.questionSteps { reader throws(Problem) in
        try reader.accounts(of: "other", after: 0, limit: 11)
      },
      "the last used": try test.questionSteps { reader throws(Problem) in
        try reader.lastUsedAccounts(of: "example", limit: 101)
      },
      "a subject": try test.questionSteps { reader throws(Problem) in
        try reader.accounts(of: "example", subject: "subject7", limit: 2)
      },
      "a user name": try test.questionSteps { reader throws(Problem) in
        try reader.accounts(of: "example", username: "user7", limit: 2)
      },
      "a preference": try test.questionSteps { reader throws(Problem) in
        try reader.preferredAccount(of: "example", by: "caf\u{E9}7")
      },
      "a grant": try test.questionSteps { reader throws(Problem) in
        try reader.grant(.init(provider: "example", application: "caf\u{E9}7"))
      },
      "a page of grants": try test.questionSteps { reader throws(Problem) in
        try reader.grants(after: .init(provider: "example", application: "caf\u{E9}7"), limit: 11)
      },
      "credentials": try test.steps { _ = try $0.credentials(id) },
      "changes": try test.steps { _ = try $0.changes(.noStore, .usual) },
    ]
    for (name, change) in changes(of: id) { costs[name] = try test.steps(change) }
    // Negative control: a query without an index.
    costs["scan"] = try test.steps { _ in
      _ = try test.file.read(.usual) { store throws(Problem) in
        try store.connection.run("SELECT 1 FROM account WHERE email = 'ada@example.com'")
      }
    }
    return costs
  }

  @Test func `Every question and every change costs as much with 20 000 accounts as with 200`()
    throws
  {
    let (some, many) = (try Self.costs(count: 200), try Self.costs(count: 20_000))
    for (name, cost) in some where name != "scan" {
      // A small tolerance, because one of the changes can be the one that shortens the list of
      // changes.
      #expect(abs((many[name] ?? .max) - cost) < 20, "\(name)")
      #expect(cost > 0, "\(name)")
    }
    #expect(try #require(many["scan"]) > 50 * (try #require(some["scan"])))
  }

  @Test func `The database answers every question as a store in memory does`() throws {
    let test = try Case(count: 150)
    let all = try test.store.snapshot(.usual)
    #expect(all.accounts.count == 151)
    func expectSame<Answer: Equatable>(
      _ question: (any StoreReader) throws(Problem) -> Answer, _ line: Int = #line
    ) throws {
      let answer = try test.store.read(.usual) { reader throws(Problem) in
        // A store with more than a hundred accounts is queried in the database, not in a snapshot.
        if reader is AccountStore.Snapshot { throw Problem(.internal, "It is small.") }
        return try question(reader)
      }
      #expect(try answer == question(all), "line \(line)")
    }
    for id in ["a_1", "a_2", "a_150", "a_151", ""] {
      try expectSame { reader throws(Problem) in try reader.account(Account.ID(rawValue: id)) }
    }
    for provider in ["example", "exampl\u{65}\u{301}", "other", nil] {
      for (after, limit) in [(Int64.min, 5), (0, 500), (77, 20), (150, 20), (151, 20)] {
        try expectSame { reader throws(Problem) in
          try reader.accounts(of: provider, after: after, limit: limit)
        }
      }
    }
    for limit in [1, 101, 500] {
      try expectSame { reader throws(Problem) in
        try reader.lastUsedAccounts(of: "example", limit: limit)
      }
    }
    for application in ["caf\u{E9}7", "cafe\u{301}7", "caf\u{E9}"] {
      let place = AccessGrant.Place(provider: "example", application: application)
      try expectSame { reader throws(Problem) in try reader.grant(place) }
      try expectSame { reader throws(Problem) in try reader.grants(after: place, limit: 7) }
      try expectSame { reader throws(Problem) in
        try reader.preferredAccount(of: "example", by: application)
      }
    }
    try expectSame { reader throws(Problem) in try reader.grants(after: nil, limit: 500) }
    try expectSame { reader throws(Problem) in
      try reader.accounts(of: "example", subject: "subject9", limit: 2)
    }
    for username in ["user9", "USER9", ""] {
      try expectSame { reader throws(Problem) in
        try reader.accounts(of: "example", username: username, limit: 2)
      }
    }
    for prefix in ["https://example.com", "https://example.com/7", "https://b.example", "%", ""] {
      try expectSame { reader throws(Problem) in
        try reader.accounts(withResourceBelow: prefix)
      }
    }
    try expectSame { reader throws(Problem) in try reader.revision }
  }
}
