import Einlass
import EinlassCrypto
import EinlassJSON
import EinlassNetwork
import EinlassStorage
import Glibc

/// Prints the seconds for COUNT signed requests, sealed credentials written or read, or verified
/// id_tokens: `EngineBenchmark signatures COUNT`, `EngineBenchmark writes|reads COUNT STORE
/// KEYFILE`, `EngineBenchmark tokens COUNT TOKEN KEYS ISSUER CLIENT NOW`.
@main struct Main {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3, let count = Int(arguments[2]) else { return usage() }
    let elapsed: Duration
    switch (arguments[1], arguments.count) {
    case ("signatures", 3): elapsed = try signatures(count)
    case ("writes", 5), ("reads", 5):
      elapsed = try sealed(
        arguments[1] == "writes", count,
        SQLiteAccountStore.open(path: arguments[3], keyFile: arguments[4]))
    case ("tokens", 8): elapsed = try tokens(count, Array(arguments[3...]))
    default: return usage()
    }
    let (seconds, attoseconds) = elapsed.components
    print(Double(seconds) + Double(attoseconds) / 1e18)
  }

  private static func usage() {
    print(
      "signatures COUNT | writes|reads COUNT STORE KEYFILE | tokens COUNT TOKEN KEYS ISSUER CLIENT NOW"
    )
  }

  private static func tokens(_ count: Int, _ words: [String]) throws -> Duration {
    guard let keys = JSONWebKeySet(try JSONReader.read(Array(words[1].utf8))),
      let now = UnixTime(words[4])
    else { fatalError("KEYS is no key set, or NOW is no number.") }
    let expected = IDTokenExpectation(issuer: words[2], clientID: words[3])
    return try ContinuousClock().measure {
      for _ in 0..<count { _ = try expected.check(words[0], keys: keys, now: now) }
    }
  }

  private static func signatures(_ count: Int) throws -> Duration {
    let signer = Signer(
      method: .hmacSHA1,
      registration: ClientRegistration(
        clientID: "application", clientSecret: Secret("applicationsecret")),
      token: OAuth1Credential(token: Secret("1001-token"), tokenSecret: Secret("tokensecret")))
    let text = "https://api.example.org/1.1/statuses/update.json?status=hello%20world"
    let effects = LiveEffects.make()
    var bytes = 0
    let elapsed = try ContinuousClock().measure {
      for _ in 0..<count {
        // The loop includes parsing, nonce and time, because the compared programs do these for
        // each request too.
        let authorization = signer.authorization(
          method: "POST", address: try WebAddress.parse(text),
          nonce: Signer.nonce(effects), timestamp: UnixTime(time(nil)))
        bytes += authorization.utf8.count
      }
    }
    precondition(bytes > 0)
    return elapsed
  }

  private static func sealed(
    _ writes: Bool, _ count: Int, _ store: AccountStore
  ) throws -> Duration {
    let credential = StoredCredential(
      role: .system,
      registration: ClientRegistration(clientID: "client", clientSecret: Secret("secret")),
      credential: .oauth1(
        OAuth1Credential(
          token: Secret("1001-0123456789012345678901234567890123456789"),
          tokenSecret: Secret("012345678901234567890123456789012345678901234"))),
      binding: ProviderBinding(
        origins: ["https://api.example.org"], clientID: "client", flowKind: .reverseAuth))
    let id = Account.ID(rawValue: "a_0123456789abcdefghijkl")
    _ = try store.add(
      AccountStore.NewAccount(
        account: Account(
          id: id, provider: "example", username: "ada", isSignedIn: true, addedAt: 0),
        credentials: [credential], replacesExisting: true), .usual)
    let account = try store.read { reader throws(Problem) in
      try reader.accounts(of: nil, after: .min, limit: 1)[0].id
    }
    return try ContinuousClock().measure {
      for _ in 0..<count {
        if writes {
          let stored = try store.credentials(account)
          _ = try store.settle(
            account, AccountStore.Settlement(basis: stored, credential: credential))
        } else {
          _ = try store.credentials(account)
        }
      }
    }
  }
}
