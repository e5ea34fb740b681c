import Einlass
import EinlassCrypto
import EinlassJSON
import EinlassRPC
import EinlassSystem
import Testing

@testable import EinlassServer

@Suite struct SharedSnapshotTests {
  /// A store that counts its requests. Its revision grows with every grant.
  static func store(
    asked: Lock<Int>, revision: Lock<Int64>
  ) -> AccountStore {
    let unused = Problem(.internal, "Nobody asks for this here.")
    return AccountStore(
      reading: { _, body throws(Problem) in
        asked.withLock { $0 += 1 }
        try body(AccountStore.Snapshot(revision: revision.withLock { $0 }))
      },
      changes: { _, _ throws(Problem) in throw unused },
      add: { _, _ throws(Problem) in throw unused },
      addAll: { _, _ throws(Problem) in throw unused },
      update: { _, _, _ throws(Problem) in throw unused },
      remove: { _, _ throws(Problem) in throw unused },
      decide: { _, _, _ in
        revision.withLock {
          $0 += 1
          return $0
        }
      },
      credentials: { _, _, _ throws(Problem) in throw unused },
      settle: { _, _ throws(Problem) in throw unused },
      forgetCredentials: { _ throws(Problem) in throw unused },
      setPreferred: { _, _, _, _ throws(Problem) in throw unused },
      lease: { _ throws(Problem) in throw unused },
      requireWritable: { () throws(Problem) in throw unused },
      registrations: RegistrationStore(failing: unused),
      protection: { _ throws(Problem) in throw unused },
      maintenance: StoreMaintenance(failing: unused),
      begunRenewals: .none,
      failedSignIns: .none,
      avatars: AvatarFiles(failing: unused),
      ownServers: OwnServerStore(failing: unused), users: UserStore(failing: unused))
  }

  @Test func `The requests of one read ask the store once, and those of the next read ask again`()
    throws
  {
    let asked = Lock(0)
    let shared = SharedSnapshot()
    let store = Self.store(asked: asked, revision: Lock(1)).sharing(shared)
    for _ in 0..<3 { _ = try store.revision(.none) }
    #expect(asked.withLock { $0 } == 1)
    shared.forget()
    _ = try store.revision(.none)
    #expect(asked.withLock { $0 } == 2)
  }

  @Test
  func `With no patience the audit key is asked for once a read, and otherwise for each request`()
    throws
  {
    let asked = Lock<Int64>(0)
    let usual = Self.store(asked: Lock(0), revision: Lock(1))
    var maintenance = usual.maintenance
    maintenance.auditKey = { _ in
      asked.withLock {
        $0 += 1
        return Secret(String($0))
      }
    }
    let shared = SharedSnapshot()
    let store = usual.with(maintenance: maintenance).sharing(shared)
    func keys(_ patience: AccountStore.Patience) throws -> [Secret?] {
      try (0..<2).map { _ in try store.maintenance.auditKey(patience) }
    }
    #expect(try keys(.none) == [Secret("1"), Secret("1")])
    shared.forget()
    #expect(try keys(.none) == [Secret("2"), Secret("2")])
    #expect(try keys(.usual) == [Secret("3"), Secret("4")])
  }

  @Test func `A change of this process is seen by the next request of the same read`() throws {
    let store = Self.store(asked: Lock(0), revision: Lock(1)).sharing(SharedSnapshot())
    #expect(try store.revision(.none) == 1)
    let grant = AccessGrant(
      application: "editor", provider: "example", state: .granted, permissions: [], changedAt: 0)
    _ = try store.setGrant(grant, .none)
    #expect(try store.revision(.none) == 2)
  }

  @Test func `A request that may wait always asks the store`() throws {
    let asked = Lock(0)
    let store = Self.store(asked: asked, revision: Lock(1)).sharing(SharedSnapshot())
    for _ in 0..<3 { _ = try store.revision(.usual) }
    #expect(asked.withLock { $0 } == 3)
  }

  @Test(arguments: [
    (#"{}"#, 2, false), (#"{"provider":"one"}"#, 1, false), (#"{"limit":1}"#, 1, true),
    (#"{"cursor":"1"}"#, 1, false),
  ])
  func `The kept page answers only the question it was made for`(
    params: String, count: Int, goesOn: Bool
  ) throws {
    let snapshot = AccountStore.Snapshot(
      revision: 5,
      accounts: [("one", 1), ("two", 2)].map { provider, position in
        Account(
          id: Account.ID(rawValue: "a_\(position)"), provider: provider, username: "ada",
          isSignedIn: true, addedAt: 0, position: position)
      })
    let last = LastAccounts()
    let all = try AccountsQuestion([:], of: "editor")
    let question = try AccountsQuestion(
      try JSONReader.read(Array(params.utf8)).object ?? [:], of: "editor")
    for _ in 0..<2 {
      #expect(
        try last.page(all, snapshot, { .none }, .silent, at: 0)["accounts"]?.array?.count == 2)
      let page = try last.page(question, snapshot, { .none }, .silent, at: 0)
      #expect(page["accounts"]?.array?.count == count)
      #expect((page["nextCursor"] != nil) == goesOn)
      #expect(
        try last.page(question, AccountStore.Snapshot(revision: 6), { .none }, .silent, at: 0)[
          "revision"] == 6
      )
    }
  }

  @Test(arguments: [(Account.Health.ok, 0), (.reloginNeeded, 2)])
  func `The kept page has no step that depends on the catalogue`(
    health: Account.Health, looks: Int
  ) throws {
    let account = Account(
      id: Account.ID(rawValue: "a_1"), provider: "one", username: "ada", health: health,
      isSignedIn: true, addedAt: 0, position: 1)
    let snapshot = AccountStore.Snapshot(revision: 5, accounts: [account])
    let last = LastAccounts()
    var count = 0
    for _ in 0..<2 {
      _ = try last.page(
        .init([:], of: "editor"), snapshot,
        {
          count += 1
          return .none
        }, .silent, at: 0)
    }
    #expect(count == looks)
  }

  @Test func `The kept page shows no refusal that has ended`() throws {
    var account = Account(
      id: Account.ID(rawValue: "a_1"), provider: "one", username: "ada", isSignedIn: true,
      addedAt: 0, position: 1)
    account.serviceRefusals = [
      .init(of: .init("APP", resource: ""), by: "https://git.example.com", endsAt: 10),
      .init(of: .init("APP", resource: ""), by: "", endsAt: 10),
    ]
    let snapshot = AccountStore.Snapshot(revision: 5, accounts: [account])
    let last = LastAccounts()
    for (now, count) in [(9, 1), (10, nil)] as [(UnixTime, Int?)] {
      let page = try last.page(.init([:], of: "editor"), snapshot, { .none }, .silent, at: now)
      #expect(page["accounts"]?.array?[0]["refusals"]?.array?.count == count)
    }
  }
}

extension AccountStore {
  fileprivate func revision(_ patience: Patience) throws -> Int64 {
    try read(patience) { reader throws(Problem) in try reader.revision }
  }
}
