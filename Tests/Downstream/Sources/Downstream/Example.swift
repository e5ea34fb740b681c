import Einlass
import EinlassAuthenticators

// The examples of Sources/EinlassAuthenticators/README.md: Tests/Documents compares the two.

func example() async throws {
  let application = Application(
    "my-editor", title: "My Editor",
    registrations: ["twitter": ClientRegistration(clientID: "KEY", clientSecret: Secret("SECRET"))],
    engine: try .systemAccounts())
  let credentials = try await TwitterAuthenticator(application).perform(
    grantAccess: { true }, chooseAccount: { usernames in usernames.first })
  print("Hello \(credentials.name)")

  let signIn = SignIn()  // Keep it: the authenticator does not.
  TwitterAuthenticator(application, delegate: signIn).perform()

  let key = String(decoding: credentials.key.reveal(), as: UTF8.self)
  print(key.count)

  let asker = Asker(kinds: [.openURL]) { prompt in
    guard case .openURL(let address, _) = prompt else { return .success(.cancel) }
    print("Open \(address.text)")
    return .success(.accept())
  }
  let result = try await Authenticator(application, provider: "github").perform(asking: asker)
  print("Hello \(result.identity?.username ?? "you")")
}

final class SignIn: TwitterAuthenticatorDelegate {
  func twitterAuthenticatorMayAccessAccounts() async -> Bool { true }
  func twitterAuthenticator(chooseAccountFrom usernames: [String]) async -> String? {
    usernames.first
  }
  func twitterAuthenticator(didSignIn credentials: TwitterCredentials) async {
    print("Hello \(credentials.name)")
  }
  func twitterAuthenticator(didFail problem: TwitterAuthenticatorProblem) async { print(problem) }
}

func simulated(at path: String, origins: [String: String]) throws -> Einlass {
  let system = try Einlass.systemAccounts(at: path)
  let engine = Einlass(
    catalog: try system.catalog.relocated(origins: origins), store: system.store,
    effects: system.effects)
  return engine
}
