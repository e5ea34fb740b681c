import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// OpenID Connect Core 1.0 section 3.1 and RFC 9207: the identity in an id_token, and the account
/// that it selects.
@Suite struct OpenIDSignInTests {
  private static let key = PrivateKey.generate(.ed25519)
  private static let stateParameter = AuthorizationCodeFlowTests.stateParameter
  private static let nonce = Base64URL.encode([UInt8](repeating: 3, count: 32))
  private static let issuer = "https://op.example/tenant"
  private static let exchange = "POST https://op.example/token"
  private static let keys = "GET https://op.example/keys"

  private static let provider = """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId"],\
    "identity":{"id":"/sub","username":"/preferred_username","email":"/email","required":["id"]},\
    "flows":[{"kind":"authorizationCode","authorize":{"method":"GET","url":"https://op.example/authorize"},\
    "promisesIssuer":true,"clientAuthentication":"none","token":{"method":"POST","url":"https://op.example/token"},\
    "refresh":{},"issuer":"\(issuer)","keySet":"https://op.example/keys","algorithms":["EdDSA"],"scopes":["openid","email"]}]}
    """
  private static let userinfo = """
    "identity":{"request":{"method":"GET","url":"https://op.example/userinfo","bearer":"{token}"},
    """

  private static var keySet: JSONValue {
    guard case .ed25519(let x) = key.publicParts else { return .null }
    return [
      "keys": [["kty": "OKP", "crv": "Ed25519", "kid": "k", "x": .string(Base64URL.encode(x))]]
    ]
  }

  private static func idToken(_ change: (inout JSONObject) -> Void = { _ in }) -> String {
    var claims: JSONObject = [
      "iss": .string(issuer), "sub": "42", "aud": "APP", "nonce": .string(nonce),
      "iat": JSONValue(Script.now), "exp": JSONValue(Script.now + 300),
      "preferred_username": "ada", "email": "ada@example.org",
    ]
    change(&claims)
    let parts: [JSONValue] = [["alg": "EdDSA", "kid": "k"], .object(claims)]
    let text = parts.map { Base64URL.encode($0.bytes()) }.joined(separator: ".")
    return "\(text).\(Base64URL.encode(key.sign(Array(text.utf8), .ed25519) ?? []))"
  }

  private static func token(_ idToken: String?, refreshToken: String? = "RT") -> Script.Reply {
    let object = JSONObject(present: [
      "access_token": "AT", "token_type": "Bearer", "expires_in": 300,
      "refresh_token": refreshToken.map(JSONValue.string),
      "id_token": idToken.map(JSONValue.string),
    ])
    return .bytes(JSONValue.object(object).bytes())
  }

  private static let good =
    "code=CODE&state=\(stateParameter)&iss=\(PercentEncoding.encode(issuer))"

  private func engine(_ script: Script, _ provider: String = provider) throws -> Einlass {
    Einlass(
      catalog: try ProviderCatalogTests.catalog(provider), store: script.store.accountStore,
      effects: script.effects)
  }

  private func signIn(
    _ script: Script, _ provider: String = provider,
    _ change: (inout SignInRequest) -> Void = { _ in }
  ) async throws -> Account {
    var request = SignInRequest(
      application: Sample.application, registration: ClientRegistration(clientID: "APP"),
      provider: "example")
    change(&request)
    return try await engine(script, provider).signIn(request, asking: script.asker([.openURL]))
      .account
  }

  private func script(
    _ replies: [Script.Reply], store: ScriptedStore = ScriptedStore()
  ) -> Script {
    Script(replies, answers: [.accept()], brought: [Self.good], store: store)
  }

  private static var replies: [Script.Reply] { [token(idToken()), .bytes(keySet.bytes())] }

  private static func known(_ subject: String?, named name: String = "ada") -> ScriptedStore {
    var account = Sample.account(name, "example")
    account.subject = subject
    account.health = .reloginNeeded
    return ScriptedStore(accounts: [account])
  }

  @Test func `The id_token identifies the person with only two requests`() async throws {
    let script = script(Self.replies)
    let account = try await signIn(script)
    #expect(account.username == "ada" && account.subject == "42")
    #expect(account.email == "ada@example.org")
    #expect(
      script.log[2...] == [
        Self.exchange, Self.keys, "add ada", "grant granted",
        "page signedIn(person: Optional(\"ada\"), isGranted: true)", "close",
      ])
    guard case .openURL(let page, _) = script.prompts[0] else { return }
    #expect(
      page.text.contains("&nonce=\(Self.nonce)") && page.text.contains("scope=openid%20email"))
    let form = FormEncoding.decode(script.requests[0].body, plus: .space)
    #expect(form?.last == Parameter("client_id", "APP"))
  }

  @Test func `Without an identity request the profile is the claims of the id_token`() async throws
  {
    let stating = Self.provider.replacing(
      #""email":"/email","#, with: #""email":"/email","emailVerified":"/email_verified","#)
    let claims = Self.idToken { $0["email_verified"] = "true" }
    let script = script([Self.token(claims), .bytes(Self.keySet.bytes())])
    let added = try await engine(script, stating).signIn(
      SignInRequest(
        application: Sample.application, registration: ClientRegistration(clientID: "APP"),
        provider: "example"), asking: script.asker([.openURL]))
    #expect(added.identity?.profile?["preferred_username"] == "ada")
    #expect(added.identity?.profile?["email_verified"] == "true")
    #expect(added.account.isEmailVerified && added.account.isReported)
  }

  @Test(
    "An invalid id_token stores nothing",
    arguments: [
      ("nonce", JSONValue.string("other"), "nonce"), ("aud", "other", "audience"),
      ("iss", "https://op.example", "issuer"), ("exp", 1, "expiry"), ("iat", 1, "expiry"),
      ("sub", "", "claims"), ("events", true, "signature"),
    ])
  func unbelievable(claim: String, value: JSONValue, check: String) async throws {
    let script = script([
      Self.token(Self.idToken { $0[claim] = value }), .bytes(Self.keySet.bytes()),
    ])
    let problem = await #expect(throws: Problem.self) { try await signIn(script) }
    #expect(problem?.reason == .verificationFailed && problem?.detail == check)
    #expect(script.store.accounts.isEmpty && script.log.last == "close")
    #expect(!"\(problem as Any)".contains("AT\""))
  }

  @Test func `A wrong signature, a missing id_token and missing keys are refused`() async throws {
    let foreign = Self.idToken().split(separator: ".")
    let cases: [([Script.Reply], Problem.Reason)] = [
      (
        [
          Self.token(
            "\(foreign[0]).\(foreign[1]).\(Base64URL.encode([UInt8](repeating: 1, count: 64)))"),
          .bytes(Self.keySet.bytes()),
        ], .verificationFailed
      ),
      ([Self.token(nil)], .verificationFailed),
      ([Self.token(Self.idToken()), .json("[]")], .providerFailure),
      ([Self.token(Self.idToken()), .json(#"{"keys":[]}"#)], .verificationFailed),
      ([Self.token(Self.idToken()), .networkFailure(-1004)], .networkFailure),
    ]
    for (replies, reason) in cases {
      let script = script(replies)
      let problem = await #expect(throws: Problem.self) { try await signIn(script) }
      #expect(problem?.reason == reason)
      #expect(script.store.accounts.isEmpty)
    }
  }

  @Test("A response with another issuer, or without one, ends the sign-in, and is not used")
  func mixUp() async throws {
    for (query, words) in [
      (
        "code=EVIL&state=\(Self.stateParameter)&iss=https%3A%2F%2Fop.example%2F",
        "names the issuer https://op.example/ instead of \(Self.issuer)."
      ),
      ("code=EVIL&state=\(Self.stateParameter)", "does not name its issuer"),
      (
        "error=access_denied&state=\(Self.stateParameter)&iss=https%3A%2F%2Fevil.example",
        "names the issuer https://evil.example instead of \(Self.issuer)."
      ),
    ] {
      let script = Script(Self.replies, answers: [.accept()], brought: [query, Self.good])
      let problem = await #expect(throws: Problem.self) { try await signIn(script) }
      #expect(problem?.reason == .verificationFailed)
      #expect(problem?.message.contains(words) == true)
      #expect(script.requests.isEmpty && script.store.accounts.isEmpty)
    }
  }

  @Test func `A known person is matched by the subject or else by the username`() async throws {
    for (subject, name) in [("42", "someone"), (nil, "ada")] as [(String?, String)] {
      let script = script(Self.replies, store: Self.known(subject, named: name))
      let account = try await signIn(script)
      #expect(account.id == Account.ID(rawValue: "a_\(name)") && account.health == .ok)
      #expect(script.store.accounts.count == 1 && account.subject == "42")
      #expect(script.store.credentials(of: account.id).count == 1)
    }
  }

  @Test func `A sign-in as another person than requested is refused and stores nothing`()
    async throws
  {
    let script = script(Self.replies, store: Self.known("41"))
    let problem = await #expect(throws: Problem.self) {
      try await signIn(script) { $0.account = Account.ID(rawValue: "a_ada") }
    }
    #expect(problem?.reason == .invalidChoice && problem?.account?.rawValue == "a_ada")
    #expect(script.store.credentials(of: Account.ID(rawValue: "a_ada")).isEmpty)
    #expect(script.log.contains { $0.hasPrefix("page failed") })
  }

  @Test func `The id_token and userinfo must have the same subject`() async throws {
    let asking = Self.provider.replacing(#""identity":{"#, with: Self.userinfo)
    for (subject, reason) in [("42", nil), ("43", Problem.Reason.verificationFailed)] {
      let script = script(
        Self.replies + [.json(#"{"sub":"\#(subject)","preferred_username":"x"}"#)])
      if let reason {
        let problem = await #expect(throws: Problem.self) { try await signIn(script, asking) }
        #expect(problem?.reason == reason && problem?.detail == "identity")
      } else {
        #expect(try await signIn(script, asking).username == "x")
      }
    }
  }

  @Test(
    "An identity request without a word about the person does not end a sign-in with an id_token",
    arguments: [
      (.lostAnswer, true), (.networkFailure(-1001), true), (.json("", status: 405), true),
      (.json("", status: 406), true), (.json("", status: 500), true),
      (.json("{}", status: 503), true), (.json("<html>"), true), (.json("[]"), true),
      (.json("", status: 400), false), (.json("", status: 401), false),
      (.json("", status: 403), false), (.json("", status: 404), false),
      (.json("", status: 429), false), (.json(#"{"sub":"43"}"#), false),
      (.json(#"{"name":"Ada"}"#), false),
    ] as [(Script.Reply, Bool)])
  func unreadableIdentity(reply: Script.Reply, completes: Bool) async throws {
    let asking = Self.provider.replacing(#""identity":{"#, with: Self.userinfo)
    let request = SignInRequest(
      application: Sample.application, registration: ClientRegistration(clientID: "APP"),
      provider: "example")
    for (words, isSubject) in [
      (asking, true), (asking.replacing(#""id":"/sub""#, with: #""id":"/email""#), false),
    ] {
      let script = script(Self.replies + [reply])
      let added = try? await engine(script, words).signIn(
        request, asking: script.asker([.openURL]))
      #expect((added != nil) == (completes && isSubject))
      #expect(added?.account.username == (added == nil ? nil : "ada"))
      #expect((added?.identityProblem != nil) == (added != nil))
      #expect(script.store.accounts.count == (added == nil ? 0 : 1))
    }
  }

  @Test(
    "An answer about the person that cannot be read is called what it is",
    arguments: [
      ("<html>", "is a web page"), ("[]", "is no JSON object"), ("", "is empty"),
      (#"{"sub":"42","sub":"43"}"#, "has the name sub twice"),
    ])
  func namedIdentity(body: String, words: String) async throws {
    let asking = Self.provider.replacing(#""identity":{"#, with: Self.userinfo)
    let request = SignInRequest(
      application: Sample.application, registration: ClientRegistration(clientID: "APP"),
      provider: "example")
    let script = script(Self.replies + [.json(body)])
    let added = try await engine(script, asking).signIn(
      request, asking: script.asker([.openURL]))
    #expect(added.identityProblem?.message.contains(words) == true)
  }

  @Test(
    "A short token inside a name or id does not change them",
    arguments: [("42-RATS", "42-RATS"), ("RATS", "CODER")])
  func shortSecrets(subject: String, username: String) async throws {
    let claims = Self.idToken {
      $0["sub"] = .string(subject)
      $0["preferred_username"] = .string(username)
    }
    let account = try await signIn(
      script([Self.token(claims), .bytes(Self.keySet.bytes())]))
    #expect(account.subject == subject && account.username == username)
  }

  @Test("A refresh with another person's id_token is refused, and an invalid id_token is dropped")
  func refresh() async throws {
    for (change, isTaken, keeps) in [
      ({ $0["nonce"] = nil }, true, false), ({ $0["sub"] = "43" }, false, true),
      ({ $0["aud"] = "x" }, true, true), ({ $0["azp"] = "x" }, true, true),
      ({ $0["iss"] = "https://evil.example" }, true, true),
    ] as [((inout JSONObject) -> Void, Bool, Bool)] {
      let first = script(Self.replies)
      let account = try await signIn(first)
      let stored = try #require(first.store.credentials(of: account.id).first)
      let store = ScriptedStore(
        accounts: [account], grants: Sample.grants("example", .granted),
        credentials: [account.id: [stored]])
      let fresh = Self.idToken(change)
      let script = Script(
        [Self.token(fresh, refreshToken: "RT2"), .bytes(Self.keySet.bytes())], store: store)
      let request = CredentialRequest(
        application: Sample.application,
        registration: { _ in ClientRegistration(clientID: "APP") }, account: account.id,
        forcesRefresh: true)
      let result = try? await engine(script).credential(request)
      #expect((result != nil) == isTaken)
      guard case .oauth2(let token)? = store.credentials(of: account.id).first?.credential else {
        return
      }
      #expect(token.refreshToken == Secret(isTaken ? "RT2" : "RT"))
      #expect(token.idToken == Secret(keeps ? Self.idToken() : fresh))
    }
  }

  @Test func `An id_token of a refresh is not stored where no key can verify it`() async throws {
    let first = script(Self.replies)
    let account = try await signIn(first)
    let store = ScriptedStore(
      accounts: [account], grants: Sample.grants("example", .granted),
      credentials: [account.id: first.store.credentials(of: account.id)])
    let fresh = Self.idToken { $0["iat"] = JSONValue(Script.now - 1) }
    let script = Script([Self.token(fresh, refreshToken: "RT2")], store: store)
    let words = Self.provider
      .replacing(#""identity":{"#, with: Self.userinfo)
      .replacing(#""keySet":"https://op.example/keys","algorithms":["EdDSA"],"#, with: "")
    _ = try await engine(script, words).credential(
      CredentialRequest(
        application: Sample.application,
        registration: { _ in ClientRegistration(clientID: "APP") }, account: account.id,
        forcesRefresh: true))
    guard case .oauth2(let token)? = store.credentials(of: account.id).first?.credential else {
      Issue.record("Nothing was stored.")
      return
    }
    #expect(token.refreshToken == Secret("RT2") && token.hasFormerIDToken)
    #expect(token.idToken == Secret(Self.idToken()))
  }

  @Test(arguments: [#""id":"/email""#, #""id":"/sub","idPrefix":"4""#])
  func
    `A refreshed token is stored even if the account's id is not the id_token's subject`(
      id: String
    ) async throws
  {
    let words = Self.provider.replacing(#""id":"/sub""#, with: id)
    let first = script(Self.replies)
    let account = try await signIn(first, words)
    #expect(account.subject == (id.contains("email") ? "ada@example.org" : "2"))
    let store = ScriptedStore(
      accounts: [account], grants: Sample.grants("example", .granted),
      credentials: [account.id: first.store.credentials(of: account.id)])
    let script = Script(
      [Self.token(Self.idToken(), refreshToken: "RT2"), .bytes(Self.keySet.bytes())], store: store)
    _ = try await engine(script, words).credential(
      CredentialRequest(
        application: Sample.application,
        registration: { _ in ClientRegistration(clientID: "APP") }, account: account.id,
        forcesRefresh: true))
    guard case .oauth2(let token)? = store.credentials(of: account.id).first?.credential else {
      Issue.record("Nothing was stored.")
      return
    }
    #expect(token.refreshToken == Secret("RT2"))
    // The expected id is compared in the account's form.
    for (id, isValid) in [(account.subject, true), ("42", false)] {
      let script = Script([.bytes(Self.keySet.bytes())])
      let found = try await engine(script, words).verify(
        VerifyRequest(
          application: Sample.application, registration: ClientRegistration(clientID: "APP"),
          provider: "example", subject: .idToken(Secret(Self.idToken())), expected: .init(id: id)))
      #expect(found.isValid == isValid)
    }
  }

  @Test(
    "The front end brings an answer in the mode of the descriptor",
    arguments: [
      ("fragment", "#", nil), ("fragment", "?", nil), ("query", "?", nil),
      ("query", "#", .stateMismatch), ("form_post", "?", .flowNotSupported),
    ] as [(String, String, Problem.Reason?)])
  func broughtModes(mode: String, mark: String, reason: Problem.Reason?) async throws {
    let provider = Self.provider.replacing(
      #""promisesIssuer""#, with: #""responseMode":"\#(mode)","promisesIssuer""#)
    let address = Secret("app:/back\(mark)\(Self.good)")
    let script = Script(Self.replies, answers: [.accept(text: address)])
    func signedIn() async throws -> Account {
      try await signIn(script, provider) { $0.registration?.redirect = "app:/back" }
    }
    guard let reason else {
      _ = try await signedIn()
      return
    }
    let problem = await #expect(throws: Problem.self) { try await signedIn() }
    #expect(problem?.reason == reason)
  }

  /// RFC 9126 sections 2.1 and 4.
  @Test func `Pushed parameters are not in the browser's address`() async throws {
    let pushing = Self.provider.replacing(
      #""promisesIssuer""#,
      with:
        #""pushed":{"method":"POST","url":"https://op.example/par","form":{"extra":"1"}},"promisesIssuer""#
    )
    let script = script(
      [.json(#"{"request_uri":"urn:example:1&","expires_in":60}"#, status: 201)] + Self.replies)
    let account = try await signIn(script, pushing) {
      $0.customParameters = [Parameter("hl", "de")]
    }
    #expect(account.subject == "42")
    #expect(script.log[1...2] == ["POST https://op.example/par", "ask openURL op.example"])
    guard case .openURL(let page, _) = script.prompts[0] else { return }
    #expect(
      page.text
        == "https://op.example/authorize?client_id=APP&request_uri=urn%3Aexample%3A1%26")
    let form = try #require(FormEncoding.decode(script.requests[0].body, plus: .space))
    for (name, value) in [
      ("state", Self.stateParameter), ("nonce", Self.nonce), ("client_id", "APP"), ("hl", "de"),
      ("code_challenge_method", "S256"), ("response_type", "code"), ("extra", "1"),
    ] {
      #expect(form.filter { $0.name == name } == [Parameter(name, value)])
    }
  }

  @Test(arguments: [
    (
      Script.Reply.json(#"{"error":"invalid_client"}"#, status: 401),
      Problem.Reason.authenticatorUnconfigured
    ),
    (.json(#"{"error":"invalid_request"}"#, status: 400), .providerFailure),
    (.json(#"{"expires_in":60}"#, status: 201), .providerFailure),
    (.json(#"{"request_uri":"a b"}"#, status: 201), .providerFailure),
    (.json(#"{"error":"temporarily_unavailable"}"#, status: 503), .providerFailure),
  ])
  func `A failed pushed request opens no browser`(reply: Script.Reply, reason: Problem.Reason)
    async throws
  {
    let pushing = Self.provider.replacing(
      #""promisesIssuer""#,
      with: #""pushed":{"method":"POST","url":"https://op.example/par"},"promisesIssuer""#)
    let script = script([reply])
    let problem = await #expect(throws: Problem.self) { try await signIn(script, pushing) }
    #expect(problem?.reason == reason)
    #expect(script.prompts.isEmpty && script.log.last == "close")
  }
}
