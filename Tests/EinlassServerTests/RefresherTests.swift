import EinlassCrypto
import EinlassSystem
import TestSupport
import Testing

@testable import Einlass
@testable import EinlassServer

/// The end of the automatic refresh of a credential, and its notification.
struct RefresherTests {
  private typealias Script = TestSupport.Script

  private static let account = Account.ID(rawValue: "a_ada")

  /// An account with an expired token and a refresh token.
  private static var store: ScriptedStore {
    ScriptedStore(
      accounts: [
        Account(
          id: account, provider: "sequencing", username: "ada", isSignedIn: true, addedAt: 1)
      ],
      grants: [
        AccessGrant(
          application: "editor", provider: "sequencing", state: .granted, permissions: [],
          changedAt: 1)
      ],
      credentials: [
        account: [
          StoredCredential(
            role: .application, registration: ClientRegistration(clientID: "APP"),
            credential: .oauth2(
              OAuth2Credential(
                accessToken: Secret("OLD"), expiresAt: Script.now, refreshToken: Secret("RT"))),
            binding: ProviderBinding(
              origins: ["https://sequencing.com"], clientID: "APP", flowKind: .authorizationCode))
        ]
      ])
  }

  /// The reasons in the notifications until the refreshing has ended.
  ///
  /// - Parameters:
  ///   - sleeping: Runs while the refresh waits for its time.
  ///   - sending: Runs before a request of the refresh is sent.
  private static func failures(
    _ script: Script,
    sleeping: @escaping @Sendable (AccountStore) throws(Problem) -> Void = { _ in },
    sending: @escaping @Sendable (AccountStore) throws(Problem) -> Void = { _ in }
  ) async throws -> [Problem.Reason] {
    let store = script.store.accountStore
    let effects = script.effects.with(
      send: { [send = script.effects.send] request throws(Problem) in
        try sending(store)
        return try await send(request)
      }, sleepUntil: { _ throws(Problem) in try sleeping(store) })
    let engine = Einlass(catalog: ProviderCatalog.builtIn, store: store, effects: effects)
    let failures = Lock([Problem.Reason]())
    let refresher = Refresher(
      effects: effects, executor: { nil },
      failed: { _, problem in failures.withLock { $0.append(problem.reason) } })
    let request = CredentialRequest(
      application: "editor",
      registration: { _ in ClientRegistration(clientID: "APP", clientSecret: Secret("S")) },
      account: account)
    await refresher.refresh(
      request, as: .refresh(account, resource: nil), since: Script.now
    ) { engine }
    return failures.withLock { $0 }
  }

  @Test func `A refresh that is refused without a word is not tried again until somebody asks`()
    async throws
  {
    let empty = Script.Reply.text("", status: 400)
    let script = Script([empty, empty], store: Self.store)
    #expect(try await Self.failures(script) == [.reloginNeeded])
    #expect(script.requests.count == 2)
  }

  @Test func `The refreshing of an account that is signed out ends without a word`() async throws {
    let script = Script(store: Self.store)
    let failures = try await Self.failures(script) { store throws(Problem) in
      _ = try store.forgetCredentials(Self.account)
    }
    #expect(failures.isEmpty && script.requests.isEmpty)
    let later = Script([.json(#"{"error":"no"}"#, status: 403)], store: Self.store)
    let laterFailures = try await Self.failures(
      later,
      sending: { store throws(Problem) in _ = try store.forgetCredentials(Self.account) })
    #expect(laterFailures.isEmpty && later.requests.count == 1)
    // The control: credentials that stay are refreshed.
    let control = Script([.json(#"{"error":"no"}"#, status: 403)], store: Self.store)
    #expect(try await Self.failures(control).count == 1 && control.requests.count == 1)
  }
}
