import Einlass
import EinlassAuthenticators
import Foundation

/// A type of this program with the name of a type of the engine. The two must not clash.
struct Account {
  var balance: Int
}

/// The first line of the sandbox.
struct Ready: Decodable {
  struct Registration: Decodable {
    var clientId: String
    var clientSecret: String?
  }
  struct Config: Decodable {
    var origins: [String: String]
    var applications: [String: [String: Registration]]
  }
  struct SystemAccount: Decodable {
    struct Credential: Decodable {
      var clientId: String
      var key, secret, token, clientSecret: String?
    }
    var provider, username: String
    var credential: Credential
  }
  var config: Config
  var accounts: [SystemAccount]
}

/// Signs in at the sandbox, whose first line comes on standard input, and prints the calls of the
/// delegates. The accounts stand in the store at the path of the only argument.
@main @MainActor final class Downstream {
  static func main() async throws {
    let ready = try JSONDecoder().decode(Ready.self, from: Data((readLine() ?? "").utf8))
    let system = try Einlass.systemAccounts(at: CommandLine.arguments[1])
    let engine = Einlass(
      catalog: try system.catalog.relocated(origins: ready.config.origins), store: system.store,
      effects: system.effects)
    for account in ready.accounts where account.username.hasPrefix("ada") {
      try add(account, to: engine)
    }
    let registrations = ready.config.applications["*"] ?? [:]
    let application = Application(
      "downstream", title: "Downstream",
      registrations: registrations.mapValues {
        ClientRegistration(
          clientID: $0.clientId, clientSecret: $0.clientSecret.map { secret in Secret(secret) })
      },
      engine: engine)
    let downstream = Downstream()
    await TwitterAuthenticator(application, delegate: downstream).perform().value
    await FacebookAuthenticator(application, delegate: downstream).perform().value
    await Authenticator(application, provider: "github", delegate: downstream).perform().value
    print("balance \(Account(balance: 3).balance)")
  }

  /// Adds an account as `einlassctl accounts add` does.
  private static func add(_ account: Ready.SystemAccount, to engine: Einlass) throws {
    let credential = account.credential
    let token: Credential =
      if let key = credential.key, let secret = credential.secret {
        .oauth1(OAuth1Credential(token: Secret(key), tokenSecret: Secret(secret)))
      } else {
        .oauth2(OAuth2Credential(accessToken: Secret(credential.token ?? "")))
      }
    _ = try engine.addAccount(
      AddAccountRequest(
        provider: account.provider, username: account.username, credential: token,
        registration: ClientRegistration(
          clientID: credential.clientId,
          clientSecret: credential.clientSecret.map { secret in Secret(secret) })),
      patience: .usual)
  }
}

extension Downstream: TwitterAuthenticatorDelegate {
  func twitterAuthenticatorMayAccessAccounts() async -> Bool { true }

  func twitterAuthenticator(chooseAccountFrom usernames: [String]) async -> String? {
    print("twitter: choose from \(usernames.joined(separator: ", "))")
    return usernames.first
  }

  func twitterAuthenticator(didSignIn credentials: TwitterCredentials) async {
    print("twitter: \(credentials.screenName), \(credentials.avatar == nil ? "no" : "a") picture")
  }

  func twitterAuthenticator(didFail problem: TwitterAuthenticatorProblem) async {
    print("twitter failed: \(problem)")
  }
}

extension Downstream: FacebookAuthenticatorDelegate {
  func facebookAuthenticator(mayAccessAccountWith permissions: [String]) async -> Bool { true }

  func facebookAuthenticator(confirmAccount username: String) async -> Bool {
    print("facebook: confirm \(username)")
    return true
  }

  func facebookAuthenticator(didSignIn credentials: FacebookCredentials) async {
    print("facebook: \(credentials.name), \(credentials.avatar == nil ? "no" : "a") picture")
  }

  func facebookAuthenticator(didFail problem: FacebookAuthenticatorProblem) async {
    print("facebook failed: \(problem)")
  }
}

extension Downstream: AuthenticatorDelegate {
  var promptKinds: Set<Prompt.Kind> { [.openURL] }

  func authenticator(answerTo prompt: Prompt) async -> Answer {
    guard case .openURL(let address, _) = prompt else { return .cancel }
    print("github: a page")
    let browser = Process()
    browser.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    browser.arguments = ["curl", "--silent", "--location", "--output", "/dev/null", address.text]
    guard (try? browser.run()) != nil else { return .cancel }
    return .accept()
  }

  func authenticator(didSignIn result: PerformResult) async {
    let picture = result.identity?.avatar == nil ? "no" : "a"
    print("github: \(result.identity?.username ?? "?"), \(picture) picture")
  }

  func authenticator(didFail problem: Problem) async {
    print("github failed: \(problem.reason)")
  }
}
