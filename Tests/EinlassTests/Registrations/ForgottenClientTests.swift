import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// A dynamically registered client at a server that no longer knows it. RFC 7591, RFC 6749 section
/// 5.2.
@Suite struct ForgottenClientTests {
  private static let register = "POST https://as.example/register"
  private static let ask = "POST https://as.example/token"
  private static let unknown = Script.Reply.json(#"{"error":"invalid_client"}"#, status: 401)
  private static let unauthorized = Script.Reply.json(
    #"{"error":"unauthorized_client"}"#, status: 401)
  private static let known = Script.Reply.json(#"{"error":"invalid_grant"}"#, status: 400)
  private static let new = Script.Reply.json(#"{"client_id":"new"}"#, status: 201)
  private static let token = Script.Reply.json(#"{"access_token":"AT","token_type":"Bearer"}"#)

  private static func stored(_ id: String, isIssued: Bool = true) -> StoredRegistration {
    StoredRegistration(
      provider: "as.example",
      registration: ClientRegistration(
        clientID: id, redirect: "http://127.0.0.1:8400/callback", authentication: "none"),
      origins: ["https://as.example"], isIssued: isIssued)
  }

  /// A script with a stored registration. The browser returns a code for the `state` of each of
  /// these draws.
  private static func script(
    _ replies: [Script.Reply], draws: [UInt8], isIssued: Bool = true
  ) throws -> Script {
    let script = Script(
      replies, answers: draws.map { _ in .accept() },
      brought: draws.map {
        "code=CODE&state=\(Base64URL.encode([UInt8](repeating: $0, count: 32)))"
      })
    _ = try script.store.accountStore.registrations.set(
      "as.example", nil, stored("old", isIssued: isIssued), .usual)
    return script
  }

  private static func signIn(_ script: Script) async throws -> Account {
    try await ResourceTests.engine(script).signIn(
      SignInRequest(application: "editor", registration: nil, provider: "as.example"),
      asking: script.asker([.openURL])
    ).account
  }

  private static func kept(_ script: Script) throws -> String? {
    try script.store.accountStore.registrations.get("as.example", nil, .usual)?.registration
      .clientID
  }

  private static func sent(_ script: Script) -> [String] {
    script.log.filter { $0.hasPrefix("POST") }
  }

  @Test func `A forgotten client registers again before the page is opened`()
    async throws
  {
    let script = try Self.script([Self.unknown, Self.new, Self.token], draws: [4])
    let account = try await Self.signIn(script)
    #expect(Self.sent(script) == [Self.ask, Self.register, Self.ask])
    #expect(try Self.kept(script) == "new")
    #expect(script.store.credentials(of: account.id)[0].registration.clientID == "new")
  }

  @Test
  func
    `A client that is forgotten during the sign-in registers again, and the page reopens`()
    async throws
  {
    let script = try Self.script(
      [Self.known, Self.unknown, Self.new, Self.token], draws: [3, 6])
    _ = try await Self.signIn(script)
    #expect(Self.sent(script) == [Self.ask, Self.ask, Self.register, Self.ask])
    #expect(try Self.kept(script) == "new")
  }

  @Test
  func `A server that forgets the new client too is not asked again, and the hint names a way on`()
    async throws
  {
    let script = try Self.script([Self.unknown, Self.new, Self.unknown], draws: [4])
    let problem = await #expect(throws: Problem.self) { try await Self.signIn(script) }
    #expect(Self.sent(script) == [Self.ask, Self.register, Self.ask])
    #expect(problem?.reason == .providerFailure && problem?.hint?.method == "providers.configure")
    #expect(problem?.serverError?.code == "invalid_client")
    let late = try Self.script([Self.known, Self.unknown, Self.new, Self.unknown], draws: [3, 6])
    let other = await #expect(throws: Problem.self) { try await Self.signIn(late) }
    #expect(Self.sent(late) == [Self.ask, Self.ask, Self.register, Self.ask])
    #expect(other?.hint?.method == "providers.configure")
  }

  @Test(
    "Other errors, or no answer, do not replace the registration",
    arguments: [
      known, unauthorized, .json(#"{"error":"invalid_request"}"#, status: 400),
      .json(#"{"error":"unsupported_grant_type"}"#, status: 400),
      .text("invalid_client", status: 401),
      .text("", status: 503), .networkFailure(-1004),
    ])
  func kept(_ reply: Script.Reply) async throws {
    let script = try Self.script([reply, Self.token], draws: [3])
    _ = try await Self.signIn(script)
    #expect(Self.sent(script) == [Self.ask, Self.ask])
    #expect(try Self.kept(script) == "old")
  }

  @Test func `A client that may not use the grant is still known`() async throws {
    let script = try Self.script([Self.known, Self.unauthorized], draws: [3])
    let problem = await #expect(throws: Problem.self) { try await Self.signIn(script) }
    #expect(problem?.serverError?.code == "unauthorized_client")
    #expect(try Self.kept(script) == "old")
  }

  @Test func `A registration from the person is never replaced`() async throws {
    let script = try Self.script([Self.unknown], draws: [2], isIssued: false)
    let problem = await #expect(throws: Problem.self) { try await Self.signIn(script) }
    #expect(problem?.reason == .authenticatorUnconfigured)
    #expect(Self.sent(script) == [Self.ask])
    #expect(try Self.kept(script) == "old")
  }

  @Test func `If the new registration fails, the old one and its tokens stay`()
    async throws
  {
    let script = try Self.script([Self.unknown, .text("", status: 503)], draws: [])
    let problem = await #expect(throws: Problem.self) { try await Self.signIn(script) }
    #expect(problem?.isRetryable == true && problem?.hint?.method == "providers.configure")
    #expect(try Self.kept(script) == "old")
  }
}
