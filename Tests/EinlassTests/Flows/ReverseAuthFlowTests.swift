import Einlass
import EinlassCrypto
import TestSupport
import Testing

struct ReverseAuthFlowTests {
  static let happy: [Script.Reply] = [
    .text(Sample.requestToken), .text(Sample.accessToken), .json(Sample.chirpIdentity),
  ]
  static let first = "POST https://api.twitter.com/oauth/request_token"
  static let second = "POST https://api.twitter.com/oauth/access_token"
  static let third = """
    GET https://api.twitter.com/1.1/account/verify_credentials.json\
    ?include_email=true&include_entities=true&skip_status=false
    """

  func perform(_ script: Script, account: String? = "ada") async throws(Problem) -> PerformResult {
    let request = PerformRequest(
      application: Sample.application, registration: Sample.registration, provider: "twitter",
      account: account.map { Account.ID(rawValue: "a_\($0)") })
    do { return try await Sample.engine(script).perform(request, asking: script.asker()) } catch {
      throw error as? Problem ?? Problem(.internal, "\(error)")
    }
  }

  func problem(_ script: Script) async -> Problem? {
    do {
      _ = try await perform(script)
      return nil
    } catch { return error }
  }

  @Test("Reverse auth takes three requests, and its token and identity are saved")
  func happyPath() async throws {
    let script = Script(
      Self.happy, answers: [.accept(), .accept(account: Account.ID(rawValue: "a_bob"))],
      store: Sample.chirpStore(["ada", "bob"], grant: nil))
    let result = try await perform(script, account: nil)
    #expect(
      script.log == [
        "ask grantAccess", "grant granted", "ask selectAccount ada,bob", Self.first, Self.second,
        Self.third, "save application APP", "update",
      ])
    #expect(
      script.stages == [
        .access, .awaitingPerson, .selecting, .awaitingPerson, .requesting, .exchanging, .verifying,
        .saving,
      ])
    #expect(
      result.credential
        == .oauth1(
          OAuth1Credential(token: Secret("USER-TOKEN"), tokenSecret: Secret("USER-SECRET"))))
    var identity = try #require(result.identity)
    identity.profile = nil
    #expect(
      identity
        == Identity(
          id: "7", name: "Ada L.", username: "ada", email: "ada@example.org",
          avatar: "https://pbs.example/1/x_400x400.png"))
    #expect(result.account.username == "bob")
    #expect(result.account == script.store.accounts[1])
    #expect(result.account.lastUsedAt == Script.now)
    #expect(result.account.subject == "7")
    #expect(result.account.displayName == "Ada L.")
    let stored = script.store.credentials(of: Account.ID(rawValue: "a_bob"))
    #expect(stored.map(\.role) == [.system, .application])
    #expect(stored.last?.registration == ClientRegistration(clientID: "APP"))
    #expect(
      stored.last?.binding
        == ProviderBinding(
          origins: ["https://api.twitter.com"], clientID: "APP", flowKind: .reverseAuth))
  }

  @Test(
    "A picture over plain http, or on this machine, is left out",
    arguments: [
      ("https://pbs.example/1/x_normal.png", "https://pbs.example/1/x_400x400.png"),
      ("http://127.0.0.1:8080/x.png", nil), ("https://127.0.0.1/x.png", nil),
      ("http://pbs.example/x.png", nil), ("http://localhost/x.png", nil),
    ] as [(String, String?)])
  func pictures(address: String, shown: String?) async throws {
    let identity = Sample.chirpIdentity.replacing(
      "https://pbs.example/1/x_normal.png", with: address)
    let script = Script(
      Self.happy.dropLast() + [.json(identity)], store: Sample.chirpStore())
    #expect(try await perform(script).identity?.avatar == shown)
  }

  @Test("Each request is signed with the right registration and token")
  func signers() async throws {
    let script = Script(Self.happy, store: Sample.chirpStore())
    _ = try await perform(script)
    let parameters = script.requests.map { request in
      let header = request.headers.first { $0.name == "Authorization" }?.value ?? ""
      let fields = AuthorizationHeader.parse(header) ?? []
      return Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
    #expect(parameters.map { $0["oauth_consumer_key"] } == ["APP", "SYS", "APP"])
    #expect(parameters.map { $0["oauth_token"] } == [nil, "SYS-TOKEN", "USER-TOKEN"])
    #expect(parameters.allSatisfy { $0["oauth_callback"] == nil && $0["oauth_version"] == "1.0" })
    #expect(parameters.map { $0["oauth_timestamp"] } == Array(repeating: "1500000000", count: 3))
    #expect(Set(parameters.compactMap { $0["oauth_nonce"] }).count == 3)
    let bodies = script.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies[0] == "x_auth_mode=reverse_auth")
    #expect(
      bodies[1]
        == "x_reverse_auth_parameters=\(PercentEncoding.encode(Sample.requestToken))&x_reverse_auth_target=APP"
    )
    #expect(bodies[2].isEmpty)
    #expect(
      script.requests.map { $0.headers.contains(.init("Content-Type", FormEncoding.mediaType)) }
        == [true, true, false])
  }

  @Test(
    "The first answer is passed on unchanged",
    arguments: ["OAuth not really parameters", "OAuth a&b=c%20+\n", "OAuth ☃"])
  func verbatim(text: String) async throws {
    let script = Script(
      [.text(text), .text(Sample.accessToken), .json(Sample.chirpIdentity)],
      store: Sample.chirpStore())
    _ = try await perform(script)
    let sent = FormEncoding.decode(script.requests[1].body, plus: .plus)
    #expect(sent?.first == Parameter("x_reverse_auth_parameters", text))
  }

  @Test(
    "A first answer that is no OAuth header is not sent on",
    arguments: ["<html>Over capacity</html>", "", "oauth_token=a&oauth_token_secret=b"])
  func page(text: String) async throws {
    let script = Script([.text(text)], store: Sample.chirpStore())
    let problem = await #expect(throws: Problem.self) { try await perform(script) }
    #expect(problem?.reason == .providerFailure)
    #expect(script.requests.count == 1)
  }

  @Test(
    "The token is read as the original Einlass read it",
    arguments: [
      ("oauth_token=a%2Bb&oauth_token_secret=c+d", "a+b", "c+d"),
      ("oauth_token=x&oauth_token=y&oauth_token_secret=1&oauth_token_secret=2", "y", "2"),
      ("x=1&&oauth_token_secret=s&oauth_token=t&", "t", "s"),
    ])
  func tokens(body: String, token: String, secret: String) async throws {
    let script = Script(
      [.text(Sample.requestToken), .text(body), .json(Sample.chirpIdentity)],
      store: Sample.chirpStore())
    #expect(
      try await perform(script).credential
        == .oauth1(OAuth1Credential(token: Secret(token), tokenSecret: Secret(secret))))
  }

  @Test("An exchange of 3000 bytes is accepted, and one of 3001 means a banned account")
  func banPage() async throws {
    let padding = String(repeating: "x", count: 3000 - Sample.accessToken.utf8.count - 3)
    let fine = Sample.accessToken + "&p=" + padding
    #expect(fine.utf8.count == 3000)
    let script = Script(
      [.text(Sample.requestToken), .text(fine), .json(Sample.chirpIdentity)],
      store: Sample.chirpStore())
    _ = try await perform(script)

    let banned = Script(
      [.text(Sample.requestToken), .text(fine + "x")], store: Sample.chirpStore())
    #expect(await problem(banned)?.reason == .accountBanned)
    #expect(banned.store.accounts[0].health == .banned)
    #expect(banned.log == [Self.first, Self.second, "update"])
  }

  @Test("The rule for a ban applies only to successful exchanges")
  func banElsewhere() async throws {
    let long = String(repeating: "x", count: 3001)
    for replies: [Script.Reply] in [
      [.text(Sample.requestToken), .text(long, status: 500)],
      [.text(Sample.requestToken), .text(Sample.accessToken), .text(long)],
    ] {
      let script = Script(replies, store: Sample.chirpStore())
      #expect(await problem(script)?.reason == .providerFailure)
      #expect(script.store.accounts[0].health == .ok)
    }
  }

  @Test(
    "An invalid answer ends in providerFailure and stores nothing",
    arguments: [
      (0, Script.Reply.bytes([0xFF, 0xFE])), (0, .text("")), (1, .bytes([0x6F, 0xFF])),
      (1, .text("")), (1, .text("<html>hello</html>")), (1, .text("oauth_token=a")),
      (1, .text("oauth_token_secret=a")), (1, .text("oauth_token=&oauth_token_secret=b")),
      (1, .text("oauth_token=%zz&oauth_token_secret=b")),
      (1, .text("oauth_token=a%0Ab&oauth_token_secret=b")),
      (1, .json(#"{"oauth_token":"a","oauth_token_secret":"b"}"#)), (2, .text("<html></html>")),
      (2, .text("")), (2, .bytes([0xFF])), (2, .json("[]")), (2, .json("{}")),
      (2, .json("{\"id_str\":")),
      (2, .json(Sample.chirpIdentity.replacing("id_str", with: "id"))),
      (2, .json(Sample.chirpIdentity.replacing("\"7\"", with: "7"))),
      (2, .json(Sample.chirpIdentity.replacing("\"name\"", with: "\"n\""))),
      (2, .json(Sample.chirpIdentity.replacing("screen_name", with: "n"))),
      (2, .json(Sample.chirpIdentity.replacing("profile_image_url_https", with: "n"))),
      (2, .json(Sample.chirpIdentity.replacing("https://pbs.example", with: "not an address"))),
      (2, .json(#"{"id_str":"8",\#(Sample.chirpIdentity.dropFirst())"#)),
    ])
  func wrongAnswers(step: Int, reply: Script.Reply) async throws {
    let script = Script(Array(Self.happy.prefix(step)) + [reply], store: Sample.chirpStore())
    let problem = await problem(script)
    #expect(problem?.reason == .providerFailure)
    #expect(problem?.provider == "twitter")
    #expect(problem?.account == Account.ID(rawValue: "a_ada"))
    #expect(script.log == Array([Self.first, Self.second, Self.third].prefix(step + 1)))
    #expect(script.store.accounts == [Sample.account("ada", "twitter")])
  }

  @Test(
    "An e-mail address is optional",
    arguments: ["null", "7", "{}"])
  func optionalEmail(email: String) async throws {
    let identity = Sample.chirpIdentity.replacing("\"ada@example.org\"", with: email)
    let script = Script(Array(Self.happy.prefix(2)) + [.json(identity)], store: Sample.chirpStore())
    #expect(try await perform(script).identity?.email == nil)
  }

  @Test(
    "A transport error keeps its code and changes no account", arguments: [0, 1, 2])
  func transport(step: Int) async throws {
    let script = Script(
      Array(Self.happy.prefix(step)) + [.networkFailure(-1001)], store: Sample.chirpStore())
    let problem = await problem(script)
    #expect(problem?.reason == .networkFailure)
    #expect(problem?.networkCode == -1001)
    #expect(problem?.account == Account.ID(rawValue: "a_ada"))
    #expect(!script.log.contains("update"))
  }

  @Test(
    "An account without a stored credential needs a new sign-in, without a request")
  func signedOut() async throws {
    let script = Script(
      store: ScriptedStore(
        accounts: [Sample.account("ada", "twitter")], grants: Sample.grants("twitter", .granted)))
    let problem = await problem(script)
    #expect(problem?.reason == .reloginNeeded)
    #expect(
      problem?.hint == .init("accounts.signIn", ["account": "a_ada", "provider": "twitter"]))
    #expect(script.log.isEmpty)
  }

  @Test("A credential for another server is not sent")
  func binding() async throws {
    let script = Script(Self.happy, store: Sample.chirpStore())
    let moved = Einlass(
      catalog: try ProviderCatalog.builtIn.relocated(
        origins: ["https://api.twitter.com": "http://127.0.0.1:8080"]),
      store: script.store.accountStore, effects: script.effects)
    let request = PerformRequest(
      application: Sample.application, registration: Sample.registration, provider: "twitter",
      account: Account.ID(rawValue: "a_ada"))
    let error = await #expect(throws: Problem.self) {
      try await moved.perform(request, asking: script.asker())
    }
    #expect(error?.reason == .bindingMismatch)
    #expect(script.requests.isEmpty)
  }

  @Test("An account with the application's own token stays usable")
  func sameConsumer() async throws {
    let script = Script(Self.happy + Self.happy, store: Sample.chirpStore())
    let engine = try Sample.engine(script)
    let request = PerformRequest(
      application: Sample.application,
      registration: ClientRegistration(clientID: "SYS", clientSecret: Secret("SYS-SECRET")),
      provider: "twitter", account: Account.ID(rawValue: "a_ada"))
    _ = try await engine.perform(request, asking: script.asker())
    let stored = script.store.credentials(of: Account.ID(rawValue: "a_ada"))
    #expect(stored == Sample.chirpStore().credentials(of: Account.ID(rawValue: "a_ada")))
    _ = try await engine.perform(request, asking: script.asker())
  }
}
