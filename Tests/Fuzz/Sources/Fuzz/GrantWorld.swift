import EinlassCrypto
import EinlassJSON
import TestSupport

@testable import Einlass

/// The initial state of the conversations of `fuzzGrants`: providers, an account, and the answers
/// of browser and servers.
enum GrantWorld {
  static let issuer = "https://op.example"
  static let ada = Account.ID(rawValue: "a_ada")
  static let registration = ClientRegistration(
    clientID: "APP", clientSecret: Secret("CANARY-SECRET"))

  /// Returns the query of a redirect. Twenty wrong ones end a sign-in.
  static func arrival(from issuer: String?) -> String {
    let state = Base64URL.encode([UInt8](repeating: 7, count: 32))
    return "code=CANARY-CODE&state=\(state)"
      + (issuer.map { "&iss=\(PercentEncoding.encode($0))" } ?? "")
  }

  static func reply(_ portions: inout Portions, _ idToken: String) -> Script.Reply {
    let statuses = [200, 200, 200, 201, 400, 400, 401, 403, 404, 429, 500, 503, 204, 302]
    let first = portions.byte()
    let said = first & 0x80 == 0 ? nil : portions.text()
    let headers = said.map { said in
      ["retry-after", "date", "dpop-nonce", "www-authenticate"].map {
        HTTPRequest.Header($0, said)
      }
    }
    let body = portions.field().flatMap { $0 == UInt8(ascii: "~") ? Array(idToken.utf8) : [$0] }
    return .answer(
      HTTPResponse(
        status: statuses[Int(first & 0x7F) % statuses.count], headers: headers ?? [], body: body))
  }

  /// Returns an id_token with these claims, signed with the key of RFC 8037 appendix A.
  static func signed(_ claims: [UInt8]) -> String {
    let text = [Array(#"{"alg":"EdDSA","kid":"k"}"#.utf8), claims].map { Base64URL.encode($0) }
      .joined(separator: ".")
    return "\(text).\(Base64URL.encode(key.sign(Array(text.utf8), .ed25519) ?? []))"
  }

  private static let key: PrivateKey = {
    let number = Base64URL.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A") ?? []
    let form: [UInt8] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32]
    guard let key = PrivateKey(pkcs8: Secret(form + number)) else { preconditionFailure("no key") }
    return key
  }()

  /// Returns a store with an account whose token the provider has issued by this flow.
  static func store(_ provider: Provider, _ way: FlowDescriptor, _ idToken: String) -> ScriptedStore
  {
    var account = Account(
      id: ada, provider: provider.id, username: "ada", isSignedIn: true, addedAt: 1)
    account.subject = way.kind == .clientCredentials ? registration.clientID : "42"
    let token = OAuth2Credential(
      accessToken: Secret("CANARY-TOKEN"), expiresAt: Script.now + 30,
      refreshToken: Secret("CANARY-REFRESH"), idToken: Secret(idToken))
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: registration.clientID),
      credential: .oauth2(token),
      binding: ProviderBinding(
        origins: provider.origins(of: way), clientID: registration.clientID, flowKind: way.kind))
    let grant = AccessGrant(
      application: "editor", provider: provider.id, state: .granted, permissions: [], changedAt: 1)
    return ScriptedStore(accounts: [account], grants: [grant], credentials: [ada: [stored]])
  }

  /// The built-in providers with an OAuth 2.0 flow. The first two are made for the fuzzer, with
  /// settings that no built-in provider has.
  static let providers = catalog.providers.reversed().filter { provider in
    provider.flows.contains { $0.tokens != nil }
  }

  static let catalog: ProviderCatalog = {
    let bound = """
      {"id":"bound","name":"Bound","setup":{"documentation":"https://bound.example/"},"accounts":"many",\
      "registration":["clientId"],"flows":[{"kind":"authorizationCode","dpop":true,"clientAuthentication":"none",\
      "authorize":{"method":"GET","url":"https://bound.example/go"},"answer":"form",\
      "pushed":{"method":"POST","url":"https://bound.example/par"},\
      "token":{"method":"POST","url":"https://bound.example/token"},"refresh":{}}]}
      """
    let metadata = """
      {"issuer":"https://op.example","authorization_endpoint":"https://op.example/go",\
      "token_endpoint":"https://op.example/token","device_authorization_endpoint":"https://op.example/device",\
      "introspection_endpoint":"https://op.example/look","revocation_endpoint":"https://op.example/revoke",\
      "userinfo_endpoint":"https://op.example/me","jwks_uri":"https://op.example/keys",\
      "pushed_authorization_request_endpoint":"https://op.example/par",\
      "require_pushed_authorization_requests":true,"authorization_response_iss_parameter_supported":true,\
      "grant_types_supported":["authorization_code","client_credentials"],\
      "token_endpoint_auth_methods_supported":["client_secret_post"],\
      "id_token_signing_alg_values_supported":["EdDSA"],"code_challenge_methods_supported":["S256"]}
      """
    do {
      let described = try ServerMetadata(try JSONReader.read(Array(metadata.utf8)), issuer: issuer)
      let op = JSONValue.object(described.descriptor(id: "op", name: "OP"))
      let words: JSONValue = ["providers": [try JSONReader.read(Array(bound.utf8)), op]]
      return try .builtIn.overlaid(by: ProviderCatalog(json: words.bytes()))
    } catch { preconditionFailure("no catalogue: \(error)") }
  }()
}
