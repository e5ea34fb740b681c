import EinlassCrypto
import TestSupport
import Testing

@testable import Einlass

/// RFC 8707: an account with credentials of one registration for several resources.
@Suite struct ResourceCredentialTests {
  static let photos = "https://photos.example/mcp"
  static let mail = "https://mail.example/mcp"
  static let fresh = #"{"access_token":"NEW","token_type":"Bearer","expires_in":3600}"#

  /// A store with expiring tokens for two resources, and a lasting token for no resource.
  static func store(endsIn seconds: Int64 = 0, health: Account.Health = .ok) -> ScriptedStore {
    var account = Sample.account("ada", "sequencing")
    account.health = health
    return ScriptedStore(
      accounts: [account], grants: Sample.grants("sequencing", .granted),
      credentials: [
        account.id: [nil, photos, mail].map { resource in
          StoredCredential(
            role: .application, registration: ClientRegistration(clientID: "APP"),
            credential: .oauth2(
              OAuth2Credential(
                accessToken: Secret(resource ?? "PLAIN"), scopes: ["demo"],
                expiresAt: Script.now + (resource == nil ? 5000 : seconds),
                refreshToken: Secret("RT \(resource ?? "")"))),
            binding: ProviderBinding(
              origins: ["https://sequencing.com"], clientID: "APP", flowKind: .authorizationCode),
            resource: resource)
        }
      ])
  }

  static func request(_ resource: String?, scopes: [String] = []) -> CredentialRequest {
    var request = RetrievalTests.request("ada")
    request.resource = resource
    request.scopes = scopes
    request.promptKinds = [.openURL]
    return request
  }

  private func token(_ script: Script, _ request: CredentialRequest) async throws -> String? {
    guard
      case .oauth2(let token)? = try await Sample.engine(script).credential(request).credential
    else { return nil }
    return revealedText(token.accessToken)
  }

  private func stored(_ script: Script, _ resource: String?) -> OAuth2Credential? {
    let stored = script.store.credentials(of: Account.ID(rawValue: "a_ada"))
      .first { $0.resource == resource }?.credential
    if case .oauth2(let token)? = stored { return token } else { return nil }
  }

  @Test func `Each token is handed out for its own resource, and one without for none`()
    async throws
  {
    for resource in [nil, Self.photos, Self.mail] {
      let script = Script(store: Self.store(endsIn: 5000))
      #expect(try await token(script, Self.request(resource)) == resource ?? "PLAIN")
      #expect(script.requests.isEmpty)
    }
  }

  @Test(
    "For another resource no token is handed out, and the hint says how to get one",
    arguments: [
      "https://photos.example/", "https://photos.example/mcp/", "HTTPS://photos.example/mcp",
    ])
  func other(_ resource: String) async throws {
    let script = Script(store: Self.store())
    let problem = await #expect(throws: Problem.self) {
      try await token(script, Self.request(resource))
    }
    #expect(problem?.reason == .reloginNeeded)
    #expect(
      problem?.hint
        == .init("accounts.signIn", ["account": "a_ada", "resource": resource]))
    #expect(script.requests.isEmpty)
  }

  @Test func `A refresh names the resource and leaves the other tokens alone`() async throws {
    let script = Script([.json(Self.fresh)], store: Self.store())
    #expect(try await token(script, Self.request(Self.photos)) == "NEW")
    let form = try #require(FormEncoding.decode(script.requests[0].body, plus: .space))
    #expect(form.contains(Parameter("resource", Self.photos)))
    #expect(form.contains(Parameter("refresh_token", "RT \(Self.photos)")))
    #expect(stored(script, Self.photos)?.accessToken == Secret("NEW"))
    #expect(stored(script, Self.mail)?.accessToken == Secret(Self.mail))
    #expect(stored(script, nil)?.accessToken == Secret("PLAIN"))
  }

  @Test func `A refused refresh token of one resource ends only that token and is not tried again`()
    async throws
  {
    let script = Script(
      [.json(#"{"error":"invalid_grant"}"#, status: 400)], store: Self.store())
    for _ in 0..<2 {
      let problem = await #expect(throws: Problem.self) {
        try await token(script, Self.request(Self.photos))
      }
      #expect(problem?.reason == .reloginNeeded && problem?.hint?.parameters["resource"] != nil)
    }
    #expect(script.requests.count == 1)
    #expect(script.store.accounts[0].health == .ok)
    #expect(stored(script, Self.mail)?.refreshToken != nil)
    script.reply(.json(Self.fresh))
    #expect(try await token(script, Self.request(Self.mail)) == "NEW")
  }

  @Test func `A token that lacks a requested scope is not handed out`() async throws {
    let script = Script(store: Self.store(endsIn: 5000))
    let problem = await #expect(throws: Problem.self) {
      try await token(script, Self.request(Self.photos, scopes: ["demo", "more"]))
    }
    #expect(problem?.reason == .reloginNeeded && problem?.detail == "more")
    #expect(problem?.hint?.lists["scopes"] == ["demo", "more"])
    // Negative control.
    #expect(
      try await token(script, Self.request(Self.photos, scopes: ["demo"])) == Self.photos)
  }

  @Test func `The token of a resource is refreshed even if the account needs a new sign-in`()
    async throws
  {
    let script = Script([.json(Self.fresh)], store: Self.store(health: .reloginNeeded))
    #expect(try await token(script, Self.request(Self.photos)) == "NEW")
  }

  @Test(arguments: [(photos, true), (mail, false)])
  func `A refreshed token for another resource is dropped, and its refresh token is kept`(
    _ audience: String, isTaken: Bool
  ) async throws {
    let claims = Base64URL.encode(Array(#"{"aud":"\#(audience)"}"#.utf8))
    let fresh = "e30.\(claims).c2ln"
    let script = Script(
      [
        .json(
          #"{"access_token":"\#(fresh)","token_type":"Bearer","expires_in":3600,"refresh_token":"RT2"}"#
        )
      ], store: Self.store())
    var registration = Sample.registration
    registration.omitsResource = true
    var request = Self.request(Self.photos)
    request.registration = { [registration] _ in registration }
    let engine = try Sample.engine(script)
    do throws(Problem) {
      _ = try await engine.credential(request)
      #expect(isTaken)
    } catch {
      #expect(!isTaken && error.reason == .verificationFailed && error.detail == "audience")
    }
    let form = FormEncoding.decode(script.requests[0].body, plus: .space) ?? []
    #expect(!form.contains { $0.name == "resource" })
    let kept = stored(script, Self.photos)
    #expect(kept.map { revealedText($0.accessToken) } == (isTaken ? fresh : Self.photos))
    #expect(kept?.refreshToken.map { revealedText($0) } == "RT2")
  }

  @Test func `A request without a resource names one if all tokens are for resources`() async throws
  {
    let store = Self.store()
    let account = Account.ID(rawValue: "a_ada")
    let tokens = store.credentials(of: account).filter { $0.resource != nil }
    let script = Script(
      store: ScriptedStore(
        accounts: store.accounts, grants: store.grants, credentials: [account: tokens]))
    let problem = await #expect(throws: Problem.self) {
      try await token(script, Self.request(nil))
    }
    #expect(problem?.reason == .reloginNeeded && problem?.detail == "resource")
    #expect(problem?.message.contains(Self.photos) == true)
    #expect(
      problem?.hint == .init("credentials.get", ["account": "a_ada", "resource": Self.photos]))
  }

  @Test func `A step-up keeps the scopes of a token under a forgotten registration`() async throws {
    let store = Self.store()
    let account = Account.ID(rawValue: "a_ada")
    var former = try #require(store.credentials(of: account).first { $0.resource == Self.photos })
    former.registration = ClientRegistration(clientID: "FORGOTTEN")
    let script = Script(
      answers: [.decline],
      store: ScriptedStore(accounts: store.accounts, credentials: [account: [former]]))
    await #expect(throws: Problem.self) {
      try await Sample.engine(script).signIn(
        AuthorizationCodeFlowTests.request {
          $0.account = account
          $0.resource = Self.photos
          $0.resourceScopes = ["albums"]
        }, asking: script.asker([.openURL]))
    }
    guard case .openURL(let page, _)? = script.prompts.first else {
      Issue.record("No page was opened.")
      return
    }
    #expect(page.text.contains("&scope=demo%20albums&"))
  }

  @Test(arguments: [(true, 1, "demo albums"), (false, 1, "albums"), (true, 2, "albums")])
  func `A step-up without an account keeps the scopes of the only account with a token`(
    isStepUp: Bool, holders: Int, scopes: String
  ) async throws {
    let one = Self.store()
    var accounts = [Sample.account("ada", "sequencing"), Sample.account("bob", "sequencing")]
    for index in 0..<holders { accounts[index].resources = [Self.photos] }
    let script = Script(
      answers: [.decline],
      store: ScriptedStore(
        accounts: accounts, credentials: [accounts[0].id: one.credentials(of: accounts[0].id)]))
    await #expect(throws: Problem.self) {
      try await Sample.engine(script).signIn(
        AuthorizationCodeFlowTests.request {
          $0.resource = Self.photos
          $0.resourceScopes = ["albums"]
          $0.isStepUp = isStepUp
        }, asking: script.asker([.openURL]))
    }
    guard case .openURL(let page, _)? = script.prompts.first else {
      Issue.record("No page was opened.")
      return
    }
    let query = FormEncoding.decode((page.query ?? "").utf8, plus: .space) ?? []
    #expect(query.first { $0.name == "scope" }?.value == scopes)
  }
}
