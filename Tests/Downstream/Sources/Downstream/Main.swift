import Einlass
import EinlassNetwork
import EinlassStorage

/// A type of this program with the name of a type of the engine. The two must not clash.
struct Account {
  var balance: Int
}

/// Signs in as `ada` at the sandbox with the given address, and prints the arguments of the
/// delegate's calls.
@main
final class Downstream: TwitterAuthenticatorDelegate {
  static func main() async throws {
    // Address; client id and secret; the account's token and secret; the system's client id and
    // secret.
    var lines: [String] = []
    while let line = readLine() { lines.append(line) }
    guard lines.count == 7 else {
      print("usage: seven lines on standard input")
      return
    }
    let catalog = try ProviderCatalog.builtIn()
      .relocated(origins: ["https://api.twitter.com": lines[0]])
    let engine = Einlass(
      catalog: catalog, store: MemoryAccountStore.make(), effects: LiveEffects.make())
    _ = try engine.addAccount(
      AddAccountRequest(
        provider: "twitter", username: "ada",
        credential: .oauth1(
          OAuth1Credential(token: Secret(lines[3]), tokenSecret: Secret(lines[4]))),
        registration: ClientRegistration(
          clientID: lines[5], clientSecret: Secret(lines[6]))),
      patience: .usual)
    let delegate = Downstream()
    await TwitterAuthenticator(
      engine: engine,
      registration: ClientRegistration(
        clientID: lines[1], clientSecret: Secret(lines[2])), delegate: delegate
    ).perform()
    print("balance \(Account(balance: 3).balance)")
  }

  func twitterAuthenticatorAccess(_ answer: @escaping @Sendable (Bool) -> Void) { answer(true) }

  func twitterAuthenticator(
    chooseAccountFrom usernames: [String], _ answer: @escaping @Sendable (String?) -> Void
  ) {
    print("choose from \(usernames.joined(separator: ", "))")
    answer(usernames.first)
  }

  func twitterAuthenticator(didLogin credentials: TwitterCredentials) {
    print("signed in as \(credentials.screenName), \(credentials.key.isEmpty ? "no" : "a") key")
  }

  func twitterAuthenticator(didFail problem: TwitterAuthenticatorProblem) {
    print("failed: \(problem)")
  }
}
