import EinlassCrypto
import EinlassJSON
import Testing

@testable import Einlass

/// The words of a descriptor for the response of a page, a signed client secret and the headers of a
/// host.
struct SignInWordTests {
  private static func fault(_ descriptor: String) throws -> String? {
    do {
      _ = try ProviderCatalogTests.catalog(descriptor)
      return nil
    } catch {
      return error.pointer.replacing("/providers/0", with: "")
    }
  }

  private static let page = #","redirect":{"address":"https://example.org/shown"}"#
  private static let issuer =
    #","issuer":"https://example.org","clientAuthentication":["client_secret_signed"]"#
  private static let audience = #","assertion":{"audience":"issuer"}"#

  @Test(arguments: [
    (page + #","pasted":"code#state""#, nil), (#","pasted":"code#state""#, "/flows/0/pasted"),
    (page + #","pasted":"code""#, "/flows/0/pasted"),
    (#","handedOn":["realmId","accounts-server"]"#, nil),
    (#","handedOn":["a","b","c","d","e","f","g","h"]"#, nil),
    (#","handedOn":["a","b","c","d","e","f","g","h","i"]"#, "/flows/0/handedOn"),
    (#","handedOn":["a","a"]"#, "/flows/0/handedOn"),
    (#","handedOn":["code"]"#, "/flows/0/handedOn"),
    (#","handedOn":["Client_ID"]"#, "/flows/0/handedOn"),
    (#","handedOn":["iss"]"#, "/flows/0/handedOn"), (#","handedOn":["a b"]"#, "/flows/0/handedOn"),
    (#","handedOn":["own"]"#, "/flows/0/handedOn"),
    (#","handedOn":["field"]"#, "/flows/0/handedOn"),
    (issuer + audience, nil), (issuer, "/flows/0/clientAuthentication"),
    (
      issuer.replacing("example.org", with: "example.com") + audience,
      "/flows/0/clientAuthentication"
    ),
    (#","clientAuthentication":"client_secret_signed""#, "/flows/0/clientAuthentication"),
  ]) func `A response hands on few parameters, and only its issuer gets a signed secret`(
    _ words: String, _ pointer: String?
  ) throws {
    let descriptor = TokenWordTests.descriptor(
      words,
      token: #""method":"POST","names":{"client_id":"own"},"form":{"field":"x"}"#)
    #expect(try Self.fault(descriptor) == pointer)
  }

  @Test(arguments: [
    (#""header":"X-Access-Token","headers":{"Notion-Version":"2022-06-28"}"#, nil),
    (#""prefix":"Example-token""#, nil), (#""header":"Cookie""#, "/header"),
    (#""header":"Authorization""#, "/header"), (#""header":"DPoP""#, "/header"),
    (#""header":"Proxy-Authorization""#, "/header"), (#""header":"X: y""#, "/header"),
    (#""prefix":"two words""#, "/prefix"), (#""headers":{"HOST":"a.example"}"#, "/headers/HOST"),
    (#""headers":{"Content-Length":"0"}"#, "/headers/Content-Length"),
    (#""headers":{"X-Forwarded-Host":"a"}"#, "/headers/X-Forwarded-Host"),
    (#""headers":{"A":"{token}"}"#, "/headers/A"), (#""headers":{"A":"b\r\nC: d"}"#, "/headers/A"),
    (#""headers":{"A":"b","a":"c"}"#, "/headers/a"),
    (#""header":"A","headers":{"a":"c"}"#, "/headers/a"), (#""headers":{"A":1}"#, "/headers/A"),
    (#""headers":["A"]"#, "/headers"), (#""scheme":"basic","header":"A""#, "/scheme"),
  ]) func `A host has fields of its own, but none of HTTP's`(
    _ words: String, _ pointer: String?
  ) throws {
    let descriptor = TokenWordTests.descriptor(
      more: #","hosts":[{"host":"api.example.org",\#(words)}]"#)
    #expect(try Self.fault(descriptor) == pointer.map { "/hosts/0\($0)" })
  }

  private static let pending = PendingAuthorization(
    stateParameter: "S", issuer: nil, handedOn: ["realmId"])

  @Test(arguments: [
    ("code=C&state=S&realmId=1%2F2", "realmId=1/2"), ("code=C&state=S", ""),
    ("code=C&state=S&other=1", ""), ("code=C&state=S&realmId=1&realmId=1", "realmId=1"),
    ("code=C&state=S&realmId=1&realmId=2", "has several different values of realmId"),
    ("code=C&state=S&realmId=a%0Ab", "has an unusable value of realmId"),
    (
      "code=C&state=S&realmId=\(String(repeating: "a", count: 513))",
      "has an unusable value of realmId"
    ),
    ("code=C&state=other&realmId=1", nil),
  ]) func `Only a named parameter of this sign-in is handed on`(
    _ query: String, _ expected: String?
  ) {
    let handed: String? =
      switch Self.pending.response(RedirectParameters(query)) {
      case .code(_, let further): further.map { "\($0.name)=\($0.value)" }.joined()
      case .unusable(let flaw): flaw
      default: nil
      }
    #expect(handed == expected)
  }

  @Test(arguments: [
    ("C#S", "C"), (" C#S\n", "C"), ("a&state=x#S", "a&state=x"), ("C#other", nil), ("C", nil),
    ("C#", nil), ("#S", nil), ("C#S#S", nil), ("C&state=S", nil),
  ]) func `A pasted code counts only with the state of the sign-in`(
    _ text: String, _ code: String?
  ) {
    let place = ReturnPlace(
      address: "https://example.org/shown", listener: nil, takesFragment: false, showsCode: true)
    let response = query(of: text, broughtTo: place).flatMap {
      Self.pending.response(RedirectParameters($0))
    }
    guard case .code(let found, _)? = response else {
      #expect(code == nil)
      return
    }
    #expect(revealedText(found) == code)
  }

  @Test func `A key replaces the secret of a registration only for a team`() throws {
    let provider = try ProviderCatalog.builtIn.provider("apple")
    let key = ClientAssertionTests.pem(.generate(.ellipticCurve(.p256)))
    var registration = ClientRegistration(
      clientID: "C", redirect: "https://example.org/cb", privateKey: key, keyID: "K")
    #expect(throws: Problem.self) { try provider.requireStorable(registration) }
    registration.teamID = "T"
    try provider.requireStorable(registration)
    registration.privateKey = ClientAssertionTests.pem(.generate(.ed25519))
    #expect(throws: Problem.self) { try provider.requireStorable(registration) }
    registration.privateKey = key
    let needs = provider.registrationNeeds
    #expect(try provider.complete(registration, with: needs) == registration)
    registration.privateKey = nil
    #expect(throws: Problem.self) { try provider.complete(registration, with: needs) }
    registration.clientSecret = Secret("made")
    let endpoint = try #require(provider.flows.first?.tokens)
    #expect(endpoint.clientAuthentication.fitting(registration) == .post)
    registration.privateKey = key
    #expect(endpoint.clientAuthentication.fitting(registration) == .signedSecret)
  }
}
