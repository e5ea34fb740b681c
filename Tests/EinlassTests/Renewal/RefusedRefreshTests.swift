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
