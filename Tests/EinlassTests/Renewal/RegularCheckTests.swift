import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// The check that a provider demands of its tokens, such as Twitch each hour.
struct RegularCheckTests {
  private static let check = "GET https://sequencing.com/validate"

  private static func catalog(_ change: JSONObject = [:]) throws -> ProviderCatalog {
    let usual: JSONObject = [
      "recipe": "tokenInfo", "clientId": "/client_id", "everySeconds": 3600,
      "request": [
        "method": "GET", "url": "https://sequencing.com/validate",
        "headers": ["Authorization": "OAuth {token}"],
      ],
    ]
    let verify = JSONValue.object(usual).merging(.object(change))
    let identity: JSONValue = [
      "request": ["method": "GET", "url": "https://sequencing.com/me", "bearer": "{token}"],
      "id": "/id", "required": ["id"],
    ]
    return try .builtIn.changed(by: ["sequencing": ["verify": verify, "identity": identity]])
  }

  private static func world(
    _ replies: [Script.Reply], endsIn seconds: Int64? = 100_000
  ) throws -> (Script, Einlass) {
    let script = Script(replies, store: RefreshTests.store(endsIn: seconds))
    let engine = Einlass(
      catalog: try catalog(), store: script.store.accountStore, effects: script.effects)
    return (script, engine)
  }

  private func token(_ engine: Einlass) async throws -> Secret? {
    let result = try await engine.credential(RetrievalTests.request("ada"))
    guard case .oauth2(let token)? = result.credential else { return nil }
    return token.accessToken
  }

  private func requests(_ script: Script) -> [String] {
    script.log.filter { $0.hasPrefix("GET") || $0.hasPrefix("POST") }
  }

  @Test func `A token is checked before its first use and an hour after the last check`()
    async throws
  {
    let good = Script.Reply.json(#"{"client_id":"APP"}"#)
    let (script, engine) = try Self.world([good, good, good])
    for (seconds, checks) in [(0, 1), (3599, 1), (1, 2), (0, 2), (-7200, 3)] as [(Int64, Int)] {
      script.advance(seconds: seconds)
      #expect(try await token(engine) == Secret("OLD"))
      #expect(requests(script) == Array(repeating: Self.check, count: checks))
    }
    #expect(script.requests[0].headers.contains(.init("Authorization", "OAuth OLD")))
  }

  @Test func `Of two requests at once, the one that waits for the other refreshes nothing`()
    async throws
  {
    let (script, engine) = try Self.world(
      [Script.Reply](repeating: .json(#"{"client_id":"APP"}"#), count: 2))
    async let first = token(engine)
    async let second = token(engine)
    let tokens = try await [first, second]
    #expect(tokens == [Secret("OLD"), Secret("OLD")])
    #expect(Set(requests(script)) == [Self.check])
  }

  @Test func `A token that the check refuses is refreshed, and the new one is checked`()
    async throws
  {
    let (script, engine) = try Self.world([
      .text("{}", status: 401), .json(RefreshTests.fresh), .json(#"{"client_id":"APP"}"#),
    ])
    #expect(try await token(engine) == Secret("NEW"))
    #expect(requests(script) == [Self.check, RefreshTests.refresh])
    #expect(try await token(engine) == Secret("NEW"))
    #expect(requests(script).count == 3)
  }

  @Test(arguments: [503, 404, 403])
  func `A check without a result costs no token, and is repeated after a minute`(status: Int)
    async throws
  {
    let (script, engine) = try Self.world(
      [Script.Reply](repeating: .text("{}", status: status), count: 2))
    for (seconds, checks) in [(0, 1), (59, 1), (1, 2)] as [(Int64, Int)] {
      script.advance(seconds: seconds)
      #expect(try await token(engine) == Secret("OLD"))
      #expect(requests(script).count == checks)
    }
  }

  @Test func `Without the word, no token is checked`() async throws {
    let script = Script(store: RefreshTests.store(endsIn: 100_000))
    let engine = Einlass(
      catalog: try Self.catalog(["everySeconds": .null]), store: script.store.accountStore,
      effects: script.effects)
    #expect(try await token(engine) == Secret("OLD") && script.requests.isEmpty)
  }

  @Test func `A period that is too short or says nothing is refused`() {
    let wrong: [JSONObject] = [
      ["everySeconds": 59], ["everySeconds": 86_401], ["everySeconds": "1 h"],
      ["active": "/active"],
      ["request": ["headers": .null, "query": ["s": "{clientSecret}"], "bearer": "{token}"]],
    ]
    for change in wrong {
      let fault = #expect(throws: ProviderCatalog.Fault.self) { try Self.catalog(change) }
      #expect(fault?.pointer == "/providers/sequencing/verify/everySeconds")
    }
  }
}
