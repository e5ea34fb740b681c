import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// RFC 7523 section 2.1, RFC 8693 section 2 and the Identity Assertion JWT Authorization Grant: a
/// sign-in by an assertion.
@Suite struct AssertionFlowTests {
  private typealias World = AssertionWorld

  private func problem(
    _ script: Script, _ request: SignInRequest, idp: String = World.idpDescriptor(),
    target: String = World.targetDescriptor()
  ) async throws -> Problem? {
    let engine = try World.engine(script, idp: idp, target: target)
    do throws(Problem) {
      _ = try await engine.signIn(request, asking: script.asker([]))
      return nil
    } catch { return error }
  }

  @Test func `The issuer turns an id_token into an assertion, and the server into a token`()
    async throws
  {
    let script = Script([World.issued(World.jwt()), World.token()], store: World.store())
    var request = World.request(resource: "https://mcp.example/")
    request.scopes = ["files.read", "files.write"]
    let added = try await World.engine(script).signIn(request, asking: script.asker([]))
    #expect(added.created && added.account.subject == "ada-7" && added.account.username == "ada")
    #expect(script.prompts.isEmpty)
    #expect(
      script.requests.map(\.address.text) == ["https://idp.example/token", World.tokenAddress])
    #expect(
      World.form(script.requests[0])
        == World.identityAssertionRequest(
          resource: "https://mcp.example/", scope: "files.read files.write") + [
          Parameter("subject_token", World.idToken()),
          Parameter("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ])
    #expect(
      World.form(script.requests[1]) == [
        Parameter("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        Parameter("assertion", World.jwt()), Parameter("scope", "files.read files.write"),
        Parameter("resource", "https://mcp.example/"),
      ])
    let clients = script.requests.map { request in
      request.headers.first { $0.name == "Authorization" }?.value
    }
    #expect(
      clients
        == [("IDP-APP", World.idpSecret), ("AS-APP", "AS-SECRET")].map { id, secret in
          "Basic " + Base64.encode(Array("\(id):\(FormEncoding.encode(component: secret))".utf8))
        })
    let stored = script.store.credentials(of: added.account.id).first
    #expect(World.text(stored) == "AT" && stored?.resource == "https://mcp.example/")
    #expect(stored?.assertionSource == .account(provider: "idp", subject: "ada-7"))
    #expect(stored?.binding.flowKind == .jwtBearer)
  }

  @Test func `The file of the registration is an assertion`() async throws {
    let script = Script([World.token()])
    script.write(World.jwt { $0["sub"] = "workload/1" }, to: World.file)
    let account = try await World.engine(script)
      .signIn(World.request(from: nil), asking: script.asker([])).account
    #expect(account.subject == "workload/1" && account.username == "workload/1")
    #expect(
      World.form(script.requests[0]) == [
        Parameter("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        Parameter("assertion", World.jwt { $0["sub"] = "workload/1" }),
      ])
    #expect(script.store.credentials(of: account.id).first?.assertionSource == .file)
  }

  @Test func `Without a source of an assertion both ways are named`() async throws {
    for kind in [FlowKind.jwtBearer, .tokenExchange] {
      let script = Script(store: World.store())
      var request = World.request(kind, from: nil)
      request.registration?.assertionFile = nil
      let problem = try await problem(script, request)
      #expect(problem?.reason == .authenticatorUnconfigured && problem?.detail == "assertionFile")
      #expect(problem?.advice == .nameAssertion)
      #expect(script.requests.isEmpty)
    }
  }

  @Test func `A missing registration is reported without a registration on request`() async throws {
    let script = Script(store: World.store())
    var request = World.request()
    request.registration = nil
    let target = World.targetDescriptor(
      identity:
        #""dynamicRegistration":{"url":"https://as.example/register","clientAuthentication":"none"},"#
    )
    let problem = try await problem(script, request, target: target)
    #expect(problem?.reason == .authenticatorUnconfigured && problem?.detail == "clientId")
    #expect(script.requests.isEmpty)
  }

  @Test func `A parameter for a page is refused before the source is asked`() async throws {
    let script = Script(store: World.store(idToken: World.idToken(seconds: -1)))
    var request = World.request()
    request.openID.loginHint = "ada"
    let problem = try await problem(script, request)
    #expect(problem?.reason == .invalidParameter && problem?.path == "/page/loginHint")
    #expect(script.requests.isEmpty)
  }

  @Test func `A sign-in without a flow kind is never by an assertion`() async throws {
    let script = Script(store: World.store())
    var request = World.request(nil, from: nil)
    request.flowKind = nil
    #expect(try await problem(script, request)?.reason == .flowNotSupported)
    #expect(
      try World.engine(script).catalog.provider("as").signInKind(asking: [.openURL]) == nil)
  }

  // MARK: Assertions that are not sent

  private static let bad: [(name: String, text: String)] = [
    ("aud", World.jwt { $0["aud"] = "https://other.example" }),
    ("aud", World.jwt { $0["aud"] = .string(World.issuer + "/") }),
    ("aud", World.jwt { $0["aud"] = ["https://other.example", "x"] }),
    ("aud", World.jwt { $0["aud"] = nil }), ("aud", World.jwt { $0["aud"] = 1 }),
    ("aud", World.jwt { $0["aud"] = [] }),
    ("exp", World.jwt { $0["exp"] = JSONValue(Script.now) }),
    ("exp", World.jwt { $0["exp"] = nil }),
    ("exp", World.jwt { $0["exp"] = "tomorrow" }),
    ("iss", World.jwt { $0["iss"] = nil }), ("iss", World.jwt { $0["iss"] = "" }),
    ("sub", World.jwt { $0["sub"] = nil }), ("sub", World.jwt { $0["sub"] = "a\nb" }),
    ("form", ""), ("form", "opaque"), ("form", World.jwt(signature: "")),
    ("form", World.jwt() + ".x"), ("form", "e30.e30"), ("form", "e30.W10.c2ln"),
    ("form", "!.e30.c2ln"),
    ("tooLong", World.jwt { $0["x"] = .string(String(repeating: "a", count: 16 << 10)) }),
  ]

  @Test(arguments: bad.indices)
  func `An assertion for another audience, expired, incomplete or malformed is not sent`(
    _ index: Int
  ) async throws {
    let (name, text) = Self.bad[index]
    let byFile = Script()
    byFile.write(text, to: World.file)
    let ofFile = try await problem(byFile, World.request(from: nil))
    #expect(ofFile?.reason == .verificationFailed && ofFile?.detail == name)
    #expect(byFile.requests.isEmpty)
    let byIssuer = Script([World.issued(text)], store: World.store())
    let ofIssuer = try await problem(byIssuer, World.request())
    #expect(ofIssuer?.reason == .verificationFailed && ofIssuer?.detail == name)
    #expect(byIssuer.requests.map(\.address.host) == ["idp.example"])
    #expect(byIssuer.store.accounts.count == 1)
  }

  @Test func `An assertion for the token endpoint or for several servers is sent`() async throws {
    for audience: JSONValue in [
      .string(World.tokenAddress), ["https://other.example", .string(World.issuer)],
    ] {
      let script = Script([World.token()])
      script.write(World.jwt { $0["aud"] = audience }, to: World.file)
      #expect(try await problem(script, World.request(from: nil)) == nil)
    }
  }

  @Test func `A missing file is a problem of the configuration`() async throws {
    let script = Script()
    let problem = try await problem(script, World.request(from: nil))
    #expect(problem?.reason == .authenticatorUnconfigured && problem?.path == World.file)
    #expect(script.requests.isEmpty)
  }

  @Test func `A refused assertion is not sent again until its file changes`() async throws {
    let script = Script([World.refusal])
    script.write(World.jwt(), to: World.file)
    let request = World.request(from: nil)
    let refused = try await problem(script, request)
    #expect(refused?.serverError?.code == "invalid_grant" && script.requests.count == 1)
    let again = try await problem(script, request)
    #expect(again?.reason == .verificationFailed && again?.detail == "refused")
    #expect(script.requests.count == 1)
    script.write(World.jwt { $0["jti"] = "2" }, to: World.file)
    script.reply(World.token())
    #expect(try await problem(script, request) == nil)
    #expect(script.requests.count == 2)
  }

  @Test func `An assertion is sent again after a failure that is not about it`() async throws {
    let script = Script([.json(#"{"error":"invalid_client"}"#, status: 401), World.token()])
    script.write(World.jwt(), to: World.file)
    #expect(
      try await problem(script, World.request(from: nil))?.reason == .authenticatorUnconfigured)
    #expect(try await problem(script, World.request(from: nil)) == nil)
  }

  // MARK: The issuer

  @Test(arguments: [
    World.issued(World.jwt(), type: "access_token"), World.issued(World.jwt(), tokenType: "Bearer"),
    .json(#"{"access_token":"x"}"#), .json("{}"),
  ])
  func `Another token than the requested assertion is not sent`(_ reply: Script.Reply) async throws
  {
    let script = Script([reply], store: World.store())
    let problem = try await problem(script, World.request())
    #expect(problem?.reason == .providerFailure && problem?.message.contains("IdP") == true)
    #expect(script.requests.count == 1)
  }

  @Test func `A refusal of the issuer is about the account there, without its tokens`() async throws
  {
    let script = Script(
      [
        .json(
          #"{"error":"invalid_grant","error_description":"no \#(World.idToken())"}"#, status: 400)
      ], store: World.store())
    let problem = try await problem(script, World.request())
    #expect(problem?.provider == "idp" && problem?.account == World.adaID)
    #expect(problem?.serverError?.code == "invalid_grant")
    #expect(problem?.serverError?.text?.contains(World.idToken()) == false)
    #expect(script.store.accounts[0].health == .ok)
  }

  @Test(arguments: [
    "",
    #",{"kind":"tokenExchange","token":{"method":"POST","url":"https://idp.example/token"},"#
      + #""requestedTokenTypes":["urn:ietf:params:oauth:token-type:access_token"]}"#,
  ])
  func `An id_token is the assertion only if it is for the server`(_ flows: String) async throws {
    let idp = World.idpDescriptor(flows)
    let foreign = Script(store: World.store())
    let problem = try await problem(foreign, World.request(), idp: idp)
    #expect(problem?.reason == .flowNotSupported && foreign.requests.isEmpty)
    #expect(problem?.message.contains("does not offer assertions") == true)
    let idToken = World.idToken(audience: ["IDP-APP", .string(World.issuer)])
    let script = Script([World.token()], store: World.store(idToken: idToken))
    #expect(try await self.problem(script, World.request(), idp: idp) == nil)
    #expect(World.form(script.requests[0])[1] == Parameter("assertion", idToken))
  }

  @Test func `An id_token leaves for no origin outside its binding`() async throws {
    let flows = World.identityAssertions.replacing(
      "https://idp.example/token", with: "https://evil.example/token")
    let script = Script(store: World.store())
    let problem = try await problem(script, World.request(), idp: World.idpDescriptor(flows))
    #expect(problem?.reason == .bindingMismatch && script.requests.isEmpty)
    // The control: at its own origin the exchange works.
    let own = Script([World.issued(World.jwt()), World.token()], store: World.store())
    #expect(try await self.problem(own, World.request()) == nil)
  }

  @Test func `An issuer that names identity assertions is asked for one`() async throws {
    let flows = """
      ,{"kind":"tokenExchange","token":{"method":"POST","url":"https://idp.example/token"},\
      "requestedTokenTypes":["a","urn:ietf:params:oauth:token-type:id-jag"]}
      """
    let script = Script([World.issued(World.jwt()), World.token()], store: World.store())
    #expect(
      try await problem(script, World.request(), idp: World.idpDescriptor(flows)) == nil)
  }

  // MARK: The account with the id_token

  @Test func `An application without access to the source account gets no assertion`() async throws
  {
    let script = Script(store: World.store(granted: false))
    let problem = try await problem(script, World.request())
    #expect(problem?.reason == .accessNotGranted && problem?.provider == "idp")
    #expect(script.requests.isEmpty)
  }

  @Test func `An id_token of another application is not shown`() async throws {
    let script = Script(store: World.store())
    var request = World.request()
    request.registrations = { _ in ClientRegistration(clientID: "OTHER") }
    let problem = try await problem(script, request)
    #expect(problem?.reason == .notIssuedToThisClient && script.requests.isEmpty)
  }

  @Test func `The hint for a missing id_token keeps the scopes and adds openid`() async throws {
    for (granted, wanted) in [(["openid"], ["openid"]), (["mail"], ["openid", "mail"])] {
      let script = Script(store: World.store(idToken: nil, scopes: granted))
      let problem = try await problem(script, World.request())
      #expect(problem?.detail == "assertionSource" && problem?.account == World.adaID)
      #expect(problem?.hint?.parameters == ["provider": "idp", "account": "a_ada"])
      #expect(problem?.hint?.lists == ["scopes": wanted])
    }
  }

  @Test func `An account without an id_token, signed out or unknown gives no assertion`()
    async throws
  {
    for (store, reason) in [
      (World.store(idToken: nil), Problem.Reason.reloginNeeded),
      (World.store(isSignedIn: false), .reloginNeeded), (ScriptedStore(), .unknownAccount),
    ] {
      let script = Script(store: store)
      #expect(try await problem(script, World.request())?.reason == reason)
      #expect(script.requests.isEmpty)
    }
  }

  @Test func `An ended id_token is refreshed first, and stored, before it is exchanged`()
    async throws
  {
    let fresh = World.idToken(seconds: 7200)
    let script = Script(
      [
        .json(
          #"{"access_token":"IDP-AT2","token_type":"Bearer","expires_in":3600,"id_token":"\#(fresh)"}"#
        ), World.issued(World.jwt()), World.token(),
      ], store: World.store(idToken: World.idToken(seconds: -1)))
    #expect(try await problem(script, World.request()) == nil)
    #expect(World.form(script.requests[0]).contains(Parameter("grant_type", "refresh_token")))
    #expect(World.form(script.requests[1]).contains(Parameter("subject_token", fresh)))
    let saved = script.log.firstIndex(of: "save application IDP-APP")
    let exchanged = script.log.lastIndex(of: "POST https://idp.example/token")
    #expect(try #require(saved) < #require(exchanged))
  }

  // MARK: The new account

  @Test func `The account is that of the person whom the provider identifies`() async throws {
    let script = Script(
      [World.issued(World.jwt()), World.token(), .json(#"{"sub":"as-1"}"#)], store: World.store())
    let engine = try World.engine(
      script, target: World.targetDescriptor(identity: World.userinfo))
    let account = try await engine.signIn(World.request(), asking: script.asker([])).account
    #expect(account.subject == "as-1")
  }

  @Test func `The subject of the assertion stands in for a refused identity request`() async throws
  {
    let script = Script(
      [World.issued(World.jwt()), World.token(), .json("{}", status: 403)], store: World.store())
    let engine = try World.engine(
      script, target: World.targetDescriptor(identity: World.userinfo))
    let account = try await engine.signIn(World.request(), asking: script.asker([])).account
    #expect(account.subject == "ada-7" && script.requests.count == 3)
    let failing = Script(
      [World.issued(World.jwt()), World.token(), .json("{}", status: 500)], store: World.store())
    let problem = try await problem(
      failing, World.request(), target: World.targetDescriptor(identity: World.userinfo))
    #expect(problem?.isRetryable == true && failing.store.accounts.count == 1)
  }

  /// A store with a further account at the server, whose subject or user name is the assertion's.
  private func store(subject: String?, named name: String) -> ScriptedStore {
    let store = World.store()
    var other = Sample.account(name, "as")
    other.id = Account.ID(rawValue: "a_other")
    other.subject = subject
    return ScriptedStore(
      accounts: store.accounts + [other], grants: store.grants,
      credentials: [World.adaID: store.credentials(of: World.adaID)])
  }

  @Test func `An account with the same subject by chance is not taken over unless it is named`()
    async throws
  {
    for (subject, name) in [("ada-7", "eve"), (nil, "ada")] {
      let script = Script(
        [World.issued(World.jwt()), World.token()], store: store(subject: subject, named: name))
      let problem = try await problem(script, World.request())
      #expect(problem?.reason == .accountExists && problem?.account?.rawValue == "a_other")
      #expect(script.store.credentials(of: Account.ID(rawValue: "a_other")).isEmpty)
      script.reply(World.issued(World.jwt { $0["jti"] = "2" }), World.token())
      var request = World.request()
      request.account = Account.ID(rawValue: "a_other")
      #expect(try await self.problem(script, request) == nil)
      #expect(
        World.text(script.store.credentials(of: Account.ID(rawValue: "a_other")).first) == "AT")
    }
  }

  @Test(
    arguments: [
      (.account(provider: "idp", subject: "7"), false), (.file, false),
      (.account(provider: "idp", subject: "ada-7"), true), (nil, true),
    ] as [(AssertionSource?, Bool)])
  func `A sign-in with a page takes over no account that has its name from an assertion`(
    source: AssertionSource?, isTaken: Bool
  ) async throws {
    let other = Account.ID(rawValue: "a_other")
    let credential = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: World.target.clientID),
      credential: .oauth2(OAuth2Credential(accessToken: Secret("FORMER"))),
      binding: ProviderBinding(
        origins: ["https://as.example"], clientID: World.target.clientID, flowKind: .jwtBearer),
      assertionSource: source)
    let page = """
      "flows":[{"kind":"authorizationCode","authorize":{"method":"GET","url":"https://as.example/authorize"},\
      "redirect":{},"token":{"method":"POST","url":"\(World.tokenAddress)"}},
      """
    let target = World.targetDescriptor(identity: World.userinfo)
      .replacing("\"flows\":[", with: page)
    func signIn(_ account: Account.ID?) async throws -> Problem? {
      let script = Script(
        [World.token("NEW"), .json(#"{"sub":"7"}"#)], answers: [.accept()],
        brought: [AuthorizationCodeFlowTests.good()], store: store(subject: "7", named: "eve"))
      script.store.put(credential, of: other)
      var request = World.request(nil, from: nil)
      request.account = account
      let engine = try World.engine(script, target: target)
      do throws(Problem) {
        _ = try await engine.signIn(request, asking: script.asker([.openURL]))
      } catch {
        #expect(World.text(script.store.credentials(of: other).first) == "FORMER")
        return error
      }
      #expect(World.text(script.store.credentials(of: other).first) == "NEW")
      return nil
    }
    let problem = try await signIn(nil)
    #expect(problem?.reason == (isTaken ? nil : .accountExists))
    #expect(problem?.hint?.parameters["account"] == (isTaken ? nil : "a_other"))
  }

  @Test(arguments: [("1", false), (nil, true)] as [(String?, Bool)])
  func `An assertion with an id is sent once, even if its issuer returns it again`(
    id: String?, isSentAgain: Bool
  ) async throws {
    let assertion = World.jwt { $0["jti"] = id.map(JSONValue.string) }
    let script = Script(
      [World.issued(assertion), World.token(), World.issued(assertion), World.token("AT2")],
      store: World.store())
    #expect(try await problem(script, World.request()) == nil)
    let again = try await problem(script, World.request())
    #expect(again?.reason == (isSentAgain ? nil : .verificationFailed))
    #expect(again?.detail == (isSentAgain ? nil : "used"))
    #expect(script.requests.count == (isSentAgain ? 4 : 3))
  }

  @Test func `A file with an id is sent again, because workloads show it until its end`()
    async throws
  {
    let script = Script([World.token(), World.token("AT2")])
    script.write(World.jwt(), to: World.file)
    for _ in 0..<2 { #expect(try await problem(script, World.request(from: nil)) == nil) }
    #expect(script.requests.count == 2)
  }

  @Test func `A second sign-in from the same source replaces the credential`() async throws {
    let script = Script(
      [
        World.issued(World.jwt()), World.token(), World.issued(World.jwt { $0["jti"] = "2" }),
        World.token("AT2"),
      ], store: World.store())
    let engine = try World.engine(script)
    let first = try await engine.signIn(World.request(), asking: script.asker([]))
    let second = try await engine.signIn(World.request(), asking: script.asker([]))
    #expect(first.account.id == second.account.id && !second.created)
    // Without a flow kind the named account is signed in to as before.
    script.reply(World.issued(World.jwt { $0["jti"] = "3" }), World.token("AT3"))
    var again = World.request(nil, from: nil)
    again.account = first.account.id
    _ = try await engine.signIn(again, asking: script.asker([]))
    let stored = script.store.credentials(of: first.account.id)
    #expect(stored.count == 1 && World.text(stored.first) == "AT3")
    #expect(stored.first?.assertionSource == .account(provider: "idp", subject: "ada-7"))
  }

  @Test func `Errors of the server contain neither the assertion nor the id_token`() async throws {
    let script = Script(
      [
        World.issued(World.jwt()),
        .json(
          #"{"error":"invalid_grant","error_description":"bad \#(World.jwt()) \#(World.idToken())"}"#,
          status: 400),
      ], store: World.store())
    let text = try await problem(script, World.request())?.serverError?.text
    #expect(text?.hasPrefix("bad ") == true)
    #expect(text?.contains(World.jwt().prefix(20)) == false)
  }

  // MARK: Token exchange

  @Test func `A file is exchanged for a token`() async throws {
    let script = Script([World.token()])
    script.write(World.jwt(), to: World.file)
    let account = try await World.engine(script)
      .signIn(World.request(.tokenExchange, from: nil), asking: script.asker([])).account
    #expect(
      World.form(script.requests[0]) == [
        Parameter("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        Parameter("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        Parameter("subject_token", World.jwt()),
        Parameter("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
      ])
    let stored = script.store.credentials(of: account.id).first
    #expect(account.subject == "ada-7" && stored?.assertionSource == .file)
    #expect(stored?.binding.flowKind == .tokenExchange)
  }

  @Test func `A file for the audience of the descriptor is exchanged, and no other`() async throws {
    let target = World.targetDescriptor(more: #","form":{"audience":"//pool/1"}"#)
    for (audience, isSent) in [("//pool/1", true), ("//pool/2", false)] {
      let script = Script([World.token()])
      script.write(World.jwt { $0["aud"] = .string(audience) }, to: World.file)
      let problem = try await problem(
        script, World.request(.tokenExchange, from: nil), target: target)
      #expect((problem == nil) == isSent && script.requests.isEmpty == !isSent)
      if isSent {
        #expect(World.form(script.requests[0]).last == Parameter("audience", "//pool/1"))
      }
    }
  }

  @Test func `An id_token is exchanged at a server that it is for, and at no other`() async throws {
    let foreign = Script(store: World.store())
    let problem = try await problem(foreign, World.request(.tokenExchange))
    #expect(problem?.reason == .flowNotSupported && foreign.requests.isEmpty)
    let idToken = World.idToken(audience: ["IDP-APP", .string(World.issuer)])
    let script = Script([World.token()], store: World.store(idToken: idToken))
    #expect(try await self.problem(script, World.request(.tokenExchange)) == nil)
    #expect(
      World.form(script.requests[0]).contains(
        Parameter("subject_token_type", "urn:ietf:params:oauth:token-type:id_token")))
  }

  @Test func `At its own issuer an id_token is exchanged for a resource, not for its own place`()
    async throws
  {
    for (resource, reason) in [
      ("https://mcp.example/", nil), (nil, Problem.Reason.invalidChoice),
    ] {
      let script = Script([World.token(), .json(#"{"sub":"ada-7"}"#)], store: World.store())
      var request = World.request(.tokenExchange, resource: resource)
      request.provider = "idp"
      request.registration = World.idp
      let problem = try await problem(script, request)
      #expect(problem?.reason == reason)
      let stored = script.store.credentials(of: World.adaID)
      #expect(stored.contains { World.text($0) == "IDP-AT" })
      #expect(stored.count == (reason == nil ? 2 : 1))
    }
  }

  @Test(arguments: ["refresh_token", "id-jag", "saml2"])
  func `A token of another type is no access token`(_ type: String) async throws {
    let more = #","issued_token_type":"urn:ietf:params:oauth:token-type:\#(type)""#
    let script = Script([World.token(more: more)])
    script.write(World.jwt(), to: World.file)
    let problem = try await problem(script, World.request(.tokenExchange, from: nil))
    #expect(problem?.reason == .providerFailure && script.store.accounts.isEmpty)
  }
}
