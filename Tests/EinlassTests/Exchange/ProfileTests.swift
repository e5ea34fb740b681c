import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// The profile of an identity: the provider's answer about the person.
@Suite struct ProfileTests {
  private static let provider = """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId","clientSecret"],\
    "identity":{"request":{"method":"GET","url":"https://op.example/me","bearer":"{token}"},\
    "id":"/id","email":"/email","emailVerified":"/sure","required":["id"]},\
    "flows":[{"kind":"deviceCode",\
    "deviceAuthorization":{"method":"POST","url":"https://op.example/login"},\
    "token":{"method":"POST","url":"https://op.example/token"}}]}
    """
  private static let token = "ACCESS/TOKEN+VALUE"
  private static let secret = "CLIENT-SECRET"

  /// Signs in with this answer to the identity request.
  private func signIn(_ answer: String) async throws -> AccountStore.Added {
    let script = Script(
      [
        .json(
          #"{"device_code":"DC","user_code":"UC","verification_uri":"https://op.example/go","expires_in":600}"#
        ),
        .json(
          #"{"access_token":"\#(Self.token)","refresh_token":"REFRESH-TOKEN","token_type":"Bearer"}"#
        ),
        .json(answer),
      ], answers: [.accept()])
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.provider), store: script.store.accountStore,
      effects: script.effects)
    return try await engine.signIn(
      SignInRequest(
        application: Sample.application,
        registration: ClientRegistration(clientID: "APP", clientSecret: Secret(Self.secret)),
        provider: "example"), asking: script.asker([.deviceCode]))
  }

  @Test func `A sign-in gives the provider's whole answer about the person`() async throws {
    let added = try await signIn(
      #"{"id":"7", "email":"a@x", "sure":true, "more":{"list":[1,null,"\u00e4"]}}"#)
    let profile = try #require(added.identity?.profile)
    #expect(
      profile == ["id": "7", "email": "a@x", "sure": true, "more": ["list": [1, .null, "ä"]]])
    #expect(added.identity?.isEmailVerified == true)
    #expect(added.account.isEmailVerified && added.account.isReported)
  }

  @Test(arguments: [(16_384, true), (16_385, false)])
  func `A profile has at most 16 KiB`(byteCount: Int, isThere: Bool) async throws {
    let frame = #"{"id":"7","pad":""}"#
    let pad = String(repeating: "x", count: byteCount - frame.utf8.count)
    let added = try await signIn(#"{"id":"7","pad":"\#(pad)"}"#)
    #expect((added.identity?.profile == ["id": "7", "pad": .string(pad)]) == isThere)
    #expect((added.identity?.profile == nil) == !isThere)
    #expect(added.account.subject == "7")
  }

  @Test(arguments: [
    token, #"ACCESS\/TOKEN+VALUE"#, "ACCESS%2FTOKEN%2BVALUE", "ACCESS&#47;TOKEN+VALUE", secret,
    "REFRESH-TOKEN", "Basic " + Base64.encode(Array("APP:CLIENT-SECRET".utf8)),
  ])
  func `A secret in the answer does not reach the profile`(spelling: String) async throws {
    let added = try await signIn(
      #"{"id":"7","note":"a \#(spelling) b","list":[{"\#(spelling)":1}],"name":"Ada"}"#)
    let profile = try #require(added.identity?.profile)
    let text = JSONValue.object(profile).text
    for secret in [Self.token, Self.secret, "REFRESH-TOKEN", "VALUE", "SECRET", "Q0xJRU5U"] {
      #expect(!text.contains(secret), "\(text)")
    }
    #expect(profile["name"] == "Ada" && text.contains("…"))
  }

  @Test func `An answer in which a secret crosses the syntax has no profile`() async throws {
    let script = #"{"id":"7","n":\#(Self.digits)}"#
    let exchange = Exchange(
      provider: try ProviderCatalogTests.catalog(Self.provider).provider("example"),
      effects: Script([]).effects, remaining: [], secrets: [Secret(Self.digits)])
    let identity = try exchange.identity(in: JSONReader.read(Array(script.utf8)))
    #expect(identity.id == "7" && identity.profile == nil)
  }

  private static let digits = "1234567890"
}
