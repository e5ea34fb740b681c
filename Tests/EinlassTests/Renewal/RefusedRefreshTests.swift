import EinlassCrypto
import TestSupport
import Testing

@testable import Einlass

/// Refreshes that the provider refuses without saying that the refresh token is dead.
@Suite struct RefusedRefreshTests {
  @Test
  func `The time of the first failure is stored with the credential, and a refusal beside it`()
    async throws
  {
    let script = Script(
      [
        .text("busy", status: 503), .text("busy", status: 503),
        .json(#"{"error":"invalid_request"}"#, status: 400),
      ], store: RefreshTests.store(endsIn: 0))
    var marks: [[ServiceRefusal.Refresh]] = []
    for _ in 0..<3 {
      _ = try? await Sample.engine(script).credential(RetrievalTests.request("ada"))
      marks.append(script.store.accounts[0].serviceRefusals.compactMap(\.refresh))
    }
    #expect(marks == [[.failed], [.failed], [.failed, .refused]])
    #expect(script.store.accounts[0].refreshFailsSince != nil)
    #expect(script.store.accounts[0].health == .ok)
  }

  @Test(arguments: ["", #"{"error":"invalid_request"}"#], [true, false])
  func `The refusal of a token counts only while it is the stored one`(
    body: String, isReplaced: Bool
  ) async throws {
    let store = RefreshTests.store(endsIn: 0)
    let script = Script(
      Array(repeating: .text(body, status: 400), count: body.isEmpty ? 2 : 1), store: store)
    var newer = store.credentials(of: RefreshTests.account)[0]
    newer.credential = .oauth2(OAuth2Credential(accessToken: Secret("NEWER")))
    newer.generation = 7
    let effects = script.effects.with(send: {
      [send = script.effects.send, newer] request throws(Problem) in
      if isReplaced { store.put(newer, of: RefreshTests.account) }
      return try await send(request)
    })
    let engine = Einlass(
      catalog: ProviderCatalog.builtIn, store: store.accountStore, effects: effects)
    let result = try? await engine.credential(RetrievalTests.request("ada"))
    #expect(result?.credential == (isReplaced ? newer.credential : nil))
    #expect(store.accounts[0].serviceRefusals.isEmpty == isReplaced)
    #expect(script.unusedReplyCount == 0)
  }

  @Test(arguments: ["invalid", "target", "zzz"])
  func `A code that holds the refresh token is compared as a whole`(refreshToken: String)
    async throws
  {
    let script = Script(
      [.json(#"{"error":"invalid_target"}"#, status: 400)],
      store: RefreshTests.store(endsIn: 0, refreshToken: refreshToken))
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).credential(RetrievalTests.request("ada"))
    }
    #expect(problem?.reason == .providerFailure)
    #expect((problem?.serverError?.code == "invalid_target") == (refreshToken == "zzz"))
  }
}
