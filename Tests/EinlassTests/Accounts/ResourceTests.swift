import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// RFC 9728 and RFC 8707: the authorization server of a resource, and its provider in the
/// catalogue.
@Suite struct ResourceTests {
  static let address = "https://photos.example/mcp"
  static let metadata = """
    {"resource":"https://photos.example/mcp","authorization_servers":["https://as.example"],"scopes_supported":["photos"]}
    """
  static let server = """
    {"issuer":"https://as.example","authorization_endpoint":"https://as.example/authorize",\
    "token_endpoint":"https://as.example/token","registration_endpoint":"https://as.example/register",\
    "revocation_endpoint":"https://as.example/revoke",\
    "code_challenge_methods_supported":["S256"],"token_endpoint_auth_methods_supported":["none"],\
    "scopes_supported":["photos","offline_access"]}
    """
  private static let place = "GET https://photos.example/.well-known/oauth-protected-resource"
  private static let found = [
    "\(place)/mcp", "GET https://as.example/.well-known/oauth-authorization-server",
    "GET https://as.example/.well-known/openid-configuration",
  ]

  /// An engine with the authorization server as a provider, made from the server's metadata.
  static func engine(
    _ script: Script, isForResources: Bool = true, more: String = ""
  ) async throws -> Einlass {
    let asked = Script([.json(server.replacing("{\"issuer\"", with: "{\(more)\"issuer\""))])
    let descriptor = try await Sample.engine(asked).descriptor(
      of: AddProviderRequest(.issuer("https://as.example"))
    ).descriptor
    let text = String(
      decoding: JSONValue.object(["providers": [descriptor]]).bytes(), as: UTF8.self)
    let words = text.replacing(#""forResources":true"#, with: #""forResources":\#(isForResources)"#)
    let added = try ProviderCatalog(json: Array(words.utf8))
    return Einlass(
      catalog: .builtIn.overlaid(by: added), store: script.store.accountStore,
      effects: script.effects)
  }

  @Test func `The authorization server is found through the metadata of a resource`()
    async throws
  {
    let script = Script([.json(Self.metadata), .json(Self.server)])
    let resource = try await Sample.engine(script).protectedResource(at: Self.address)
    #expect(resource.name == Self.address && resource.scopes == ["photos"])
    guard case .new(let descriptor) = resource.issuer else {
      Issue.record("\(resource.issuer)")
      return
    }
    #expect(descriptor["id"] == "as.example")
    #expect(script.log == Self.found)
  }

  @Test(arguments: [false, true])
  func `Only a resource in the own network leads into it`(isInternal: Bool) async throws {
    var answer = HTTPResponse(status: 200, body: Array(Self.metadata.utf8))
    answer.isFromInternalAddress = isInternal
    let script = Script([.answer(answer), .json(Self.server)])
    let resource = try await Sample.engine(script).protectedResource(at: Self.address)
    guard case .new(let descriptor) = resource.issuer else {
      Issue.record("\(resource.issuer)")
      return
    }
    #expect(script.requests.map(\.needsPublicAddress) == [false, !isInternal, !isInternal])
    let text = JSONValue.object(["providers": [descriptor]]).bytes()
    let provider = try ProviderCatalog(json: text).provider("as.example")
    #expect(provider.isPublicOnly == !isInternal)
    #expect(provider.relocated { $0 }.isPublicOnly == !isInternal)
    let place = WebAddress(scheme: .https, host: "as.example")
    let moved = provider.moved(id: "a", name: "A", by: OriginMove(from: place, to: place))
    #expect(moved.isPublicOnly == !isInternal)
    let request = try provider.addressed(HTTPRequest(.get, WebAddress.parse("https://as.example")))
    #expect(request.needsPublicAddress == !isInternal)
    // The person adds the same issuer.
    let added = Script([.json(Self.server)])
    let own = try await Sample.engine(added).descriptor(
      of: AddProviderRequest(.issuer("https://as.example"))
    ).descriptor
    #expect(own["publicOnly"] == nil && added.requests.allSatisfy { !$0.needsPublicAddress })
  }

  @Test(arguments: [
    (nil, nil, false), ("true", nil, true), ("false", nil, false), ("null", nil, false),
    (#""yes""#, nil, true), (nil, "DPoP", true), (nil, "DPoP, Bearer", false),
    (nil, #"Bearer scope="photos", DPoP algs="ES256""#, false), ("true", "Bearer", true),
  ])
  func `A token is bound to a key only if the resource demands it`(
    member: String?, challenge: String?, binds: Bool
  ) async throws {
    let more = member.map { "\"dpop_bound_access_tokens_required\":\($0)," } ?? ""
    let metadata = Self.metadata.replacing("{\"resource\"", with: "{\(more)\"resource\"")
    let server = #""dpop_signing_alg_values_supported":["ES256"],"#
    let script = Script([.json(metadata)])
    let resource = try await Self.engine(script, more: server).protectedResource(
      at: Self.address, challenge: challenge)
    #expect(resource.bindsTokens == binds)
  }

  @Test(arguments: [(429, true), (503, true), (404, false)])
  func `A resource that is busy is one to ask again later`(status: Int, isRetryable: Bool)
    async throws
  {
    let script = Script([Script.Reply](repeating: .text("", status: status), count: 2))
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).protectedResource(at: Self.address)
    }
    #expect(problem?.reason == .providerFailure && problem?.isRetryable == isRetryable)
  }

  @Test func `A known server is used, in the order of the catalogue`()
    async throws
  {
    let script = Script([.json(Self.metadata)])
    let resource = try await Self.engine(script).protectedResource(at: Self.address)
    #expect(resource.issuer == .known("as.example"))
    #expect(script.log == ["\(Self.place)/mcp"])
    let several = Script([
      .json(
        #"{"resource":"https://photos.example/mcp","authorization_servers":["https://down.example","https://as.example"]}"#
      )
    ])
    let other = try await Self.engine(several).protectedResource(at: Self.address)
    #expect(other.issuer == .known("as.example") && other.scopes == nil)
  }

  @Test func `A provider with tokens for other purposes is not used for a resource`()
    async throws
  {
    let script = Script([.json(Self.metadata), .json(Self.server)])
    let engine = try await Self.engine(script, isForResources: false)
    let resource = try await engine.protectedResource(at: Self.address)
    guard case .new(let descriptor) = resource.issuer else {
      Issue.record("\(resource.issuer)")
      return
    }
    // Another provider, with a registration of its own.
    #expect(descriptor["id"]?.string?.hasPrefix("as.example-") == true)
  }

  @Test func `A challenge contains the metadata address and the missing scopes`() async throws {
    let script = Script([.json(Self.metadata), .json(Self.server)])
    let resource = try await Sample.engine(script).protectedResource(
      at: Self.address,
      challenge:
        #"Basic realm="x", Bearer error="insufficient_scope", scope="photos more", resource_metadata="https://photos.example/.well-known/oauth-protected-resource/mcp""#
    )
    #expect(resource.scopes == ["photos", "more"])
    #expect(script.log == Self.found)
  }

  @Test(arguments: [
    #"DPoP algs="ES256", Bearer resource_metadata="https://photos.example/m", scope="more""#,
    #"Bearer resource_metadata="https://photos.example/m", scope="more", DPoP algs="ES256""#,
  ])
  func `Of two challenges the one with the metadata address counts`(_ header: String) async throws {
    let script = Script([.json(Self.metadata), .json(Self.server)])
    let resource = try await Sample.engine(script).protectedResource(
      at: Self.address, challenge: header)
    #expect(resource.scopes == ["more"])
    #expect(script.log.first == "GET https://photos.example/m")
  }

  @Test func `A probe reads every header with a challenge`() async throws {
    let headers = [#"Basic realm="x""#, #"Bearer scope="more""#].map {
      HTTPRequest.Header("www-authenticate", $0)
    }
    let script = Script([
      .text("", status: 401, headers: headers), .json(Self.metadata), .json(Self.server),
    ])
    let resource = try await Sample.engine(script).protectedResource(at: Self.address, asks: true)
    #expect(resource.scopes == ["more"])
  }

  @Test func `A page in place of the path's description does not hide that of the host`()
    async throws
  {
    let script = Script([.text("<html>"), .json(Self.metadata), .json(Self.server)])
    let resource = try await Sample.engine(script).protectedResource(at: Self.address)
    #expect(resource.name == Self.address)
    #expect(script.log.prefix(2) == ["\(Self.place)/mcp", Self.place])
  }

  @Test func `The metadata of the whole host is used, and the next server if one is down`()
    async throws
  {
    let script = Script([
      .text("", status: 404),
      .json(
        #"{"resource":"https://photos.example/","authorization_servers":["https://down.example","https://as.example"]}"#
      ), .networkFailure(-1004), .json(Self.server),
    ])
    let resource = try await Sample.engine(script).protectedResource(at: Self.address)
    #expect(resource.name == "https://photos.example/" && resource.scopes == nil)
    #expect(script.log[0...1] == ["\(Self.place)/mcp", Self.place])
    #expect(script.log.count == 5)
  }

  struct Refusal: Sendable {
    var address = ResourceTests.address
    var challenge: String?
    var replies: [Script.Reply] = []
    var reason: Problem.Reason
    /// The number of requests before the refusal.
    var requests = 0
  }

  private static func refused(_ metadata: String, _ more: Script.Reply...) -> Refusal {
    Refusal(
      replies: [.json(metadata)] + more, reason: .providerFailure, requests: 1 + more.count)
  }

  static let refusals = [
    Refusal(address: "http://photos.example/mcp", reason: .unsafeURL),
    Refusal(address: "photos.example", reason: .unsafeURL),
    Refusal(address: "https://user@photos.example/mcp", reason: .unsafeURL),
    Refusal(challenge: "", reason: .invalidParameter),
    Refusal(challenge: "Basic realm=\"x\"", reason: .invalidParameter),
    Refusal(challenge: "Bearer =\"", reason: .invalidParameter),
    Refusal(
      challenge: String(repeating: "Bearer ", count: 2000), reason: .invalidParameter),
    Refusal(
      challenge: #"Bearer resource_metadata="https://evil.example/mcp""#, reason: .unsafeURL),
    Refusal(
      challenge: #"Bearer resource_metadata="http://photos.example/mcp""#, reason: .unsafeURL),
    Refusal(
      challenge: #"Bearer resource_metadata="https://photos.example/x""#,
      replies: [.text("", status: 404)], reason: .providerFailure, requests: 1),
    Refusal(
      replies: [.text("", status: 302), .text("", status: 302)], reason: .providerFailure,
      requests: 2),
    Refusal(replies: [.text("", status: 500)], reason: .providerFailure, requests: 1),
    Refusal(replies: [.networkFailure(-1103)], reason: .networkFailure, requests: 1),
    Refusal(
      challenge: #"Bearer scope="a", scope="b""#, reason: .invalidParameter),
    Refusal(
      replies: [.text("nonsense"), .text("nonsense")], reason: .providerFailure, requests: 2),
    refused("[]"), refused("{}"),
    refused(
      #"{"resource":"https://evil.example/mcp","authorization_servers":["https://as.example"]}"#),
    refused(#"{"resource":"https://photos.example/mcp"}"#),
    refused(#"{"resource":"https://photos.example/mcp","authorization_servers":[]}"#),
    refused(
      #"{"resource":"https://photos.example/mcp","authorization_servers":["http://as.example"]}"#),
    refused(metadata, .text("", status: 404), .text("", status: 404)),
    refused(
      metadata,
      .json(
        server.split(separator: "as.example\",\"auth").joined(separator: "evil.example\",\"auth"))),
    refused(metadata, .json(#"{"issuer":"https://as.example"}"#)),
    Refusal(
      replies: [.json(metadata), .networkFailure(-1004)], reason: .networkFailure, requests: 2),
  ]

  @Test(arguments: refusals)
  func `Invalid or unsafe metadata ends the search before the person is prompted`(
    _ refusal: Refusal
  ) async throws {
    let script = Script(refusal.replies)
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).protectedResource(
        at: refusal.address, challenge: refusal.challenge)
    }
    #expect(problem?.reason == refusal.reason)
    #expect(script.requests.count == refusal.requests && script.unusedReplyCount == 0)
  }

  @Test func `A server of a resource must announce S256, unless no page is shown`() async throws {
    for member in [#""code_challenge_methods_supported":["S256"],"#, ""] {
      let text = Self.server.replacing(
        #""code_challenge_methods_supported":["S256"],"#, with: member)
      let script = Script([.json(Self.metadata), .json(text)])
      let engine = try Sample.engine(script)
      if member.isEmpty {
        let problem = await #expect(throws: Problem.self) {
          try await engine.protectedResource(at: Self.address)
        }
        #expect(problem?.message.contains("code_challenge_methods_supported") == true)
        let other = Script([.json(Self.metadata), .json(text)])
        _ = try await Sample.engine(other).protectedResource(
          at: Self.address, for: .clientCredentials)
        // Such a server is not used later for another resource either, but for a flow without a page.
        let added = Script([.json(text)])
        let descriptor = try await Sample.engine(added).descriptor(
          of: AddProviderRequest(.issuer("https://as.example"))
        ).descriptor
        let catalog = try ProviderCatalog(
          json: JSONValue.object(["providers": [descriptor]]).bytes())
        for kind in [FlowKind.clientCredentials, nil] {
          let later = Script([.json(Self.metadata)])
          let engine = Einlass(
            catalog: .builtIn.overlaid(by: catalog), store: later.store.accountStore,
            effects: later.effects)
          do throws(Problem) {
            let found = try await engine.protectedResource(at: Self.address, for: kind)
            #expect(kind != nil && found.issuer == .known("as.example"))
          } catch {
            #expect(kind == nil && error.reason == .providerFailure)
            #expect(error.message.hasPrefix("The metadata of the issuer at as.example is missing"))
            #expect(error.message.contains("code_challenge_methods_supported"))
          }
          // The resource may name a server that announces it.
          let next = Script([
            .json(
              Self.metadata.replacing(
                "[\"https://as.example\"]", with: "[\"https://as.example\",\"https://as2.example\"]"
              )),
            .json(Self.server.replacing("as.example", with: "as2.example")),
          ])
          let other = Einlass(
            catalog: engine.catalog, store: next.store.accountStore, effects: next.effects)
          let found = try await other.protectedResource(at: Self.address, for: kind)
          if case .known = found.issuer { #expect(kind != nil) } else { #expect(kind == nil) }
        }
      } else {
        _ = try await engine.protectedResource(at: Self.address)
      }
    }
  }

  @Test func `The account with a traded token needs no page, and no S256`() async throws {
    let server = Self.server.replacing(
      #""code_challenge_methods_supported":["S256"],"#, with: "")
    let added = Script([.json(server)])
    let descriptor = try await Sample.engine(added).descriptor(
      of: AddProviderRequest(.issuer("https://as.example"))
    ).descriptor
    let catalog = try ProviderCatalog(json: JSONValue.object(["providers": [descriptor]]).bytes())
    let account = Sample.account("ada", "as.example")
    for source in [AssertionSource.file, nil] {
      let stored = StoredCredential(
        role: .application, registration: ClientRegistration(clientID: "x"),
        credential: .oauth2(OAuth2Credential(accessToken: Secret("AT"))),
        binding: ProviderBinding(
          origins: ["https://as.example"], clientID: "x", flowKind: .jwtBearer),
        resource: Self.address, assertionSource: source)
      let script = Script(
        [.json(Self.metadata)],
        store: ScriptedStore(accounts: [account], credentials: [account.id: [stored]]))
      let engine = Einlass(
        catalog: catalog, store: script.store.accountStore, effects: script.effects)
      do throws(Problem) {
        let found = try await engine.protectedResource(at: Self.address, of: account.id)
        #expect(source != nil && found.issuer == .known("as.example"))
      } catch {
        #expect(source == nil && error.message.contains("code_challenge_methods_supported"))
      }
    }
  }

  @Test(arguments: [nil, ["photos"], ["photos", "offline_access"]] as [[String]?])
  func `offline_access is asked for beside the scopes of the request`(scopes: [String]?)
    async throws
  {
    let script = Script(answers: [.decline])
    var request = SignInRequest(
      application: "editor", registration: ClientRegistration(clientID: "x"),
      provider: "as.example")
    request.resource = Self.address
    request.resourceScopes = ["photos"]
    request.scopes = scopes
    let engine = try await Self.engine(script)
    await #expect(throws: Problem.self) {
      try await engine.signIn(request, asking: script.asker([.openURL]))
    }
    guard case .openURL(let page, _)? = script.prompts.first else {
      Issue.record("No page was opened.")
      return
    }
    #expect(page.text.contains("&scope=photos%20offline_access&"))
  }

  @Test(
    arguments: [
      (
        401, #"Bearer scope="photos more", resource_metadata="https://photos.example/m""#,
        ["photos", "more"], "/m"
      ),
      (
        401, #"Bearer resource_metadata="https://evil.example/m""#, ["photos"],
        "/.well-known/oauth-protected-resource/mcp"
      ),
      (401, #"Bearer scope="more""#, ["more"], "/.well-known/oauth-protected-resource/mcp"),
      (
        401,
        #"DPoP algs="ES256", Bearer scope="more", resource_metadata="https://photos.example/m""#,
        ["more"], "/m"
      ),
      (401, "Basic realm=x", ["photos"], "/.well-known/oauth-protected-resource/mcp"),
      (401, "Bearer =", ["photos"], "/.well-known/oauth-protected-resource/mcp"),
      (200, #"Bearer scope="more""#, ["photos"], "/.well-known/oauth-protected-resource/mcp"),
    ] as [(Int, String, [String], String)])
  func `A resource is asked once for its challenge, and an unusable one is left out`(
    status: Int, header: String, scopes: [String], place: String
  ) async throws {
    let script = Script([
      .text("", status: status, headers: [.init("www-authenticate", header)]),
      .json(Self.metadata), .json(Self.server),
    ])
    let resource = try await Sample.engine(script).protectedResource(at: Self.address, asks: true)
    #expect(resource.scopes == scopes)
    #expect(script.log.prefix(2) == ["GET \(Self.address)", "GET https://photos.example\(place)"])
    #expect(script.requests[0].headers.allSatisfy { $0.name != "Authorization" })
    // An answer that does not end is none.
    let stream = Script([.networkFailure(-1001), .json(Self.metadata), .json(Self.server)])
    #expect(
      try await Sample.engine(stream).protectedResource(at: Self.address, asks: true).scopes
        == ["photos"])
    // A given challenge is used, and the resource is not asked.
    let given = Script([.json(Self.metadata), .json(Self.server)])
    _ = try await Sample.engine(given).protectedResource(
      at: Self.address, challenge: "Bearer", asks: true)
    #expect(given.log.first?.contains("/.well-known/") == true)
  }

  @Test func `At most four servers of a resource are tried`() async throws {
    let names = (0..<50).map { "\"https://as\($0).example\"" }.joined(separator: ",")
    let script = Script(
      [.json(#"{"resource":"https://photos.example/mcp","authorization_servers":[\#(names)]}"#)]
        + Array(repeating: .networkFailure(-1004), count: 50))
    await #expect(throws: Problem.self) {
      try await Sample.engine(script).protectedResource(at: Self.address)
    }
    #expect(script.requests.count == 5)
  }

  @Test(arguments: ["registration", "revocation"])
  func `Endpoints missing from OpenID metadata are taken from OAuth metadata`(_ endpoint: String)
    async throws
  {
    // Only the missing endpoint is taken from there.
    let member = #""\#(endpoint)_endpoint":"https://as.example/"#
    let short = Self.server.replacing(member, with: #""left_out":"https://as.example/"#)
    let other = Self.server.replacing("https://as.example/re", with: "https://as.example/other/re")
    let script = Script([.json(short), .json(other)])
    let descriptor = try await Sample.engine(script).descriptor(
      of: AddProviderRequest(.issuer("https://as.example"))
    ).descriptor
    let found = [
      "registration": descriptor["dynamicRegistration"]?["url"],
      "revocation": descriptor["flows"]?.array?.first?["revocation"]?["url"],
    ]
    for (name, address) in found {
      let path = name == "registration" ? "register" : "revoke"
      let place = name == endpoint ? "https://as.example/other/" : "https://as.example/"
      #expect(address?.string == place + path)
    }
  }

  @Test(
    "A busy issuer is a temporary failure, and an issuer without metadata is not",
    arguments: [
      ([503, 404], true), ([404, 500], true), ([429, 429], true), ([404, 404], false),
      ([302, 401], false),
    ])
  func busy(statuses: [Int], isRetryable: Bool) async throws {
    let script = Script(statuses.map { .text("", status: $0) })
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).descriptor(
        of: AddProviderRequest(.issuer("https://as.example"))
      ).descriptor
    }
    #expect(problem?.reason == .providerFailure && problem?.isRetryable == isRetryable)
    // The other document may still be available.
    let found = Script([.text("", status: statuses[0]), .json(Self.server)])
    _ = try await Sample.engine(found).descriptor(
      of: AddProviderRequest(.issuer("https://as.example"))
    ).descriptor
  }

  @Test func `A page in place of the first document does not hide the second one`() async throws {
    let script = Script([.text("<html>"), .json(Self.server)])
    let descriptor = try await Sample.engine(script).descriptor(
      of: AddProviderRequest(.issuer("https://as.example"))
    ).descriptor
    #expect(descriptor["id"] == "as.example")
    #expect(script.log.last == "GET https://as.example/.well-known/openid-configuration")
  }

  @Test(arguments: [
    (#""authorization_response_iss_parameter_supported":true"#, "promisesIssuer"),
    (#""tls_client_certificate_bound_access_tokens":true"#, "mutualTLS/bindsTokens"),
    (
      #""require_pushed_authorization_requests":true,"pushed_authorization_request_endpoint":"https://as.example/par""#,
      "requiresPushed"
    ),
  ])
  func `The promises of a second document hold`(members: String, word: String) async throws {
    for more in [members + ",", ""] {
      let second = Self.server.replacing("{\"issuer\"", with: "{\(more)\"issuer\"")
      let script = Script([.json(Self.server), .json(second)])
      let descriptor = try await Sample.engine(script).descriptor(
        of: AddProviderRequest(.issuer("https://as.example"))
      ).descriptor
      #expect((descriptor.at(pointer: "/flows/0/\(word)") == true) == !more.isEmpty)
    }
  }

  @Test(arguments: [
    (#""dpop_signing_alg_values_supported":7"#, true),
    (#""require_signed_request_object":true"#, true),
    // The first document announces S256.
    (#""code_challenge_methods_supported":["plain"]"#, false),
    (#""jwks_uri":"/keys","subject_types_supported":["public"]"#, false),
  ])
  func `A second document refuses an issuer only for its protection`(
    member: String, isRefused: Bool
  ) async throws {
    let second = #"""
      {"issuer":"https://as.example","authorization_endpoint":"https://as.example/a",\#
      "token_endpoint":"https://as.example/t",\#(member)}
      """#
    let script = Script([.json(Self.server), .json(second)])
    let request = AddProviderRequest(.issuer("https://as.example"))
    guard isRefused else {
      _ = try await Sample.engine(script).descriptor(of: request)
      return
    }
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).descriptor(of: request)
    }
    #expect(problem?.message.contains(member.split(separator: "\"")[0]) == true)
  }

  @Test func `A new issuer never gets the id of an existing provider`() async throws {
    let catalog = try await Self.engine(Script()).catalog
    let other = catalog.freeID(for: try WebAddress.parse("https://as.example/"))
    #expect(other.hasPrefix("as.example-") && !catalog.holds(other))
    #expect(catalog.freeID(for: try WebAddress.parse("https://b.example")) == "b.example")
  }
}
