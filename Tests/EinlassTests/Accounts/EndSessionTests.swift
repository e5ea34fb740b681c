import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// OpenID Connect RP-Initiated Logout 1.0: the address that a sign-out returns for the browser.
@Suite struct EndSessionTests {
  private static func descriptor(_ more: String) -> String {
    """
    {"id":"op","name":"OP","setup":{"documentation":"https://op.example/"},"accounts":"many",\
    "registration":["clientId"],"flows":[{"kind":"deviceCode",\
    "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"}\(more)}]}
    """
  }

  private static func store(of origin: String = "https://op.example") -> ScriptedStore {
    let account = Sample.account("ada", "op")
    let token = OAuth2Credential(
      accessToken: Secret("AT"), refreshToken: Secret("RT"), idToken: Secret("ID-TOKEN"))
    return ScriptedStore(
      accounts: [account],
      credentials: [
        account.id: [
          StoredCredential(
            role: .application, registration: ClientRegistration(clientID: "A&PP"),
            credential: .oauth2(token),
            binding: ProviderBinding(
              origins: [origin], clientID: "A&PP", flowKind: .deviceCode))
        ]
      ])
  }

  private func report(
    _ store: ScriptedStore, _ words: String, revokes: Bool = true
  ) async throws -> Revocation {
    let script = Script(store: store)
    return try await Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.descriptor(words)),
      store: store.accountStore, effects: script.effects
    ).signOut(Account.ID(rawValue: "a_ada"), revokes: revokes)
  }

  @Test(arguments: [
    (#","endSession":"https://op.example/out""#, "https://op.example/out?client_id=A%26PP"),
    // Another host is allowed, because this address receives no credential.
    (
      #","endSession":"https://www.op.example/?a=b""#,
      "https://www.op.example/?a=b&client_id=A%26PP"
    ),
    ("", nil),
  ])
  func `The address names the application, but neither the person nor a token`(
    _ words: String, _ address: String?
  ) async throws {
    #expect(try await report(Self.store(), words).endSession?.text == address)
  }

  @Test func `No address is returned for an account from another server or without revocation`()
    async throws
  {
    let words = #","endSession":"https://op.example/out""#
    #expect(try await report(Self.store(), words).endSession != nil)
    #expect(try await report(Self.store(of: "https://evil.example"), words).endSession == nil)
    #expect(try await report(Self.store(), words, revokes: false).endSession == nil)
  }

  @Test(arguments: ["http://op.example/out", "javascript:x", "https://op.example/#x"])
  func `An unsafe address is refused in the descriptor`(_ address: String) {
    #expect(throws: ProviderCatalog.Fault.self) {
      try ProviderCatalogTests.catalog(Self.descriptor(#","endSession":"\#(address)""#))
    }
  }
}
