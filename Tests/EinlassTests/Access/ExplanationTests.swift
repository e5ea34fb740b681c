import EinlassCrypto
import EinlassSystem
import TestSupport
import Testing

@testable import Einlass

/// `accounts.explain` against `auth.perform`, for every combination of grant, accounts and request.
@Suite struct ExplanationTests {
  /// Lists of accounts. A name in capitals is signed in, and a star marks the preferred account.
  private static let people = [
    "", "ADA", "ada", "ADA BOB", "ADA bob", "ada bob", "ADA bob*", "ADA* bob", "ada* BOB",
  ]

  private static func catalog(_ count: String) throws -> ProviderCatalog {
    try ProviderCatalogTests.catalog(
      """
      {"id":"op","name":"OP","setup":{"documentation":"https://op.example/"},"accounts":"\(count)",\
      "registration":["clientId"],"flows":[{"kind":"deviceCode",\
      "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
      "token":{"method":"POST","url":"https://op.example/token"}}]}
      """)
  }

  private static func store(_ people: String, _ grant: AccessGrant.State?) -> ScriptedStore {
    var accounts = people.split(separator: " ").map { word in
      let name = word.filter { $0 != "*" }
      var account = Sample.account(name.lowercased(), "op")
      account.isSignedIn = name == name.uppercased()
      account.preferredBy = word.hasSuffix("*") ? [Sample.application] : []
      return account
    }
    let credential = StoredCredential(
      role: .application, registration: Sample.registration,
      credential: .oauth2(OAuth2Credential(accessToken: Secret("AT"))),
      binding: ProviderBinding(
        origins: ["https://op.example"], clientID: "APP", flowKind: .deviceCode))
    let credentials = accounts.filter(\.isSignedIn).map { ($0.id, [credential]) }
    accounts.append(Sample.account("eve", "another"))
    return ScriptedStore(
      accounts: accounts, grants: Sample.grants("op", grant),
      credentials: Dictionary(uniqueKeysWithValues: credentials))
  }

  /// Requests with every combination of the parameters that influence the choice of the account.
  private static var requests: [PerformRequest] {
    var requests: [PerformRequest] = []
    for selection in PerformRequest.Selection.allCases {
      for name in [nil, "ada", "bob", "eve", "nobody"] {
        for confirms in [false, true] {
          requests.append(
            PerformRequest(
              application: Sample.application, registration: Sample.registration, provider: "op",
              account: name.map { Account.ID(rawValue: "a_\($0)") },
              confirmsOnlyAccount: confirms, selection: selection))
        }
      }
    }
    return requests
  }

  @Test(arguments: [nil, .granted, .denied] as [AccessGrant.State?], people)
  func `The explanation of a request agrees with its result`(
    _ grant: AccessGrant.State?, _ people: String
  )
    async throws
  {
    for count in ["one", "many"] {
      for request in Self.requests {
        let store = Self.store(people, grant)
        let engine = Einlass(
          catalog: try Self.catalog(count), store: store.accountStore,
          effects: Script(store: store).effects)
        try await compare(request, engine, grant == .granted ? [] : [.deviceCode])
      }
    }
  }

  private func compare(
    _ request: PerformRequest, _ engine: Einlass, _ kinds: Set<Prompt.Kind>
  ) async throws {
    let kinds = kinds.union([.grantAccess, .selectAccount, .confirmAccount])
    let explained = try engine.explain(request, asking: kinds, patience: .usual)
    let asked = Lock<[Prompt]>([])
    let asker = Asker(
      kinds: kinds,
      ask: { prompt in
        asked.withLock { $0.append(prompt) }
        guard case .selectAccount(let offered, _) = prompt else { return .accept() }
        // The person chooses a signed-in account if one is offered.
        return .accept(account: (offered.first(where: \.isSignedIn) ?? offered[0]).id)
      }, report: { _ in })
    var problem: Problem?
    var account: Account.ID?
    do throws(Problem) {
      account = try await engine.perform(request, asking: asker).account.id
    } catch {
      (problem, account) = (error, error.reason == .reloginNeeded ? error.account : nil)
    }
    let cell = Comment(rawValue: "\(explained), but \(String(describing: problem))")
    #expect(explained.prompts == asked.withLock { $0 }, cell)
    #expect(explained.problem?.reason == problem?.reason, cell)
    #expect(explained.problem?.hint?.method == problem?.hint?.method, cell)
    if explained.rule != .person { #expect(explained.account?.id == account, cell) }
  }
}
