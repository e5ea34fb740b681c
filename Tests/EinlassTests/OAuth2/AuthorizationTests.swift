import EinlassCrypto
import EinlassJSON
import Testing

@testable import Einlass

/// The authorization request and its response. RFC 6749 section 4.1, RFC 7636, RFC 9207.
@Suite struct AuthorizationTests {
  @Test func `The proof key has the values of RFC 7636 appendix B`() {
    let key = ProofKey(randomBytes: [
      116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77,
      105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
    ])
    #expect(key.codeVerifier == Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
    #expect(key.codeChallenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test func `A hundred thousand verifiers are different, and each has 43 characters`() {
    let verifiers = (0..<100_000).map { _ in
      ProofKey(randomBytes: SecureRandom.bytes(ProofKey.byteCount)).codeVerifier.reveal()
    }
    #expect(Set(verifiers).count == 100_000)
    #expect(verifiers.allSatisfy { $0.count == 43 })
  }

  @Test(
    "An endpoint keeps its own query",
    arguments: [
      ("https://a.example/authorize", "https://a.example/authorize?redirect_uri="),
      ("https://a.example/authorize?", "https://a.example/authorize?redirect_uri="),
      ("https://a.example/authorize?q=1", "https://a.example/authorize?q=1&redirect_uri="),
    ])
  func endpoints(endpoint: String, beginning: String) throws {
    let request = AuthorizationRequest(
      endpoint: try WebAddress.parse(endpoint), clientID: "id", redirectURI: "http://127.0.0.1:7/c",
      scope: "", stateParameter: "s")
    #expect(request.address.text.hasPrefix(beginning))
    _ = try WebAddress.parse(request.address.text)
  }

  @Test func `Every value is encoded, and the parameters have a fixed order`() throws {
    var request = AuthorizationRequest(
      endpoint: try WebAddress.parse("https://a.example/authorize"), clientID: "my client&",
      redirectURI: "http://127.0.0.1:7/c", scope: "demo external", stateParameter: "s+/=",
      codeChallenge: "CH", nonce: "N", resource: "https://r.example/mcp")
    request.customParameters = [try AuthorizationRequest.customParameter("hl", "de-ü")]
    #expect(
      request.address.text
        == "https://a.example/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A7%2Fc&response_type=code&state=s%2B%2F%3D&client_id=my%20client%26&scope=demo%20external&code_challenge=CH&code_challenge_method=S256&nonce=N&resource=https%3A%2F%2Fr.example%2Fmcp&hl=de-%C3%BC"
    )
  }

  @Test(
    "Parameter names of the flow are refused by name",
    arguments: [
      "client_id", "redirect_uri", "response_type", "scope", "state", "STATE", "Nonce",
      "code_challenge", "oauth_consumer_key", "oauth_nonce", "oauth_signature",
      "oauth_signature_method", "oauth_timestamp", "oauth_token", "oauth_version",
    ])
  func reserved(name: String) {
    do {
      _ = try AuthorizationRequest.customParameter(name, "x")
      Issue.record("\(name) was taken")
    } catch {
      #expect(error.reason == .reservedParameter)
      #expect(error.message.contains(name.lowercased()))
    }
  }

  @Test(
    "Other names must be visible ASCII, and values have no control characters",
    arguments: [
      ("", "x"), ("a b", "x"), ("ä", "x"), ("a", "x\ny"), ("a", "\u{0}"), ("a", "\u{7F}"),
    ])
  func malformed(name: String, value: String) {
    #expect(throws: Problem.self) { try AuthorizationRequest.customParameter(name, value) }
  }

  private static let pending = PendingAuthorization(
    stateParameter: "STATE", issuer: "https://issuer.example")

  /// The response as a short text, or `nil` if it does not belong to this flow.
  private func word(
    _ query: String, isForm: Bool = false, _ pending: PendingAuthorization = pending
  ) -> String? {
    switch pending.response(RedirectParameters(query, isForm: isForm)) {
    case .code(let code, let further):
      ([revealedText(code)] + further.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
    case .refused(let error, let description): description.map { "\(error): \($0)" } ?? error
    case .anonymous(let error): "anonymous \(error)"
    case .foreign(let issuer): "foreign \(issuer ?? "-")"
    case .unusable(let flaw): flaw
    case nil: nil
    }
  }

  @Test(
    "Only a response for this flow ends the wait, with its code or the reason against it",
    arguments: [
      ("code=C&state=STATE", "C"), ("state=STATE&code=a%2Fb+c", "a/b c"),
      ("code=C&state=STATE&iss=https%3A%2F%2Fissuer.example", "C"),
      ("code=C&state=STATE&session_state=x&scope=a", "C"),
      ("error=access_denied&state=STATE", "access_denied"),
      ("error=server_error&error_description=no%0Aluck&state=STATE", "server_error: noluck"),
      ("", nil), ("code=C", nil), ("code=C&state=", nil), ("code=C&state=state", nil),
      ("code=C&state=STATE&state=other", nil), ("code=C&state=other&state=STATE", nil),
      ("error=invalid_scope", nil), ("code=%ZZ&state=other", nil), ("code=C&state=%ZZ", nil),
      ("code=C&state=STATE&state=STATE", "C"), ("code=C&code=C&state=STATE", "C"),
      ("code=C&error=&state=STATE", "C"),
      ("code=C&state=STATE&x=1&x=2&x=%ZZ", "has a parameter that cannot be decoded"),
      ("code=C&state=STATE&x=1&x=2", "C"),
      ("code=C&state=STATE&iss=https%3A%2F%2Fissuer.example&iss=https%3A%2F%2Fissuer.example", "C"),
      ("code=C&code=D&state=STATE", "has several different values of code"),
      ("error=x&error=y&state=STATE", "has several different values of error"),
      (
        "code=C&state=STATE&iss=https%3A%2F%2Fissuer.example&iss=https%3A%2F%2Fevil.example",
        "has several different values of iss"
      ),
      ("code=&state=STATE", "has neither a code nor an error"),
      ("state=STATE", "has neither a code nor an error"),
      ("code=C&error=x&state=STATE", "has both a code and an error"),
      ("code=%00&state=STATE", "has a malformed code"),
      ("code=%ZZ&state=STATE", "has a parameter that cannot be decoded"),
      ("code=%FF&state=STATE", "has a parameter that cannot be decoded"),
      ("code=C&state=STATE&iss=https%3A%2F%2Fissuer.example%2F", "foreign https://issuer.example/"),
      ("code=C&state=STATE&iss=", "foreign "),
      ("code=C&state=STATE&iss=https%3A%2F%2Fevil.example", "foreign https://evil.example"),
      (
        "error=access_denied&state=STATE&iss=https%3A%2F%2Fevil.example",
        "foreign https://evil.example"
      ),
    ] as [(String, String?)])
  func responses(query: String, expected: String?) { #expect(word(query) == expected) }

  @Test func `A query has at most 16 KiB, and a posted form 64 KiB`() {
    func response(_ count: Int, isForm: Bool) -> String? {
      let beginning = "code=C&state=STATE&x="
      let more = String(repeating: "a", count: count - beginning.utf8.count)
      return word(beginning + more, isForm: isForm)
    }
    for (limit, isForm) in [(16 << 10, false), (64 << 10, true)] {
      #expect(response(limit, isForm: isForm) == "C")
      #expect(response(limit + 1, isForm: isForm) == "is too long")
    }
  }

  @Test func `A server that promises the iss parameter must send it`() {
    var pending = Self.pending
    pending.promisesIssuer = true
    #expect(word("code=C&state=STATE", pending) == "foreign -")
    #expect(word("error=access_denied&state=STATE", pending) == "anonymous access_denied")
    #expect(word("error=access_denied&state=state", pending) == nil)
    #expect(word("error=x&code=C&state=STATE", pending) == "foreign -")
    #expect(
      word("error=x&state=STATE&iss=https%3A%2F%2Fissuer.example%2F", pending)
        == "foreign https://issuer.example/")
    #expect(word("code=C&state=STATE&iss=https%3A%2F%2Fissuer.example", pending) == "C")
  }

  @Test(
    "Clients authenticate as their servers require (RFC 6749 2.3.1 and 4.1.3, RFC 7617)",
    arguments: [
      (ClientAuthentication.basic, "s6BhdRkqt3", "gX1fBat3bV", "czZCaGRSa3F0MzpnWDFmQmF0M2JW"),
      (.basicPlain, "Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
      (.basic, "Aladdin", "open sesame", "QWxhZGRpbjpvcGVuK3Nlc2FtZQ=="),
      (.basic, "a:b", "c/d+e", "YSUzQWI6YyUyRmQlMkJl"),
      (.basicPlain, "ab", "c/d+e", "YWI6Yy9kK2U="),
    ])
  func basic(way: ClientAuthentication, id: String, secret: String, expected: String) throws {
    var form: [Parameter] = []
    var headers: [HTTPRequest.Header] = []
    try way.prove(
      ClientRegistration(clientID: id, clientSecret: Secret(secret)), form: &form,
      headers: &headers, assertion: { "" })
    #expect(headers == [.init("Authorization", "Basic \(expected)")])
    #expect(form.isEmpty)
  }

  @Test func `The form contains client id and secret, or the client id alone`() throws {
    let registration = ClientRegistration(clientID: "id", clientSecret: Secret("s"))
    for (way, registration, expected) in [
      (
        ClientAuthentication.post, registration,
        [Parameter("client_id", "id"), Parameter("client_secret", "s")]
      ),
      (.none, registration, [Parameter("client_id", "id")]),
      (.basic, ClientRegistration(clientID: "id"), [Parameter("client_id", "id")]),
    ] {
      var form: [Parameter] = []
      var headers: [HTTPRequest.Header] = []
      try way.prove(registration, form: &form, headers: &headers, assertion: { "" })
      #expect(form == expected && headers.isEmpty)
    }
  }
}
