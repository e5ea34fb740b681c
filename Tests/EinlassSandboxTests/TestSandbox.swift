import EinlassJSON
import Testing

@testable import EinlassSandbox

/// A sandbox on free ports with a fixed time.
struct TestSandbox {
  static let now: Int64 = 1_500_000_000
  let providers: TestClient
  let control: TestClient
  /// The ports of the providers that have a separate address.
  let ownPorts: [String: UInt16]

  /// Runs a sandbox during `body`.
  static func run(
    state: JSONValue = DemoState.whole, owners: [any Provider] = [],
    _ body: (TestSandbox) async throws -> Void
  ) async throws {
    let running = try RunningSandbox(state: state, owners: owners, clock: { now })
    try await withThrowingTaskGroup { group in
      group.addTask { try await running.run() }
      let line = running.announcement
      let port = { (name: String) throws in
        try #require(line[name]?.string?.split(separator: ":").last.flatMap { UInt16($0) })
      }
      let own = (line["addresses"]?.object?.members ?? []).compactMap { member in
        member.value.string?.split(separator: ":").last.flatMap { UInt16($0) }
          .map { (member.name, $0) }
      }
      try await body(
        TestSandbox(
          providers: TestClient(port: port("address")),
          control: TestClient(port: port("control")),
          ownPorts: Dictionary(uniqueKeysWithValues: own)))
      group.cancelAll()
    }
  }

  func patch(_ patch: JSONValue) async throws {
    let reply = try await control.send("PATCH", "/state", body: patch.bytes())
    #expect(reply?.status == 200, "\(reply?.text ?? "")")
  }

  func state() async throws -> JSONValue {
    try #require(try await control.send("GET", "/state")?.json)
  }

  func log() async throws -> [JSONValue] {
    try #require(try await control.send("GET", "/log")?.json?["requests"]?.array)
  }
}

/// The parameters of a request's OAuth 1.0 signature.
struct TestSigner {
  var consumer = "demo-twitter-key"
  var consumerSecret = "demo-twitter-secret"
  var token: String?
  var tokenSecret = ""
  var nonce: String?
  var timestamp = String(TestSandbox.now)
  var version: String? = "1.0"
  var method = "HMAC-SHA1"
  /// Additional parameters of the header. The signature covers them.
  var extra: [Parameter] = []

  static func system(_ user: Int) -> TestSigner {
    TestSigner(
      consumer: "system-twitter-key", consumerSecret: "system-twitter-secret",
      token: "\(user)-system-token", tokenSecret: "\(user)-system-secret")
  }

  func header(
    _ verb: String, _ path: String, port: UInt16, query: [Parameter] = [], form: [Parameter] = []
  ) -> (String, String) {
    var parameters = [
      Parameter(name: "oauth_consumer_key", value: consumer),
      Parameter(name: "oauth_nonce", value: nonce ?? World(state: .null).randomText(20)),
      Parameter(name: "oauth_signature_method", value: method),
      Parameter(name: "oauth_timestamp", value: timestamp),
    ]
    if let version { parameters.append(Parameter(name: "oauth_version", value: version)) }
    if let token { parameters.append(Parameter(name: "oauth_token", value: token)) }
    parameters += extra
    let base = OAuth1Signature.baseString(
      method: verb, uri: "http://127.0.0.1:\(port)\(path)", parameters: parameters + query + form)
    let signature = OAuth1Signature.sign(
      base, with: OAuth1Signature.Method(rawValue: method) ?? .sha1,
      consumerSecret: consumerSecret, tokenSecret: tokenSecret)
    parameters.append(Parameter(name: "oauth_signature", value: signature))
    return ("Authorization", OAuth1Header.text(parameters))
  }
}

extension TestSandbox {
  func twitter(
    _ verb: String, _ path: String, query: [(String, String)] = [],
    form: [(String, String)] = [], by signer: TestSigner
  ) async throws -> Reply? {
    let query = query.map { Parameter(name: $0.0, value: $0.1) }
    let target = query.isEmpty ? path : "\(path)?\(query.formEncoded)"
    let header = signer.header(
      verb, path, port: providers.port, query: query,
      form: form.map { Parameter(name: $0.0, value: $0.1) })
    return form.isEmpty
      ? try await providers.send(verb, target, headers: [header])
      : try await providers.post(target, headers: [header], form: form)
  }

  /// Runs the first step of reverse auth.
  func requestToken(by signer: TestSigner = TestSigner()) async throws -> Reply? {
    try await twitter(
      "POST", "/oauth/request_token", form: [("x_auth_mode", "reverse_auth")], by: signer)
  }

  /// Runs the second step of reverse auth.
  func accessToken(
    _ line: String, target: String = "demo-twitter-key", by signer: TestSigner = .system(1001)
  ) async throws -> Reply? {
    try await twitter(
      "POST", "/oauth/access_token",
      form: [("x_reverse_auth_parameters", line), ("x_reverse_auth_target", target)], by: signer)
  }

  /// Runs both steps and returns a signer with the user's token for the demo application.
  func signIn(_ user: Int = 1001, to application: TestSigner = TestSigner()) async throws
    -> TestSigner
  {
    let line = try #require(try await requestToken(by: application)).text
    let reply = try await accessToken(line, target: application.consumer, by: .system(user))
    let form = try #require([Parameter](formEncoded: reply?.text ?? ""))
    var signer = application
    let token: String = try #require(form["oauth_token"])
    let secret: String = try #require(form["oauth_token_secret"])
    (signer.token, signer.tokenSecret) = (token, secret)
    return signer
  }

  /// Requests the identity of the token's user from Twitter.
  func verifyCredentials(
    by signer: TestSigner, query: [(String, String)] = [("include_email", "true")]
  ) async throws -> Reply? {
    try await twitter(
      "GET", "/1.1/account/verify_credentials.json", query: query, by: signer)
  }
}
