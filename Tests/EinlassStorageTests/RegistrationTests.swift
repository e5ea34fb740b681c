import Einlass
import EinlassCrypto
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// The registrations of `providers.configure`, and credentials for different resources.
struct RegistrationTests {
  typealias Kind = AccountStoreTests.Kind
  typealias Case = AccountStoreTests.Case

  private static let registration = StoredRegistration(
    provider: "example",
    registration: ClientRegistration(
      clientID: "app", clientSecret: Secret("registration-secret"),
      redirect: "http://127.0.0.1/callback", privateKey: Secret("registration-key"),
      authentication: "client_secret_post"),
    origins: ["https://b.example.com", "https://a.example.com"], isIssued: true, expiresAt: 9)

  @Test(arguments: Kind.allCases)
  func `A registration is stored unchanged, replaced and removed`(_ kind: Kind) throws {
    let test = try Case(kind)
    #expect(try test.store.registrations.get("example", nil, .usual) == nil)
    #expect(try test.store.registrations.set("example", nil, nil, .usual) == 0)
    #expect(try test.store.registrations.set("example", nil, Self.registration, .usual) == 1)
    #expect(try test.next.registrations.get("example", nil, .usual) == Self.registration)
    #expect(try test.next.snapshot(.usual).registrations == [Self.registration.known])
    #expect(Self.registration.known.origins == ["https://a.example.com", "https://b.example.com"])
    // A registration without secrets, for a provider whose id differs only in case.
    let open = StoredRegistration(
      provider: "Example", registration: ClientRegistration(clientID: "open"), origins: [])
    _ = try test.store.registrations.set("Example", nil, open, .usual)
    var other = Self.registration
    other.registration = ClientRegistration(clientID: "other")
    #expect(try test.store.registrations.set("example", nil, other, .usual) == 3)
    #expect(try test.next.registrations.get("example", nil, .usual) == other)
    #expect(try test.next.registrations.get("Example", nil, .usual) == open)
    #expect(try test.next.snapshot(.usual).registrations.map(\.hasSecret) == [false, false])
    #expect(try test.store.registrations.set("example", nil, nil, .usual) == 4)
    #expect(try test.store.registrations.set("example", nil, nil, .usual) == 4)
    #expect(try test.next.registrations.get("example", nil, .usual) == nil)
  }

  @Test(arguments: Kind.allCases)
  func
    `A flow's registration stands beside the general one, and each is replaced and removed alone`(
      _ kind: Kind
    ) throws
  {
    let test = try Case(kind)
    var own = Self.registration
    (own.flow, own.isIssued) = (.deviceCode, false)
    own.registration.clientID = "device"
    for stored in [own, Self.registration] {
      _ = try test.store.registrations.set("example", stored.flow, stored, .usual)
    }
    #expect(try test.next.registrations.get("example", .deviceCode, .usual) == own)
    #expect(try test.next.registrations.get("example", nil, .usual) == Self.registration)
    #expect(try test.next.registrations.get("example", .oauth1, .usual) == nil)
    #expect(
      try test.next.read { reader throws(Problem) in try reader.registrations(at: "example") }
        .map(\.flow).contains(.deviceCode))
    // An issued one replaces the issued one, beside that of a person.
    var other = Self.registration
    other.registration.clientID = "other"
    _ = try test.store.registrations.set("example", nil, other, .usual)
    if kind != .memory { _ = try test.store.maintenance.rotateKey { _, _ in } }
    #expect(try test.next.registrations.get("example", .deviceCode, .usual) == own)
    #expect(try test.next.registrations.get("example", nil, .usual) == other)
    _ = try test.store.registrations.set("example", nil, nil, .usual)
    #expect(try test.next.registrations.get("example", nil, .usual) == nil)
    #expect(try test.next.snapshot(.usual).registrations == [own.known])
    let batch = AccountStore.Batch(
      accounts: [], registrations: [other, own], replacesRegistrations: false)
    #expect(try test.store.addAll(batch, .usual).registrations == ["example"])
    _ = try test.store.registrations.set("example", .deviceCode, nil, .usual)
    #expect(try test.next.snapshot(.usual).registrations == [other.known])
  }

  @Test func `A store of before opens, and its registration is the general one`() throws {
    let home = try StoreHome()
    _ = try home.store().registrations.set("example", nil, Self.registration, .usual)
    let tool = SQLiteTool(path: home.database)
    try tool.run(StoreHome.withoutFlowRegistrations)
    #expect(try tool.run("PRAGMA user_version") == ["\(Migrations.released.schema - 1)"])
    #expect(try home.store().registrations.get("example", nil, .usual) == Self.registration)
    #expect(try home.store().maintenance.check { _, _ in }.isSound)
    #expect(try tool.run("PRAGMA user_version") == ["\(Migrations.released.schema)"])
  }

  @Test(arguments: Kind.allCases)
  func `A registration of a batch is skipped if one exists, unless it replaces that one`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    var other = Self.registration
    other.registration.clientID = "other"
    func add(_ registration: StoredRegistration, replaces: Bool = false) throws -> [String] {
      try test.store.addAll(
        .init(accounts: [], registrations: [registration], replacesRegistrations: replaces), .usual
      ).registrations
    }
    #expect(try add(Self.registration) == ["example"])
    #expect(try add(other) == [])
    #expect(try test.next.registrations.get("example", nil, .usual) == Self.registration)
    #expect(try add(other, replaces: true) == ["example"])
    #expect(try test.next.registrations.get("example", nil, .usual) == other)
  }

  @Test(arguments: [(usesLeft: 5, isPossible: true), (usesLeft: 4, isPossible: false)])
  func `If the registration of a batch cannot be sealed, none of its accounts is added`(
    _ usesLeft: Int, _ isPossible: Bool
  ) throws {
    let home = try StoreHome()
    _ = try home.store().add(.example("bob"), .usual)
    // Three uses of the key for the account, two for the registration.
    try SQLiteTool(path: home.database).run("UPDATE meta SET encryptions = \((1 << 31) - usesLeft)")
    let batch = AccountStore.Batch(
      accounts: [.example("ada")], registrations: [Self.registration], replacesRegistrations: false)
    let problem = problem { _ = try home.store().addAll(batch, .usual) }
    #expect(problem?.detail == (isPossible ? nil : "refused"))
    let snapshot = try home.store().snapshot(.usual)
    #expect(snapshot.accounts.map(\.username) == (isPossible ? ["bob", "ada"] : ["bob"]))
    #expect(snapshot.registrations.count == (isPossible ? 1 : 0))
  }

  @Test(arguments: Kind.allCases)
  func `A dynamic registration never replaces the registration of a person`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    var own = Self.registration
    own.isIssued = false
    _ = try test.store.registrations.set("example", nil, own, .usual)
    #expect(try test.store.registrations.set("example", nil, Self.registration, .usual) == 1)
    #expect(try test.next.registrations.get("example", nil, .usual) == own)
    let batch = AccountStore.Batch(
      accounts: [.example("ada")], registrations: [Self.registration], replacesRegistrations: true)
    #expect(try test.store.addAll(batch, .usual).registrations == [])
    #expect(try test.next.registrations.get("example", nil, .usual) == own)
    _ = try test.store.remove(test.next.snapshot(.usual).accounts[0].id, .usual)
    let revision = try test.next.snapshot(.usual).revision
    own.registration.clientID = "another"
    #expect(try test.store.registrations.set("example", nil, own, .usual) == revision + 1)
    #expect(try test.store.registrations.set("example", nil, nil, .usual) == revision + 2)
    #expect(
      try test.store.registrations.set("example", nil, Self.registration, .usual) == revision + 3)
  }

  /// Edits by a program without the key, and whether the registration still opens.
  static let edits: [(sql: String, opens: Bool)] = [
    ("UPDATE registration SET client_id = 'app'", true),  // negative control
    ("UPDATE registration SET client_id = 'other'", false),
    ("UPDATE registration SET bound_origins = 'https://evil.example' || char(10)", false),
    ("UPDATE registration SET redirect = 'http://127.0.0.1:1/'", false),
    ("UPDATE registration SET authentication = 'none'", false),
    ("UPDATE registration SET key_id = 'other'", false),
    ("UPDATE registration SET provider = 'twitter'", false),
    ("UPDATE registration SET flow = 'deviceCode'", false),
    ("UPDATE registration SET issued = 0", false),
    ("UPDATE registration SET expires_at = NULL", false),
    ("UPDATE registration SET private_key = NULL", false),
    ("UPDATE registration SET client_secret = private_key", false),
  ]

  @Test(arguments: edits)
  func `An edit without the key makes a registration unusable, and a check finds it`(
    _ sql: String, _ opens: Bool
  ) throws {
    let home = try StoreHome()
    _ = try home.store().registrations.set("example", nil, Self.registration, .usual)
    try SQLiteTool(path: home.database).run(sql)
    let store = home.store()
    let problem = problem {
      for provider in ["example", "twitter"] {
        for flow in [nil, FlowKind.deviceCode] {
          _ = try store.registrations.get(provider, flow, .usual)
        }
      }
    }
    #expect(problem?.detail == (opens ? nil : "decryptFailed"))
    let check = try store.maintenance.check { _, _ in }
    #expect(check.isSound == opens && check.sealedValues >= 1)
    let secrets = ["registration-secret", "registration-key"]
    let said = (problem?.message ?? "") + check.findings.map(\.message).joined()
    #expect(!secrets.contains { said.contains($0) })
  }

  @Test func `Registrations survive rotation and backup, and no file contains their secrets`()
    throws
  {
    let home = try StoreHome()
    let store = home.store()
    _ = try store.registrations.set("example", nil, Self.registration, .usual)
    let copied = home.path + "/copy.db"
    _ = try store.maintenance.backup(copied) { _, _ in }
    let tool = SQLiteTool(path: home.database)
    let sealed = "SELECT hex(client_secret) || hex(private_key) FROM registration"
    let before = try tool.run(sealed)
    #expect(try store.maintenance.rotateKey { _, _ in }.sealedValues == 2)
    #expect(try tool.run(sealed) != before)
    #expect(try home.store().registrations.get("example", nil, .usual) == Self.registration)
    #expect(try store.maintenance.status(.usual).keyUses == 2)
    let location = StoreLocation(
      directory: home.path, name: "copy.db", keyDirectory: home.keyDirectory)
    let copy = SQLiteAccountStore.store(location: location, choice: .usual)
    #expect(try copy.registrations.get("example", nil, .usual) == Self.registration)
    for path in [home.database, home.database + "-wal", copied] {
      let bytes = FileManager.default.contents(atPath: path) ?? Data()
      #expect(bytes.range(of: Data("registration-".utf8)) == nil)
      #expect(bytes.isEmpty || path.hasSuffix("-wal") || bytes.range(of: Data("app".utf8)) != nil)
    }
  }

  @Test(arguments: Kind.allCases)
  func `Credentials of one registration for two resources never replace each other`(
    _ kind: Kind
  ) throws {
    let test = try Case(kind)
    let places = [nil, "https://a.example/mcp", "https://b.example/mcp"]
    var new = AccountStore.NewAccount.example()
    new.credentials = places.map { .oauth2Example($0 ?? "none", resource: $0) }
    let id = try test.store.add(new, .usual).account.id
    #expect(try Set(test.next.contents(id).map(\.resource)) == Set(places))
    #expect(try test.next.snapshot(.usual).accounts[0].resources == places.compactMap(\.self))
    for stored in try test.next.credentials(id) {
      #expect(try test.next.credentials(id, stored.place, .usual) == [stored])
    }
    let elsewhere = AccountStore.Place(
      new.credentials[0].place.clientID, resource: "https://c.example")
    #expect(try test.next.credentials(id, elsewhere, .usual) == [])
    let first = try #require(
      try test.next.credentials(id).first { $0.resource == "https://a.example/mcp" })
    let settlement = AccountStore.Settlement(
      basis: [first], credential: .oauth2Example("later", resource: first.resource))
    #expect(try test.store.settle(id, settlement) != nil)
    // The basis is outdated now. An empty basis is outdated too, because a credential exists.
    #expect(try test.store.settle(id, settlement) == nil)
    let blind = AccountStore.Settlement(basis: [], credential: settlement.credential)
    #expect(try test.store.settle(id, blind) == nil)
    let stored = try test.next.contents(id)
    #expect(stored.count == 3)
    #expect(stored.contains(.oauth2Example("none")))
    #expect(stored.contains(.oauth2Example("later", resource: "https://a.example/mcp")))
    let refusal = AccountStore.Settlement(
      basis: try test.next.credentials(id).filter { $0.resource == nil }, isRefusal: true)
    _ = try test.store.settle(id, refusal)
    #expect(try test.next.contents(id).filter(\.isRefused).map(\.resource) == [nil])
    _ = try test.store.forgetCredentials(id)
    #expect(try test.next.snapshot(.usual).accounts[0].resources == [])
  }

  @Test(arguments: Kind.allCases)
  func `An account has the scopes of its newest credential without a resource`(_ kind: Kind) throws
  {
    func credential(_ scopes: [String], clientID: String = "APP", resource: String? = nil)
      -> StoredCredential
    {
      var stored = StoredCredential.oauth2Example("t", clientID: clientID, resource: resource)
      if case .oauth2(var token) = stored.credential {
        token.scopes = scopes
        stored.credential = .oauth2(token)
      }
      return stored
    }
    let test = try Case(kind)
    var new = AccountStore.NewAccount.example("ada", subject: "1", replacesExisting: true)
    new.credentials = [
      credential(["z"], clientID: "APP2"), credential(["a", "b\nc"]),
      credential(["photos"], resource: "https://a.example/mcp"),
    ]
    let id = try test.store.add(new, .usual).account.id
    func scopes() throws -> [String] { try test.next.snapshot(.usual).accounts[0].scopes }
    let written = try scopes()
    #expect(written.first == "a" && written.count == 2)
    let own = try test.next.credentials(id).filter { $0.resource == nil }
    let settlement = AccountStore.Settlement(
      basis: own.filter { $0.place == credential([]).place }, credential: credential(["less"]))
    #expect(try test.store.settle(id, settlement) != nil)
    #expect(try scopes() == ["less"])
    new.credentials = [credential([])]
    _ = try test.store.add(new, .usual)
    #expect(try scopes() == [])
    _ = try test.store.forgetCredentials(id)
    #expect(try scopes() == [])
  }

  @Test func `A token is not moved to another resource by an edit`() throws {
    let home = try StoreHome()
    var new = AccountStore.NewAccount.example()
    new.credentials = [.oauth2Example("s", resource: "https://a.example")]
    let id = try home.store().add(new, .usual).account.id
    let tool = SQLiteTool(path: home.database)
    for resource in ["https://b.example", ""] {
      try tool.run("UPDATE credential SET resource = '\(resource)'")
      #expect(problem { _ = try home.store().credentials(id) }?.detail == "decryptFailed")
      let place = AccountStore.Place(new.credentials[0].place.clientID, resource: resource)
      #expect(
        problem { _ = try home.store().credentials(id, place, .usual) }?.detail == "decryptFailed")
    }
    try tool.run("UPDATE credential SET resource = 'https://a.example'")  // negative control
    #expect(try home.store().contents(id) == new.credentials)
  }

  @Test(arguments: Kind.allCases)
  func `A token's proof key is stored with it`(_ kind: Kind) throws {
    let test = try Case(kind)
    var new = AccountStore.NewAccount.example()
    guard case .oauth2(var token) = StoredCredential.oauth2Example("s").credential else { return }
    token.proofKey = Secret("s-proof")
    new.credentials = [.oauth2Example("s")]
    new.credentials[0].credential = .oauth2(token)
    let id = try test.store.add(new, .usual).account.id
    #expect(try test.next.contents(id) == new.credentials)
    if kind != .memory {
      #expect(try test.store.maintenance.rotateKey { _, _ in }.sealedValues == 4)
      #expect(try test.next.contents(id) == new.credentials)
    }
  }
}
