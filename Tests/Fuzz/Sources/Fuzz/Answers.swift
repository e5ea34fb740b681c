import Dispatch
import Einlass
import EinlassCrypto
import TestSupport

/// Checks that a flow ends in a credential or a problem for any answers of a provider, and that no
/// secret of the system is in the problem's texts.
///
/// Input: one byte for provider and operation, then for each answer its status and a body after its
/// length.
func fuzzAnswers(_ input: [UInt8]) {
  var portions = Portions(input)
  let kind = portions.byte()
  let statuses = [200, 200, 200, 401, 403, 400, 429, 500, 204, 302]
  var replies: [Script.Reply] = []
  while !portions.rest.isEmpty && replies.count < 6 {
    let status = statuses[Int(portions.byte()) % statuses.count]
    replies.append(.bytes(portions.field(), status: status))
  }
  let world = Script(
    replies, answers: Array(repeating: .accept(account: Account.ID(rawValue: "a_ada")), count: 4),
    store: kind & 1 == 0 ? .chirp : .graph)
  let ended = DispatchSemaphore(value: 0)
  Task.detached {
    await run(world, provider: kind & 1 == 0 ? "twitter" : "facebook", verifies: kind & 2 != 0)
    ended.signal()
  }
  ended.wait()
}

private func run(_ world: Script, provider: String, verifies: Bool) async {
  let registration = ClientRegistration(clientID: "APP", clientSecret: Secret("CANARY-APP"))
  do throws(Problem) {
    let engine = Einlass(
      catalog: .builtIn, store: world.store.accountStore, effects: world.effects)
    if verifies {
      _ = try await engine.verify(
        VerifyRequest(
          application: "editor", registration: registration, provider: provider,
          subject: .credential(
            provider == "twitter"
              ? .oauth1(
                OAuth1Credential(token: Secret("CANARY-K"), tokenSecret: Secret("CANARY-S")))
              : .oauth2(OAuth2Credential(accessToken: Secret("CANARY-T"))))))
    } else {
      _ = try await engine.perform(
        PerformRequest(
          application: "editor", registration: registration, provider: provider,
          account: Account.ID(rawValue: "a_ada"), confirmsOnlyAccount: true),
        asking: world.asker())
    }
  } catch {
    let words = "\(error.message) \(error.serverError.map { "\($0)" } ?? "")"
    check(!words.contains("CANARY"), "no problem shows a secret")
  }
}

extension ScriptedStore {
  /// A store with one account whose credential comes by reverse auth.
  fileprivate static var chirp: ScriptedStore {
    make(
      "twitter", "https://api.twitter.com", .reverseAuth,
      .oauth1(
        OAuth1Credential(
          token: Secret("CANARY-TOKEN"), tokenSecret: Secret("CANARY-TOKEN-SECRET"))))
  }

  /// A store with one account whose credential is its system token.
  fileprivate static var graph: ScriptedStore {
    make(
      "facebook", "https://graph.facebook.com", .systemToken,
      .oauth2(OAuth2Credential(accessToken: Secret("CANARY-TOKEN"))))
  }

  private static func make(
    _ provider: String, _ origin: String, _ kind: FlowKind, _ credential: Credential
  ) -> ScriptedStore {
    let account = Account(
      id: Account.ID(rawValue: "a_ada"), provider: provider, username: "ada", isSignedIn: true,
      addedAt: 1)
    let stored = StoredCredential(
      role: .system,
      registration: ClientRegistration(clientID: "SYS", clientSecret: Secret("CANARY-SYS")),
      credential: credential,
      binding: ProviderBinding(origins: [origin], clientID: "SYS", flowKind: kind))
    return ScriptedStore(accounts: [account], credentials: [account.id: [stored]])
  }
}
