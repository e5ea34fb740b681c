import EinlassCrypto
import TestSupport
import Testing

@testable import Einlass

/// The trust of an account in a server of the person's own.
@Suite struct ServerTrustTests {
  private static let key = "sha256//" + Base64.encode(Array(1...32))
  private static let otherKey = "sha256//" + Base64.encode(Array(2...33))
  private static let host = "pbx.example.com"
  private static let session = Script.Reply.json(#"{"sessionid":"SESSION"}"#)
  private static let password = Answer.accept(text: Secret("PASSWORD"))

  private static func certificate(
    _ key: String = key, _ fault: ServerCertificate.Fault? = .selfSigned
  ) -> ServerCertificate {
    ServerCertificate(publicKey: key, fault: fault, endsAt: 2_000_000_000)
  }

  private static func signIn(
    _ script: Script, kinds: Set<Prompt.Kind> = [.enterPassword, .trustCertificate],
    _ change: (inout SignInRequest) -> Void = { _ in }
  ) async throws -> Account {
    var request = SignInRequest(
      application: Sample.application, registration: nil, provider: "fcsdk")
    request.login.server = .init(host)
    request.login.username = "ada"
    change(&request)
    let engine = Einlass(
      catalog: ProviderCatalog.builtIn, store: script.store.accountStore,
      effects: script.effects)
    return try await engine.signIn(request, asking: script.asker(kinds)).account
  }

  /// Returns a script of an account with an accepted key.
  private static func accepted() async throws -> (Script, Account) {
    let script = Script([session], answers: [.accept(), password])
    script.present(certificate())
    let account = try await signIn(script) { $0.login.acceptsUntrustedCertificates = true }
    return (script, account)
  }

  @Test func `The certificate is asked about before the password, and every request has the key`()
    async throws
  {
    let (script, account) = try await Self.accepted()
    #expect(
      script.log.filter { !$0.hasPrefix("sleep") }.prefix(4) == [
        "certificate of https://pbx.example.com:8443",
        "ask trustCertificate https://pbx.example.com:8443 \(Self.key)",
        "ask enterPassword https://pbx.example.com:8443",
        "POST https://pbx.example.com:8443/csdk-sample/SDK/login",
      ])
    #expect(script.requests.map(\.trust) == [ServerTrust(publicKey: Self.key)])
    let binding = script.store.credentials(of: account.id).first?.binding
    #expect(binding?.trust == ServerTrust(publicKey: Self.key))
  }

  @Test func `A changed key asks again and shows both; without a person the sign-in fails`()
    async throws
  {
    let (script, account) = try await Self.accepted()
    script.present(Self.certificate(Self.otherKey))
    let problem = await #expect(throws: Problem.self) {
      try await Self.signIn(script, kinds: [.enterPassword]) { $0.account = account.id }
    }
    let prompt = Prompt.trustCertificate(
      .init(
        server: "https://pbx.example.com:8443", host: Self.host, port: 8443,
        certificate: Self.certificate(Self.otherKey), formerPublicKey: Self.key))
    #expect(problem?.reason == .interactionRequired && problem?.neededPrompts == [prompt])
    #expect(script.requests.count == 1 && script.prompts.count == 2)
    // The control: the former key asks for the password alone.
    script.present(Self.certificate())
    _ = await #expect(throws: Problem.self) {
      try await Self.signIn(script, kinds: [.enterPassword]) { $0.account = account.id }
    }
    #expect(script.prompts.last?.kind == .enterPassword)
  }

  @Test func `A changed key is shown beside the accepted one if the user name is not known yet`()
    async throws
  {
    let (script, _) = try await Self.accepted()
    script.present(Self.certificate(Self.otherKey))
    script.answer(.cancel)
    _ = await #expect(throws: Problem.self) {
      try await Self.signIn(script) {
        $0.login.acceptsUntrustedCertificates = true
        $0.login.username = nil
      }
    }
    guard case .trustCertificate(let trust)? = script.prompts.last else {
      Issue.record("The certificate was not asked about.")
      return
    }
    #expect(trust.formerPublicKey == Self.key)
    #expect(trust.certificate.publicKey == Self.otherKey)
  }

  @Test func `An accepted key trusts nothing for another account at the server`() async throws {
    let (script, _) = try await Self.accepted()
    script.present(Self.certificate())
    script.answer(.cancel)
    _ = await #expect(throws: Problem.self) {
      try await Self.signIn(script) {
        $0.login.acceptsUntrustedCertificates = true
        $0.login.username = "eve"
      }
    }
    #expect(script.prompts.last?.kind == .trustCertificate)
  }

  @Test func `A named authority takes the place of an accepted key`() async throws {
    let (script, account) = try await Self.accepted()
    script.present(Self.certificate(Self.key, nil))
    script.reply(Self.session)
    script.answer(Self.password)
    _ = try await Self.signIn(script) { $0.login.caFile = "/ca.pem" }
    let binding = script.store.credentials(of: account.id).first?.binding
    #expect(binding?.trust == ServerTrust(caFile: "/ca.pem"))
    // A named key needs the file no longer.
    script.present(Self.certificate())
    script.reply(Self.session)
    script.answer(Self.password)
    _ = try await Self.signIn(script) { $0.login.trustedPublicKey = Self.key }
    #expect(
      script.store.credentials(of: account.id).first?.binding.trust
        == ServerTrust(publicKey: Self.key))
  }

  @Test(arguments: [
    ("http://127.0.0.1:8080", nil, "/server/trustedPublicKey"),
    ("localhost", false, "/server/trustedPublicKey"),
    ("https://localhost", false, "/server/secure"), ("", false, "/server/host"),
  ])
  func `A named key, or https in the name, is not overruled by plain http`(
    server: String, isSecure: Bool?, path: String
  ) async throws {
    let script = Script([Self.session], answers: [Self.password])
    let problem = await #expect(throws: Problem.self) {
      try await Self.signIn(script) {
        $0.login.server = .init(server, isSecure: isSecure)
        $0.login.trustedPublicKey = Self.key
      }
    }
    #expect(problem?.reason == .invalidParameter && problem?.path == path)
    #expect(script.requests.isEmpty && script.prompts.isEmpty)
  }

  @Test(arguments: [
    nil, ServerTrust(publicKey: key), ServerTrust(caFile: "/a.pem"),
    ServerTrust(allowsPlainHTTP: true),
  ])
  func `The text of a trust reads back`(trust: ServerTrust?) {
    let trust = trust ?? ServerTrust()
    #expect(ServerTrust(text: trust.text) == trust)
    #expect((trust.text == nil) == (trust == ServerTrust()))
  }

  @Test(
    arguments: [
      "", "[]", "{}", #"{"plainHTTP":false}"#, #"{"publicKey":"sha256//AAAA"}"#,
      #"{"caFile":"/a.pem","more":1}"#,
    ])
  func `A text with another form is no trust`(text: String) {
    #expect(ServerTrust(text: text) == nil)
  }

  @Test(
    arguments: [
      (key, true), (String(key.dropLast()), false), (key + "=", false),
      ("sha256//" + Base64.encode(Array(1...31)), false),
      (String(key.dropFirst("sha256//".count)), false), ("", false),
    ])
  func `A public key is a digest of 32 bytes`(text: String, isKey: Bool) {
    #expect(ServerTrust.isPublicKey(text) == isKey)
  }
}
