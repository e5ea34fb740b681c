import Einlass
import EinlassCrypto
import TestSupport
import Testing

/// `accounts.add`: the checks of its parameters and the binding of the account.
struct AddAccountTests {
  func request(_ change: (inout AddAccountRequest) -> Void = { _ in }) -> AddAccountRequest {
    var request = AddAccountRequest(
      provider: "twitter", username: "ada",
      credential: .oauth1(OAuth1Credential(token: Secret("T"), tokenSecret: Secret("S"))),
      registration: ClientRegistration(clientID: "SYS", clientSecret: Secret("SS")))
    change(&request)
    return request
  }

  @Test("An account gets a random id and is bound to its provider's present origin")
  func added() throws {
    let script = Script()
    let engine = Einlass(
      catalog: try ProviderCatalog.builtIn.relocated(
        origins: ["https://api.twitter.com": "http://127.0.0.1:8080"]),
      store: script.store.accountStore, effects: script.effects)
    let added = try engine.addAccount(request { $0.subject = "7" }, patience: .none)
    #expect(added.account.id.rawValue == "a_AQEBAQEBAQEBAQEBAQEBAQ")
    #expect(added.account.isSignedIn && added.account.health == .ok)
    #expect(added.account.addedAt == Script.now)
    let stored = script.store.credentials(of: added.account.id)
    #expect(stored.map(\.role) == [.system])
    #expect(stored[0].registration == request().registration)
    #expect(
      stored[0].binding
        == ProviderBinding(
          origins: ["http://127.0.0.1:8080"], clientID: "SYS", flowKind: .reverseAuth))
  }

  @Test("The store is told if the provider has room for only one account")
  func roomForOne() throws {
    let token = Credential.oauth2(OAuth2Credential(accessToken: Secret("T")))
    for (provider, credential, isOnlyOne) in [
      ("twitter", request().credential, false), ("facebook", token, true),
    ] {
      let script = Script()
      let store = script.store.accountStore.with(add: { new, _ throws(Problem) in
        #expect(new.isOnlyOne == isOnlyOne)
        #expect(new.replacesExisting)
        return .init(account: new.account, created: false, revision: 1)
      })
      let engine = Einlass(
        catalog: .builtIn, store: store, effects: script.effects)
      _ = try engine.addAccount(
        request {
          $0.provider = provider
          $0.credential = credential
          $0.replacesExisting = true
        }, patience: .usual)
    }
  }

  /// A change that makes the request invalid, and the path of the resulting problem.
  struct Case: Sendable {
    var change: @Sendable (inout AddAccountRequest) -> Void
    var path: String

    init(_ change: @escaping @Sendable (inout AddAccountRequest) -> Void, _ result: String) {
      self.change = change
      path = result
    }
  }

  static let cases: [Case] = [
    Case({ $0.username = "" }, "/username"),
    Case({ $0.username = String(repeating: "x", count: 257) }, "/username"),
    Case({ $0.username = "a\nb" }, "/username"), Case({ $0.username = "a\u{202E}b" }, "/username"),
    Case({ $0.registration.clientSecret = Secret("a\u{85}") }, "/credential/clientSecret"),
    Case({ $0.displayName = "" }, "/displayName"), Case({ $0.subject = "\u{85}" }, "/subject"),
    Case({ $0.registration.clientID = "" }, "/credential/clientId"),
    Case({ $0.registration.clientSecret = nil }, "/credential/clientSecret"),
    Case({ $0.registration.clientSecret = Secret("") }, "/credential/clientSecret"),
    Case(
      { $0.credential = .oauth1(.init(token: Secret(""), tokenSecret: Secret("S"))) },
      "/credential/key"
    ),
    Case(
      { $0.credential = .oauth1(.init(token: Secret("T"), tokenSecret: Secret("a\u{1}b"))) },
      "/credential/secret"
    ),
    Case(
      {
        $0.credential = .oauth1(
          .init(token: Secret(Array(repeating: 65, count: 49153)), tokenSecret: Secret("S")))
      },
      "/credential/key"
    ),
    Case(
      {
        $0.credential = .oauth1(
          .init(token: Secret(Array(repeating: 65, count: 49152)), tokenSecret: Secret("S")))
      },
      "/credential"
    ), Case({ $0.provider = "facebook" }, "/credential/type"),
    Case({ $0.credential = .oauth2(.init(accessToken: Secret("a\r\nb"))) }, "/credential/token"),
    Case(
      {
        $0.credential = .oauth2(.init(accessToken: Secret("a"), refreshToken: Secret("\u{E9}")))
      },
      "/credential/refreshToken"
    ),
    Case(
      {
        $0.provider = "facebook"
        $0.credential = .oauth2(
          .init(accessToken: large(30_000), refreshToken: large(20_000)))
      }, "/credential"),
    Case(
      {
        $0.provider = "facebook"
        $0.credential = .oauth2(.init(accessToken: Secret("a"), scopes: scopes(250)))
      }, "/credential"),
    // Each of these characters takes two bytes in JSON.
    Case(
      {
        $0.provider = "facebook"
        $0.credential = .oauth2(.init(accessToken: Secret(Array(repeating: 0x22, count: 25_000))))
      }, "/credential"),
  ]

  private static func large(_ count: Int) -> Secret { Secret(Array(repeating: 65, count: count)) }
  private static func scopes(_ count: Int) -> [String] {
    Array(repeating: String(repeating: "s", count: 200), count: count)
  }

  @Test("A credential of 48 KiB is accepted")
  func largest() throws {
    for credential in [
      OAuth2Credential(accessToken: Self.large(48 << 10)),
      OAuth2Credential(accessToken: Self.large(1), scopes: Self.scopes(240)),
    ] {
      _ = try Sample.engine(Script()).addAccount(
        request {
          $0.provider = "facebook"
          $0.credential = .oauth2(credential)
        }, patience: .none)
    }
  }

  @Test(
    "An OAuth 1.0a secret is any text without control characters (RFC 5849 section 3.4.2)",
    arguments: ["a b", "pässwörd", "%&=", "鍵"])
  func textSecrets(text: String) throws {
    let script = Script()
    let added = try Sample.engine(script).addAccount(
      request {
        $0.credential = .oauth1(.init(token: Secret(text), tokenSecret: Secret(text)))
        $0.registration.clientSecret = Secret(text)
      }, patience: .none)
    let stored = script.store.credentials(of: added.account.id)
    #expect(
      stored.map(\.credential) == [.oauth1(.init(token: Secret(text), tokenSecret: Secret(text)))])
  }

  @Test("An invalid parameter is named by its path", arguments: cases)
  func wrong(example: Case) throws {
    let script = Script()
    let problem = #expect(throws: Problem.self) {
      try Sample.engine(script).addAccount(request(example.change), patience: .none)
    }
    #expect(problem?.reason == .invalidParameter)
    #expect(problem?.path == example.path)
    #expect(script.log.isEmpty)
  }
}
