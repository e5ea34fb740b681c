import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// Sign-ins at a provider without an identity never replace a credential without the person's
/// consent.
@Suite struct UnidentifiedSignInTests {
  typealias Flow = AuthorizationCodeFlowTests

  /// A store with earlier sign-ins at the provider.
  func storeWithFirst(_ usernames: [String] = ["Sequencing.com"]) -> ScriptedStore {
    let accounts = usernames.map { Sample.account($0, "sequencing") }
    return ScriptedStore(
      accounts: accounts,
      credentials: Dictionary(
        uniqueKeysWithValues: accounts.map { ($0.id, [Self.credential("FIRST")]) }))
  }

  static func credential(_ token: String) -> StoredCredential {
    StoredCredential(
      role: .application, registration: ClientRegistration(clientID: "APP"),
      credential: .oauth2(OAuth2Credential(accessToken: Secret(token))),
      binding: ProviderBinding(
        origins: ["https://sequencing.com"], clientID: "APP", flowKind: .authorizationCode))
  }

  func script(_ answers: [Answer], _ store: ScriptedStore) -> Script {
    Script(
      [.json(Flow.token)], answers: [.accept()] + answers, brought: [Flow.good()], store: store)
  }

  func signIn(
    _ script: Script, asking kinds: Set<Prompt.Kind> = [.openURL, .replaceAccount],
    _ change: (inout SignInRequest) -> Void = { _ in }
  ) async throws -> AccountStore.Added {
    try await Sample.engine(script).signIn(Flow.request(change), asking: script.asker(kinds))
  }

  func token(of account: Account.ID, in store: ScriptedStore) -> String? {
    guard case .oauth2(let token)? = store.credentials(of: account).first?.credential else {
      return nil
    }
    return revealedText(token.accessToken)
  }

  static let first = Account.ID(rawValue: "a_Sequencing.com")

  @Test(
    "Without the prompt the sign-in makes a new account and keeps the stored ones",
    arguments: [
      (["Sequencing.com"], nil, "Sequencing.com 2"),
      (["Sequencing.com", "Sequencing.com 2"], nil, "Sequencing.com 3"),
      (["Sequencing.com"], "ada", "ada"), (["Sequencing.com", "ada"], "ada", "ada 2"),
      (["bob"], nil, "Sequencing.com"),
      (
        [String(repeating: "é", count: 128)], String(repeating: "é", count: 128),
        String(repeating: "é", count: 100) + " 2"
      ),
    ])
  func added(_ stored: [String], hint: String?, name: String) async throws {
    let store = storeWithFirst(stored)
    let added = try await signIn(script([], store), asking: [.openURL]) {
      $0.openID.loginHint = hint
    }
    #expect(added.created && added.account.username == name)
    #expect(token(of: added.account.id, in: store) == "AT")
    for name in stored {
      #expect(token(of: Account.ID(rawValue: "a_\(name)"), in: store) == "FIRST")
    }
  }

  @Test func `The first account of a provider needs no prompt`() async throws {
    let added = try await signIn(script([], ScriptedStore()))
    #expect(added.created && added.account.username == "Sequencing.com")
  }

  @Test func `The person chooses an existing account, and its credential is replaced`()
    async throws
  {
    let store = storeWithFirst()
    let script = script([.accept(account: Self.first)], store)
    let signedIn = try await signIn(script)
    #expect(!signedIn.created && signedIn.account.id == Self.first)
    #expect(token(of: Self.first, in: store) == "AT")
    #expect(script.log.contains("ask replaceAccount Sequencing.com"))
    #expect(script.stages.suffix(3) == [.saving, .awaitingPerson, .saving])
    // The browser's page sends the person back, because the prompt is in the front end.
    #expect(script.log.contains("page questionLeft"))
  }

  @Test func `The person chooses a new account`() async throws {
    let store = storeWithFirst()
    let added = try await signIn(script([.accept()], store))
    #expect(added.created && added.account.username == "Sequencing.com 2")
    #expect(token(of: Self.first, in: store) == "FIRST")
  }

  @Test(
    "A prompt that is declined or cancelled stores nothing", arguments: [Answer.decline, .cancel])
  func leftOpen(answer: Answer) async throws {
    let store = storeWithFirst()
    let problem = await #expect(throws: Problem.self) { try await signIn(script([answer], store)) }
    #expect(problem?.reason == .userCanceled)
    #expect(store.accounts.map(\.id) == [Self.first])
    #expect(token(of: Self.first, in: store) == "FIRST")
  }

  @Test func `An account that the request names needs no prompt`() async throws {
    let store = storeWithFirst(["Sequencing.com", "bob"])
    let signedIn = try await signIn(script([], store)) { $0.account = Self.first }
    #expect(!signedIn.created && signedIn.account.id == Self.first)
    #expect(token(of: Self.first, in: store) == "AT")
    #expect(token(of: Account.ID(rawValue: "a_bob"), in: store) == "FIRST")
  }

  @Test func `The hundred last used accounts are offered, without the application's own account`()
    async throws
  {
    let names = (1...102).map { "account \($0)" }
    let store = storeWithFirst(names)
    for (index, name) in names.enumerated() {
      _ = try store.accountStore.update(Account.ID(rawValue: "a_\(name)"), .usual) {
        $0.lastUsedAt = Int64(index)
        if index == 101 { $0.subject = "APP" }
      }
    }
    let script = script([.accept()], store)
    _ = try await signIn(script)
    guard case .replaceAccount(let offered, more: true)? = script.prompts.last else {
      Issue.record("nothing was asked")
      return
    }
    #expect(offered.map(\.username) == names[1...100].reversed())
  }
}
