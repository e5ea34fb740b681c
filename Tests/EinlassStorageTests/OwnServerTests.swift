import Einlass
import EinlassCrypto
import EinlassStorage
import TestSupport
import Testing

/// The records about servers of the person's own, in memory and in a file.
@Suite struct OwnServerTests {
  private static let ada = OwnServerStore.Login(server: "https://pbx.example.com", username: "ada")
  private static let eve = OwnServerStore.Login(server: "https://pbx.example.com", username: "eve")
  private static let password = Secret("PASSWORD CANARY")

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `Refusals are counted for each login until it succeeds, and for a day at most`(
    _ kind: AccountStoreTests.Kind
  ) throws {
    let test = try AccountStoreTests.Case(kind)
    #expect(try test.store.ownServers.refusals(Self.ada) == nil)
    try test.store.ownServers.forgetRefusals(Self.ada)
    for time in [1000, 1001] as [UnixTime] {
      try test.next.ownServers.noteRefusal(Self.ada, Self.password, time)
    }
    try test.store.ownServers.noteRefusal(Self.eve, Self.password, 1002)
    #expect(try test.next.ownServers.refusals(Self.ada) == .init(count: 2, lastAt: 1001))
    #expect(try test.next.ownServers.refusals(Self.eve) == .init(count: 1, lastAt: 1002))
    // Another refusal a day later removes the older ones.
    try test.next.ownServers.noteRefusal(Self.eve, Self.password, 1002 + 86_400)
    #expect(try test.next.ownServers.refusals(Self.ada) == nil)
    #expect(try test.next.ownServers.refusals(Self.eve) == .init(count: 2, lastAt: 87_402))
    try test.next.ownServers.forgetRefusals(Self.eve)
    #expect(try test.store.ownServers.refusals(Self.eve) == nil)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `Only the last refused password of the same login is known as refused`(
    _ kind: AccountStoreTests.Kind
  ) throws {
    let test = try AccountStoreTests.Case(kind)
    func isRefused(
      _ text: String, _ login: OwnServerStore.Login = OwnServerTests.ada, since: UnixTime = 1000
    )
      throws -> Bool
    { try test.next.ownServers.isRefused(login, Secret(text), since) }
    #expect(try !isRefused("a"))
    try test.store.ownServers.noteRefusal(Self.ada, Secret("a"), 1000)
    #expect(try isRefused("a"))
    #expect(try !isRefused("b") && !isRefused("a", Self.eve) && !isRefused("a", since: 1001))
    try test.next.ownServers.noteRefusal(Self.ada, Secret("b"), 1000)
    #expect(try isRefused("b") && !isRefused("a"))
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `The last settings of each application and provider are kept`(
    _ kind: AccountStoreTests.Kind
  ) throws {
    let test = try AccountStoreTests.Case(kind)
    let full = ServerSettings(
      server: "pbx.example.com", port: 65535, isSecure: false, usesCookies: true,
      acceptsUntrustedCertificates: true, username: "ada")
    let sparse = ServerSettings(server: "https://other.example.com")
    for settings in [full, sparse, full] {
      try test.next.ownServers.setSettings(settings, "editor", "fcsdk")
      #expect(try test.next.ownServers.settings("editor", "fcsdk", .none) == settings)
    }
    #expect(try test.next.ownServers.settings("other", "fcsdk", .none) == nil)
    #expect(try test.next.ownServers.settings("editor", "other", .none) == nil)
  }

  @Test func `A file with a refusal passes its check, holds no password, and rotates its key`()
    throws
  {
    let home = try StoreHome()
    let store = home.store()
    let copy = home.directory + "/copy.db"
    try store.ownServers.noteRefusal(Self.ada, Self.password, 1000)
    try store.ownServers.setSettings(.init(server: "pbx"), "editor", "fcsdk")
    #expect(try store.maintenance.check { _, _ in }.findings.isEmpty)
    _ = try store.maintenance.backup(copy) { _, _ in }
    #expect(
      try SQLiteTool(path: copy).run(
        "SELECT server FROM server_setting UNION SELECT username FROM login_refusal")
        == ["ada", "pbx"])
    #expect(try store.ownServers.isRefused(Self.ada, Self.password, 1000))
    _ = try store.maintenance.rotateKey { _, _ in }
    // The digest is void, and the count stays.
    #expect(try !store.ownServers.isRefused(Self.ada, Self.password, 1000))
    #expect(try store.ownServers.refusals(Self.ada)?.count == 1)
    #expect(
      try SQLiteTool(path: copy).run(
        "SELECT count(*) FROM login_refusal WHERE instr(digest, 'CANARY')")
        == ["0"])
  }

  @Test func `Settings that were edited without the key are not used`() throws {
    let home = try StoreHome()
    let settings = ServerSettings(server: "pbx", port: 443, isSecure: true, username: "ada")
    try home.store().ownServers.setSettings(settings, "editor", "fcsdk")
    func stored() throws -> ServerSettings? {
      try home.store().ownServers.settings("editor", "fcsdk", .usual)
    }
    _ = try home.store().maintenance.rotateKey { _, _ in }
    #expect(try stored() == settings)  // negative control
    for change in [
      "server = 'evil'", "secure = 0", "port = 444", "username = 'eve'", "digest = NULL",
      "application = 'other'", "accept_untrusted_certificates = 1", "use_cookies = 1",
    ] {
      try home.store().ownServers.setSettings(settings, "editor", "fcsdk")
      try SQLiteTool(path: home.database).run("UPDATE server_setting SET \(change)")
      #expect(try stored() == nil, "\(change)")
      try SQLiteTool(path: home.database).run("DELETE FROM server_setting")
    }
  }

  @Test func `A store that fails says so`() {
    let problem = Problem(.internal, "It fails.")
    let store = OwnServerStore(failing: problem)
    #expect(throws: problem) { try store.refusals(Self.ada) }
    #expect(throws: problem) { try store.isRefused(Self.ada, Self.password, 0) }
    #expect(throws: problem) { try store.noteRefusal(Self.ada, Self.password, 0) }
    #expect(throws: problem) { try store.forgetRefusals(Self.ada) }
    #expect(throws: problem) { try store.settings("a", "b", .none) }
    #expect(throws: problem) { try store.setSettings(.init(server: "a"), "b", "c") }
  }
}
