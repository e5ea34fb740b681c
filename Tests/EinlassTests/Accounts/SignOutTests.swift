import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

@Suite struct SignOutTests {
  private static let descriptor = """
    {"id":"op","name":"OP","setup":{"documentation":"https://op.example/"},"accounts":"many",\
    "registration":["clientId"],"flows":[{"kind":"deviceCode",\
    "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"}}],\
    "revoke":{"method":"DELETE","url":"https://op.example/grant","bearer":"{token}",\
    "query":{"secret":"{clientSecret}"}}}
    """

  private static func script(
    _ replies: Script.Reply..., issuedAt origin: String = "https://op.example",
    refreshToken: Secret? = nil
  ) -> Script {
    let account = Sample.account("ada", "op")
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: "APP"),
      credential: .oauth2(OAuth2Credential(accessToken: Secret("AT"), refreshToken: refreshToken)),
      binding: ProviderBinding(origins: [origin], clientID: "APP", flowKind: .deviceCode))
    return Script(
      replies, store: ScriptedStore(accounts: [account], credentials: [account.id: [stored]]))
  }

  private func remove(
    _ script: Script, requiringRevocation isRequired: Bool, with own: ClientRegistration? = nil,
    from catalog: ProviderCatalog? = nil, isRemote: Bool = false
  ) async throws -> Revocation {
    try await Einlass(
      catalog: catalog ?? ProviderCatalogTests.catalog(Self.descriptor),
      store: script.store.accountStore.with(isRemote: isRemote), effects: script.effects
    ).removeAccount(Account.ID(rawValue: "a_ada"), requiringRevocation: isRequired) { _ in own }
  }

  private func work(_ script: Script) -> [String] { script.log.filter { !$0.hasPrefix("sleep") } }

  @Test(arguments: [
    ("https://op.example", Problem.Reason.authenticatorUnconfigured),
    ("https://elsewhere.example", .bindingMismatch),
  ])
  func
    `If revocation is required, an account that cannot be revoked stays; else it goes`(
      _ origin: String, _ reason: Problem.Reason
    ) async throws
  {
    let script = Self.script(.text("no", status: 401), issuedAt: origin)
    let refusal = await #expect(throws: Problem.self) {
      try await remove(script, requiringRevocation: true)
    }
    #expect(refusal?.reason == reason && refusal?.account?.rawValue == "a_ada")
    #expect(work(script).isEmpty && script.store.accounts.count == 1)
    let report = try await remove(script, requiringRevocation: false)
    #expect(report.notRevoked.map(\.reason) == [refusal?.message])
    let left = try #require(report.notRevoked.first)
    let isElsewhere = reason == .bindingMismatch
    #expect((left.advice == .useOtherConfiguration) == isElsewhere)
    #expect((left.hint?.method == "providers.configure") != isElsewhere)
    #expect(script.store.accounts.isEmpty)
  }

  @Test(arguments: [true, false])
  func `The secret of a replaced automatic registration is required of nobody`(
    _ isIssued: Bool
  ) async throws {
    let script = Self.script(.text("no", status: 403))
    let next = StoredRegistration(
      provider: "op", registration: ClientRegistration(clientID: "NEXT"),
      origins: ["https://op.example"], isIssued: isIssued)
    _ = try script.store.accountStore.registrations.set("op", nil, next, .usual)
    let report = try? await remove(script, requiringRevocation: true)
    #expect(script.store.accounts.isEmpty == isIssued)
    let left = report?.notRevoked.first
    #expect(left?.reason.contains("APP is not known") == (isIssued ? true : nil))
    #expect(left?.hint == nil)
  }

  @Test func `Credentials that cannot be decrypted are kept where revocation is required`()
    async throws
  {
    let script = Self.script()
    script.store.fail("credentials", with: .store(.keyUnavailable, "The key is not here."))
    let refusal = await #expect(throws: Problem.self) {
      try await remove(script, requiringRevocation: true)
    }
    #expect(refusal?.reason == .accountStoreFailure && script.store.accounts.count == 1)
    let report = try await remove(script, requiringRevocation: false)
    #expect(report.notRevoked.map(\.reason) == ["The key is not here."])
    #expect(script.store.accounts.isEmpty)
  }

  @Test func `A refused secret is reported as wrong, and an absent one as missing`()
    async throws
  {
    for (secret, isWrong) in [(Secret("S"), true), (nil, false)] {
      let script = Self.script(.json(#"{"error":"invalid_client"}"#, status: 401))
      let report = try await remove(
        script, requiringRevocation: true,
        with: ClientRegistration(clientID: "APP", clientSecret: secret))
      let reason = report.notRevoked.first?.reason
      #expect(reason?.contains("does not accept") == isWrong)
      #expect(reason?.contains("which is missing") == !isWrong)
    }
  }

  @Test func `With the registration the token is revoked, also if revocation is required`()
    async throws
  {
    let own = ClientRegistration(clientID: "APP", clientSecret: Secret("S"))
    let script = Self.script(.text("", status: 204))
    #expect(
      try await remove(script, requiringRevocation: true, with: own).revoked == ["application APP"])
    #expect(work(script).last == "DELETE https://op.example/grant?secret=S")
  }

  @Test(arguments: [Problem.StoreDetail.unreachable, .full])
  func `A removal without an answer is repeated, and the token is revoked`(
    _ detail: Problem.StoreDetail
  ) async {
    let own = ClientRegistration(clientID: "APP", clientSecret: Secret("S"))
    let script = Self.script(.text("", status: 204))
    script.store.loseAnswer("remove", with: .store(detail, "The answer is lost."))
    let report = try? await remove(
      script, requiringRevocation: true, with: own, isRemote: true)
    #expect(script.store.accounts.isEmpty)
    // The control: after another problem nothing is repeated.
    #expect(report?.revoked == (detail == .unreachable ? ["application APP"] : nil))
    #expect(work(script).last?.hasPrefix("DELETE") == (detail == .unreachable))
  }

  @Test func `While the database is away, credentials that were not read stay in it`() async throws
  {
    let script = Self.script()
    script.store.fail("credentials", with: .store(.unreachable, "The database is away."))
    for isRemote in [true, false] {
      let report = try? await remove(script, requiringRevocation: false, isRemote: isRemote)
      #expect((report == nil) == isRemote && script.store.accounts.isEmpty != isRemote)
    }
  }

  @Test func `Both tokens are revoked, and each is reported`() async throws {
    let catalog = try ProviderCatalogTests.catalog(
      Self.descriptor.replacing(#""bearer":"{token}""#, with: #""bearer":"{refreshToken}""#))
    let script = Self.script(
      .text(""), .json(#"{"error":"unsupported_token_type"}"#, status: 400),
      refreshToken: Secret("RT"))
    let report = try await remove(
      script, requiringRevocation: false,
      with: ClientRegistration(clientID: "APP", clientSecret: Secret("S")), from: catalog)
    #expect(report.revoked == ["application APP refreshToken"])
    #expect(report.notRevoked.map(\.what) == ["application APP accessToken"])
    #expect(
      script.requests.map { $0.headers.first { $0.name == "Authorization" }?.value }
        == ["Bearer RT", "Bearer AT"])
  }

  @Test(arguments: [true, false])
  func `An access token that was revoked together with the refresh token counts as revoked`(
    _ isRefreshTokenRevoked: Bool
  ) async throws {
    let catalog = try ProviderCatalogTests.catalog(
      Self.descriptor.replacing(#""bearer":"{token}""#, with: #""bearer":"{refreshToken}""#))
    let invalid = Script.Reply.json(#"{"error":"invalid_token"}"#, status: 400)
    let script = Self.script(
      isRefreshTokenRevoked ? .text("") : invalid, invalid, refreshToken: Secret("RT"))
    let report = try await remove(
      script, requiringRevocation: false,
      with: ClientRegistration(clientID: "APP", clientSecret: Secret("S")), from: catalog)
    let tokens = ["application APP refreshToken", "application APP accessToken"]
    #expect(report.revoked == (isRefreshTokenRevoked ? tokens : []))
    #expect(report.notRevoked.map(\.what) == (isRefreshTokenRevoked ? [] : tokens))
  }

  @Test func `An account of a provider that is no longer known can still be removed`() async throws
  {
    let script = Self.script(.text("", status: 204))
    let report = try await remove(script, requiringRevocation: true, from: ProviderCatalog.none)
    #expect(script.store.accounts.isEmpty && script.requests.isEmpty)
    #expect(
      report.notRevoked.first?.reason.hasPrefix("The provider op is not in the catalogue") == true)
  }
}
