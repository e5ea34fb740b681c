import EinlassCrypto
import EinlassSystem
import TestSupport
import Testing

@testable import Einlass

/// The word `proofKey` of an authorization code flow. RFC 7636.
@Suite struct ProofKeyTests {
  private static func descriptor(
    _ proofKey: String, registration: String = #"["clientId","clientSecret"]"#, _ more: String = ""
  ) -> String {
    """
    {"id":"example","name":"Example","setup":{"documentation":"https://example.org/docs"},\
    "accounts":"many","registration":\(registration),\
    "flows":[{"kind":"authorizationCode","authorize":{"method":"GET","url":"https://example.org/a"},\
    "redirect":{"path":"/callback"},"token":{"method":"POST","url":"https://example.org/t"},\
    "clientAuthentication":"client_secret_post"\(proofKey)\(more)}]}
    """
  }

  /// Signs in and returns the address of the page, and the form of the token request.
  private static func signIn(_ descriptor: String) async throws -> (page: String, form: [Parameter])
  {
    // Without a proof key the state is made of the first random bytes.
    let first = descriptor.contains("\"proofKey\":false") ? UInt8(1) : 2
    let state = Base64URL.encode([UInt8](repeating: first, count: 32))
    let script = Script(
      [.json(AuthorizationCodeFlowTests.token)], answers: [.accept()],
      brought: ["code=CODE&state=\(state)"])
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(descriptor), store: script.store.accountStore,
      effects: script.effects)
    let request = SignInRequest(
      application: Sample.application, registration: Sample.registration, provider: "example")
    _ = try await engine.signIn(request, asking: script.asker([.openURL]))
    guard case .openURL(let page, _)? = script.prompts.first else { return ("", []) }
    return (page.text, FormEncoding.decode(script.requests[0].body, plus: .space) ?? [])
  }

  private static let verifier = Base64URL.encode([UInt8](repeating: 1, count: 32))

  @Test func `A provider that refuses PKCE gets neither a challenge nor a verifier`() async throws {
    let (page, form) = try await Self.signIn(Self.descriptor(#","proofKey":false"#))
    #expect(page.contains("&state=") && !page.contains("code_challenge"))
    #expect(
      form.map(\.name) == ["grant_type", "code", "redirect_uri", "client_id", "client_secret"])
  }

  @Test(arguments: ["", #","proofKey":true"#, #","proofKey":"S256""#])
  func `Without the word the challenge is a digest`(_ word: String) async throws {
    let (page, form) = try await Self.signIn(Self.descriptor(word))
    #expect(page.contains("code_challenge_method=S256"))
    #expect(!page.contains(Self.verifier))
    #expect(form.contains(Parameter("code_verifier", Self.verifier)))
  }

  @Test func `With plain the challenge is the verifier`() async throws {
    let (page, form) = try await Self.signIn(Self.descriptor(#","proofKey":"plain""#))
    #expect(page.contains("code_challenge=\(Self.verifier)&code_challenge_method=plain"))
    #expect(form.contains(Parameter("code_verifier", Self.verifier)))
  }

  @Test(arguments: [
    (Self.descriptor(#","proofKey":false"#, registration: #"["clientId"]"#), true),
    (Self.descriptor(#","proofKey":"plain""#, registration: #"["clientId"]"#), false),
    (
      Self.descriptor(#","proofKey":false"#).replacing(
        #""client_secret_post""#, with: #"["client_secret_post","none"]"#), true
    ),
    (
      Self.descriptor(#","proofKey":false"#).replacing(
        #""accounts""#, with: #""clientMetadata":true,"accounts""#), true
    ),
    (
      Self.descriptor(#","proofKey":"plain""#).replacing(
        #""accounts""#, with: #""clientMetadata":true,"accounts""#), false
    ),
    (
      Self.descriptor(#","proofKey":false"#).replacing(
        #""token":{"#, with: #""token":{"basic":"{clientId}:","#), true
    ),
    (
      Self.descriptor(#","proofKey":"plain""#).replacing(
        #""token":{"#, with: #""token":{"basic":"{clientId}:","#), false
    ),
    (Self.descriptor(#","proofKey":"plain","forResources":true"#), true),
    (Self.descriptor(#","proofKey":"S256","forResources":true"#), false),
    (Self.descriptor(#","proofKey":"MD5""#), true), (Self.descriptor(#","proofKey":7"#), true),
  ]) func `Without a proof key a public client is refused, and a resource needs S256`(
    _ descriptor: String, isRefused: Bool
  ) throws {
    guard isRefused else {
      _ = try ProviderCatalogTests.catalog(descriptor)
      return
    }
    let fault = #expect(throws: ProviderCatalog.Fault.self) {
      try ProviderCatalogTests.catalog(descriptor)
    }
    #expect(fault?.pointer == "/providers/0/flows/0/proofKey")
    #expect(fault?.provider == "example")
  }

  @Test func `A private key or a certificate keeps others from redeeming a code too`() throws {
    for part in ["privateKey", "certificate"] {
      let text = Self.descriptor(
        #","proofKey":false"#, registration: #"["clientId","\#(part)"]"#)
      #expect(throws: Never.self) { try ProviderCatalogTests.catalog(text) }
    }
  }
}
