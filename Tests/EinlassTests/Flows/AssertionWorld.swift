import EinlassCrypto
import EinlassJSON
import TestSupport

@testable import Einlass

/// An issuer `idp` with ada's account, and a server `as` that takes assertions.
enum AssertionWorld {
  static let idpSecret = "IDP-SECRET, which also signs id_tokens"
  static let idp = ClientRegistration(clientID: "IDP-APP", clientSecret: Secret(idpSecret))
  static let target: ClientRegistration = {
    var registration = ClientRegistration(clientID: "AS-APP", clientSecret: Secret("AS-SECRET"))
    registration.assertionFile = file
    return registration
  }()
  static let file = "/run/assertion"
  static let issuer = "https://as.example/tenant"
  static let tokenAddress = "https://as.example/token"
  static let adaID = Account.ID(rawValue: "a_ada")
  private static let grantType = "urn:ietf:params:oauth:grant-type"
  private static let tokenType = "urn:ietf:params:oauth:token-type"

  static let identityAssertions =
    #",{"kind":"tokenExchange","token":{"method":"POST","url":"https://idp.example/token"},"scopes":[]}"#

  static func idpDescriptor(_ flows: String = identityAssertions) -> String {
    """
    {"id":"idp","name":"IdP","setup":{"documentation":"https://idp.example/"},"accounts":"many",\
    "registration":["clientId"],"identity":{"id":"/sub","required":["id"],\
    "request":{"method":"GET","url":"https://idp.example/me","bearer":"{token}"}},\
    "flows":[{"kind":"authorizationCode","authorize":{"method":"GET","url":"https://idp.example/authorize"},\
    "redirect":{},"token":{"method":"POST","url":"https://idp.example/token"},"refresh":{},\
    "issuer":"https://idp.example","algorithms":["HS256"]}\(flows)]}
    """
  }

  static func targetDescriptor(identity: String = "", more: String = "") -> String {
    let words = """
      "token":{"method":"POST","url":"\(tokenAddress)"\(more)},"issuer":"\(issuer)"
      """
    return """
      {"id":"as","name":"AS","setup":{"documentation":"https://as.example/"},"accounts":"many",\
      "registration":["clientId"],\(identity)"flows":[{"kind":"jwtBearer",\(words)},\
      {"kind":"tokenExchange",\(words)}]}
      """
  }

  static let userinfo =
    #""identity":{"request":{"method":"GET","url":"https://as.example/me","bearer":"{token}"},"id":"/sub","required":["id"]},"#

  /// Returns a JWT with these claims: valid at the server unless changed.
  static func jwt(
    _ change: (inout JSONObject) -> Void = { _ in }, signature: String = "c2ln"
  ) -> String {
    var claims: JSONObject = [
      "iss": "https://idp.example", "sub": "ada-7", "aud": .string(issuer),
      "exp": JSONValue(Script.now + 300), "jti": "1",
    ]
    change(&claims)
    let parts: [JSONValue] = [["alg": "PS256", "typ": "oauth-id-jag+jwt"], .object(claims)]
    return parts.map { Base64URL.encode($0.bytes()) }.joined(separator: ".") + ".\(signature)"
  }

  /// Returns the id_token of ada's account, which was issued and ends after these times.
  static func idToken(
    seconds: Int64 = 3600, issuedAfter: Int64 = 0, audience: [JSONValue] = ["IDP-APP"]
  ) -> String {
    let claims: JSONValue = [
      "iss": "https://idp.example", "sub": "ada-7", "aud": .array(audience),
      "iat": JSONValue(Script.now + issuedAfter), "exp": JSONValue(Script.now + seconds),
    ]
    let header: JSONValue = ["alg": "HS256"]
    let text = [header, claims].map { Base64URL.encode($0.bytes()) }.joined(separator: ".")
    let signature = MessageAuthentication.hmacSHA256(
      key: Array(idpSecret.utf8), message: Array(text.utf8))
    return "\(text).\(Base64URL.encode(signature))"
  }

  /// The store with ada's account at the issuer.
  static func store(
    idToken: String? = idToken(), scopes: [String] = ["openid"], granted: Bool = true,
    isSignedIn: Bool = true
  ) -> ScriptedStore {
    var ada = Sample.account("ada", "idp")
    ada.subject = "ada-7"
    ada.isSignedIn = isSignedIn
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: idp.clientID),
      credential: .oauth2(
        OAuth2Credential(
          accessToken: Secret("IDP-AT"), scopes: scopes, expiresAt: Script.now + 86_400,
          refreshToken: Secret("IDP-RT"), idToken: idToken.map { Secret($0) })),
      binding: ProviderBinding(
        origins: ["https://idp.example"], clientID: idp.clientID, flowKind: .authorizationCode))
    return ScriptedStore(
      accounts: [ada],
      grants: (granted ? Sample.grants("idp", .granted) : []) + Sample.grants("as", .granted),
      credentials: isSignedIn ? [ada.id: [stored]] : [:])
  }

  static func engine(
    _ script: Script, idp: String = idpDescriptor(), target: String = targetDescriptor()
  ) throws -> Einlass {
    Einlass(
      catalog: try ProviderCatalogTests.catalog(idp, target), store: script.store.accountStore,
      effects: script.effects)
  }

  static func registration(_ provider: String) -> ClientRegistration? {
    provider == "idp" ? idp : provider == "as" ? target : nil
  }

  /// Returns a sign-in from ada's account, or without `from` by the file.
  static func request(
    _ kind: FlowKind? = .jwtBearer, from account: Account.ID? = adaID, resource: String? = nil
  ) -> SignInRequest {
    var request = SignInRequest(
      application: Sample.application, registration: target, provider: "as")
    request.flowKind = kind
    request.assertionFrom = account
    request.registrations = { registration($0) }
    request.resource = resource
    return request
  }

  static func wish(_ account: Account.ID) -> CredentialRequest {
    CredentialRequest(
      application: Sample.application, registration: { registration($0) }, account: account)
  }

  /// The issuer's answer with an assertion.
  static func issued(
    _ assertion: String, type: String = "id-jag", tokenType kind: String = "N_A"
  ) -> Script.Reply {
    .json(
      #"{"access_token":"\#(assertion)","issued_token_type":"\#(tokenType):\#(type)","token_type":"\#(kind)"}"#
    )
  }

  /// The server's answer with a token.
  static func token(_ text: String = "AT", more: String = "") -> Script.Reply {
    .json(#"{"access_token":"\#(text)","token_type":"Bearer","expires_in":3600\#(more)}"#)
  }

  static let refusal = Script.Reply.json(#"{"error":"invalid_grant"}"#, status: 400)

  static func identityAssertionRequest(resource: String? = nil, scope: String? = nil) -> [Parameter]
  {
    [
      Parameter("grant_type", "\(grantType):token-exchange"),
      Parameter("requested_token_type", "\(tokenType):id-jag"), Parameter("audience", issuer),
    ] + (resource.map { [Parameter("resource", $0)] } ?? [])
      + (scope.map { [Parameter("scope", $0)] } ?? [])
  }

  static func form(_ request: HTTPRequest) -> [Parameter] {
    FormEncoding.decode(request.body, plus: .space) ?? []
  }

  static func text(_ stored: StoredCredential?) -> String? {
    guard case .oauth2(let token)? = stored?.credential else { return nil }
    return String(decoding: token.accessToken.reveal(), as: UTF8.self)
  }
}
