import Einlass
import EinlassStorage
import TestSupport
import Testing

/// The refusals of a credential by services, in every store.
struct ServiceRefusalTests {
  private typealias Case = AccountStoreTests.Case
  typealias Kind = AccountStoreTests.Kind
  private static let now: UnixTime = 1_763_700_000
  private static let service = "https://git.example.com"

  /// Writes refusals by these services of the account's only credential, which end so many seconds
  /// after the time of writing.
  private static func refuse(
    _ services: [String], endsIn seconds: Int64 = 300, at time: UnixTime = now, _ id: Account.ID,
    in store: AccountStore
  ) throws {
    var settlement = AccountStore.Settlement(basis: try store.credentials(id))
    settlement.time = time
    settlement.serviceRefusals = services.map {
      .init(of: settlement.basis[0].place, by: $0, endsAt: time + seconds)
    }
    #expect(try store.settle(id, settlement) != nil)
  }

  private static func services(_ id: Account.ID, in store: AccountStore) throws -> [String] {
    try store.account(id).serviceRefusals.map(\.service).sorted()
  }

  @Test(arguments: Kind.allCases)
  func `A refusal is listed with its account, and a new credential ends it`(_ kind: Kind) throws {
    let test = try Case(kind)
    let id = try test.store.add(.example(), .usual).account.id
    let mark = try test.next.changes(nil, .usual).mark
    try Self.refuse(["", Self.service], id, in: test.next)
    let place = try test.next.credentials(id)[0].place
    #expect(
      try test.next.account(id).serviceRefusals.sorted { $0.service < $1.service } == [
        .init(of: place, by: "", endsAt: Self.now + 300),
        .init(of: place, by: Self.service, endsAt: Self.now + 300),
      ])
    #expect(try test.next.changes(mark, .usual).list == [.account(id, .updated)])
    // An edit leaves it, and the pause of questions outlasts the credential.
    _ = try test.next.update(id, .usual) { $0.displayName = "Ada" }
    #expect(try Self.services(id, in: test.next) == ["", Self.service])
    _ = try test.next.saveCredential(id, .oauth1Example("new"))
    #expect(try Self.services(id, in: test.next) == [""])
  }

  @Test(arguments: Kind.allCases)
  func `Ended refusals, and those of a wrong clock, go with the next one`(_ kind: Kind) throws {
    let test = try Case(kind)
    let id = try test.store.add(.example(), .usual).account.id
    try Self.refuse(["https://a.example"], endsIn: 10, id, in: test.next)
    try Self.refuse(["https://b.example"], endsIn: 11, id, in: test.next)
    try Self.refuse(["https://c.example"], endsIn: 371, id, in: test.next)
    try Self.refuse(["https://d.example"], endsIn: 370, id, in: test.next)
    try Self.refuse([Self.service], at: Self.now + 10, id, in: test.next)
    #expect(
      try Self.services(id, in: test.next) == [
        "https://b.example", "https://d.example", Self.service,
      ])
  }

  @Test(arguments: Kind.allCases)
  func `The time of a failed refresh stays beside other refusals until a new credential`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    let id = try test.store.add(.example(), .usual).account.id
    let mark = try test.next.changes(nil, .usual).mark
    try Self.refuse(["refresh"], endsIn: 0, id, in: test.next)
    try Self.refuse(["refresh refused"], endsIn: 0, at: Self.now + 5, id, in: test.next)
    #expect(try test.next.changes(mark, .usual).list?.last == .account(id, .health))
    // Neither ends by the clock, or counts among the sixteen services.
    let services = (10...25).map { "https://\($0).example" }
    try Self.refuse(services, at: Self.now + 1000, id, in: test.next)
    let account = try test.next.account(id)
    #expect(account.serviceRefusals.count == 18)
    #expect(account.refreshFailsSince == Self.now && account.hasRefusedRefresh)
    // The credential for a protected resource says nothing about the account.
    var other = account
    for index in other.serviceRefusals.indices {
      other.serviceRefusals[index].place.resource = "https://api.example"
    }
    #expect(other.refreshFailsSince == nil && !other.hasRefusedRefresh)
    #expect(
      account.serviceRefusals.allSatisfy { ($0.refresh == nil) == $0.isActive(at: Self.now + 1000) }
    )
    _ = try test.next.saveCredential(id, .oauth1Example("new"))
    #expect(try test.next.account(id).refreshFailsSince == nil)
    #expect(try test.next.account(id).hasRefusedRefresh == false)
  }

  @Test(arguments: Kind.allCases)
  func `A sign-out and a removal take the refusals along`(_ kind: Kind) throws {
    let test = try Case(kind)
    for (name, leaves) in [
      ("ada", { (id: Account.ID) throws in _ = try test.next.forgetCredentials(id) }),
      ("bob", { (id: Account.ID) throws in _ = try test.next.remove(id, .usual) }),
    ] {
      let id = try test.store.add(.example(name), .usual).account.id
      try Self.refuse(["", Self.service], id, in: test.next)
      try leaves(id)
      let left = try test.next.snapshot(.usual).accounts.flatMap(\.serviceRefusals)
      #expect(left.isEmpty)
      guard kind != .memory else { continue }
      let rows = try SQLiteTool(path: test.home.database).run(
        "SELECT count(*) FROM service_refusal")
      #expect(rows == ["0"])
    }
  }

  @Test(arguments: Kind.allCases)
  func `A refused credential without a refresh token is listed with its account`(_ kind: Kind)
    throws
  {
    let test = try Case(kind)
    var new = AccountStore.NewAccount.example()
    new.credentials = [
      .oauth1Example("a"), .oauth2Example("b"),
      .oauth2Example("c", resource: "https://a.example/mcp"),
    ]
    let id = try test.store.add(new, .usual).account.id
    let all = try test.next.credentials(id)
    _ = try test.next.settle(
      id, .init(basis: all.filter { $0.role == .application }, isRefusal: true))
    #expect(try test.next.account(id).refusedResources == [])
    _ = try test.next.settle(id, .init(basis: all.filter { $0.role == .system }, isRefusal: true))
    #expect(try test.next.account(id).refusedResources == [""])
    _ = try test.next.saveCredential(id, .oauth1Example("d"))
    #expect(try test.next.account(id).refusedResources == [])
  }

  @Test func `A refusal with the largest numbers ends no process and refuses nothing`() throws {
    let home = try StoreHome()
    let id = try home.store().add(.example(), .usual).account.id
    try Self.refuse([Self.service], id, in: home.store())
    for end in [Int64.max, .min] {
      try SQLiteTool(path: home.database).run("UPDATE service_refusal SET ends_at = \(end)")
      let refusal = try #require(try home.store().account(id).serviceRefusals.first)
      #expect(refusal.endsAt == end && !refusal.isActive(at: Self.now))
    }
  }
}
