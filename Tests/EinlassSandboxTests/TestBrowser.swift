import EinlassCrypto
import EinlassJSON
import Testing

@testable import EinlassSandbox

/// An application and a browser at one of the OAuth 2.0 providers.
struct TestBrowser {
  static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
  static let redirect = "http://127.0.0.1:4711/callback"

  let client: TestClient
  var provider = OAuth2Provider.openID
  var application = "demo-openid"
  /// The parameters of the authorization request. Tests change one of them to make the request
  /// wrong.
  var asked = [
    "response_type": "code", "client_id": "demo-openid", "redirect_uri": redirect,
    "scope": "openid profile", "state": "s/1+2", "code_challenge": challenge,
    "code_challenge_method": "S256", "nonce": "n1",
  ]

  /// Runs a sandbox. By default the person gives consent at once.
  static func run(
    _ provider: OAuth2Provider = .openID, consent: String = "allow",
    _ body: (TestSandbox, TestBrowser) async throws -> Void
  ) async throws {
    try await TestSandbox.run(owners: [provider]) { sandbox async throws in
      try await sandbox.patch([provider.name: ["behaviour": ["consent": .string(consent)]]])
      var browser = TestBrowser(
        client: TestClient(port: try #require(sandbox.ownPorts[provider.name])), provider: provider)
      browser.application = try #require(
        provider.demoState["applications"]?.object?.members.first?.name)
      browser.asked["client_id"] = browser.application
      try await body(sandbox, browser)
    }
  }

  func path(_ endpoint: OAuth2Provider.Endpoint) -> String {
    provider.demoState[at: "endpoints", endpoint.rawValue]?.string ?? "/missing"
  }

  func authorize(decision: [(String, String)]? = nil) async throws -> Reply? {
    let query = asked.sorted { $0.key < $1.key }.map { Parameter(name: $0.key, value: $0.value) }
    let target = path(.authorization) + "?" + query.formEncoded
    guard let decision else { return try await client.send("GET", target) }
    return try await client.post(target, form: decision)
  }

  /// Returns the parameters of the redirect to the redirect address.
  func answer(_ reply: Reply?) throws -> [Parameter] {
    #expect(reply?.status == 302)
    let parts = try #require(reply?.header("location")).split(separator: "?", maxSplits: 1)
    #expect(parts[0] == asked["redirect_uri"] ?? "")
    return try #require([Parameter](formEncoded: String(parts[1])))
  }

  func code() async throws -> String {
    try #require(answer(try await authorize())["code"])
  }

  /// Sends a form, or the JSON that the provider wants, to the token endpoint. A `nil` value removes
  /// a parameter of the default form.
  func token(
    _ changes: [String: String?], grant: String = "authorization_code",
    headers: [(String, String)] = []
  ) async throws -> Reply? {
    var form: [String: String] = ["grant_type": grant, "client_id": application]
    if grant == "authorization_code" {
      form["redirect_uri"] = asked["redirect_uri"]
      form["code_verifier"] = Self.verifier
    }
    for (name, value) in changes { form[name] = value }
    if provider.demoState[at: "behaviour", "takesJSON"] == true {
      let body = JSONValue.object(JSONObject(form.map { ($0.key, .string($0.value)) })).text
      return try await client.send(
        "POST", path(.token), headers: headers + [("Content-Type", "application/json")],
        body: Array(body.utf8))
    }
    return try await client.post(
      path(.token), headers: headers,
      form: form.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
  }

  /// Redeems a new code and returns the token response.
  func signIn() async throws -> JSONValue {
    let reply = try await token(["code": try await code()])
    #expect(reply?.status == 200, "\(reply?.text ?? "")")
    return try #require(reply?.json)
  }

  /// Requests the identity of the token's user.
  func userinfo(_ token: String) async throws -> Reply? {
    let field = provider.demoState[at: "behaviour", "userinfoQuery"]?.string
    return try await client.send(
      field == nil ? "GET" : "POST", path(.userinfo),
      headers: [("Authorization", "Bearer \(token)"), ("Client-Id", application)],
      body: field.map { Array(#"{"query":"{ \#($0) { id } }"}"#.utf8) } ?? [])
  }
}
