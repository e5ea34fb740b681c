import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// The exchange of a valid token for a longer-lived one at a provider without refresh tokens.
@Suite struct TokenExchangeTests {
  static let account = Account.ID(rawValue: "a_ada")
  static let exchange = "POST https://graph.facebook.com/v26.0/oauth/access_token"
  static let longLived =
    #"{"access_token":"LONG","token_type":"bearer","expires_in":5183944}"#

  /// An account with a token from a sign-in in the browser.
  static func store(endsIn seconds: Int64?, isRefused: Bool = false) -> ScriptedStore {
    ScriptedStore(
      accounts: [Sample.account("ada", "facebook")], grants: Sample.grants("facebook", .granted),
      credentials: [
        account: [
          StoredCredential(
            role: .application, registration: ClientRegistration(clientID: "APP"),
            credential: .oauth2(
              OAuth2Credential(
                accessToken: Secret("SHORT"), scopes: ["email"],
                expiresAt: seconds.map { Script.now + $0 })),
            binding: ProviderBinding(
              origins: ["https://graph.facebook.com"], clientID: "APP", flowKind: .authorizationCode
            ),
            isRefused: isRefused)
        ]
      ])
  }

  func token(_ script: Script, _ request: CredentialRequest = RetrievalTests.request("ada"))
    async throws -> String?
  {
    let result = try await Sample.engine(script).credential(request)
    guard case .oauth2(let token)? = result.credential else { return nil }
    return String(decoding: token.accessToken.reveal(), as: UTF8.self)
  }

  @Test(
    "A token with a day left is exchanged, with the application's secret",
    arguments: [(7200, true), (86_400, true), (86_401, false), (nil, false)] as [(Int64?, Bool)])
  func when(seconds: Int64?, isExchanged: Bool) async throws {
    let script = Script([.json(Self.longLived)], store: Self.store(endsIn: seconds))
    #expect(try await token(script) == (isExchanged ? "LONG" : "SHORT"))
    guard isExchanged else { return #expect(script.requests.isEmpty) }
    #expect(script.log.contains("save application APP"))
    #expect(
      FormEncoding.decode(script.requests[0].body, plus: .space) == [
        Parameter("grant_type", "fb_exchange_token"), Parameter("fb_exchange_token", "SHORT"),
        Parameter("client_id", "APP"), Parameter("client_secret", "APP-SECRET"),
      ])
    let stored = script.store.credentials(of: Self.account).first?.credential
    guard case .oauth2(let kept)? = stored else { return #expect(Bool(false)) }
    #expect(kept.scopes == ["email"] && kept.expiresAt == Script.now + 5_183_944)
  }

  @Test(
    "An expired or refused token is not sent, because only a new sign-in can help",
    arguments: [store(endsIn: 0), store(endsIn: -1), store(endsIn: nil, isRefused: true)])
  func over(store: ScriptedStore) async throws {
    for forced in [false, true] {
      let script = Script(store: store)
      let problem = await #expect(throws: Problem.self) {
        try await token(script, RetrievalTests.request("ada", forced: forced))
      }
      #expect(problem?.reason == .reloginNeeded && script.requests.isEmpty)
      guard
        case .failed(let why) = try await Sample.engine(script).renew(
          RetrievalTests.request("ada"))
      else { return #expect(Bool(false)) }
      #expect(why.reason == .reloginNeeded && script.requests.isEmpty)
    }
  }

  @Test func `A refused token requires a new sign-in, and no error shows the token`()
    async throws
  {
    let refusal = """
      {"error":{"message":"SHORT has expired","type":"OAuthException","code":190,"error_subcode":463}}
      """
    let script = Script([.json(refusal, status: 400)], store: Self.store(endsIn: 100))
    let problem = await #expect(throws: Problem.self) { try await token(script) }
    #expect(problem?.reason == .reloginNeeded && problem?.serverError?.subcode == "463")
    #expect(problem?.serverError?.text?.hasPrefix("SHORT") == false)
    #expect(script.store.accounts[0].health == .reloginNeeded)
  }

  @Test func `A valid token is still handed out if the exchange fails`() async throws {
    let refusal = #"{"error":{"message":"Invalid parameter","type":"OAuthException","code":100}}"#
    for answer in [Script.Reply.text("busy", status: 503), .json(refusal, status: 400)] {
      let script = Script([answer], store: Self.store(endsIn: 100))
      #expect(try await token(script) == "SHORT")
    }
  }

  @Test func `After an exchange that gains no time, no further one is tried for an hour`()
    async throws
  {
    let noted = Noted()
    var request = RetrievalTests.request("ada")
    request.pause = RetryPause(problem: { _ in noted.problem }, note: { noted.problem = $1 })
    let same = #"{"access_token":"SAME","token_type":"bearer","expires_in":7000}"#
    let script = Script([.json(same)], store: Self.store(endsIn: 7200))
    for _ in 0..<3 { #expect(try await token(script, request) == "SAME") }
    #expect(script.requests.count == 1 && noted.problem?.retryAfterSeconds == 3600)
    // Negative control: a longer-lived token causes no pause.
    let other = Script([.json(Self.longLived)], store: Self.store(endsIn: 7200))
    noted.problem = nil
    #expect(try await token(other, request) == "LONG" && noted.problem == nil)
  }

  private final class Noted: @unchecked Sendable {
    var problem: Problem?
  }
}
