import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

@Suite struct TokenAudienceTests {
  private static let resource = "https://photos.example/mcp"

  private static func token(_ claims: JSONValue) -> OAuth2Credential {
    let parts = [#"{"alg":"RS256"}"#, claims.text, "x"].map { Base64URL.encode(Array($0.utf8)) }
    return OAuth2Credential(accessToken: Secret(parts.joined(separator: ".")))
  }

  private static func isTaken(_ token: OAuth2Credential, omits: Bool = true) throws -> Bool {
    let provider = try ProviderCatalog.builtIn.provider("microsoft")
    var endpoint = try #require(provider.flows.lazy.compactMap(\.tokens).first)
    endpoint.omitsResource = omits
    let exchange = Exchange(
      provider: provider, effects: Script().effects, remaining: [], secrets: [])
    do throws(FlowFailure) {
      try exchange.requireAudience(of: token, resource, at: endpoint)
      return true
    } catch {
      #expect(error.problem.reason == .verificationFailed && error.problem.detail == "audience")
      return false
    }
  }

  @Test(
    arguments: [
      (["aud": "https://photos.example/mcp"], true), (["aud": "https://photos.example"], true),
      (["aud": ["https://other.example", "https://photos.example/"]], true),
      (["aud": "https://photos.example/mcp/tools"], true),
      // The application ids of Entra.
      (["aud": "api://5f2c"], true), (["aud": "00000003-0000-0000-c000-000000000000"], true),
      ([:], true), (["aud": []], true), (["aud": 7], true),
      (["aud": "https://photos.example/other"], false),
      (["aud": "https://other.example/mcp"], false), (["aud": "http://photos.example/mcp"], false),
      (["aud": ["https://other.example", "https://photos.example:444"]], false),
    ] as [(JSONValue, Bool)])
  func `A token for the address of another resource is refused`(claims: JSONValue, isTaken: Bool)
    throws
  {
    #expect(try Self.isTaken(Self.token(claims)) == isTaken)
    // A server that is told the resource may name it as it likes.
    #expect(try Self.isTaken(Self.token(claims), omits: false))
  }

  @Test func `A token without readable claims is taken`() throws {
    for text in ["opaque", "a.b", "a.b.c", "a.!.c", "..", "a.e30.c.d"] {
      #expect(try Self.isTaken(OAuth2Credential(accessToken: Secret(text))))
    }
  }

  @Test func `A registration changes the parameters of its token requests`() throws {
    let provider = try ProviderCatalog.builtIn.provider("google")
    let endpoint = try #require(provider.flows.lazy.compactMap(\.tokens).first)
    #expect(endpoint.parameters(for: Self.resource) == [Parameter("resource", Self.resource)])
    #expect(endpoint.parameters(for: nil) == [])
    var registration = ClientRegistration(clientID: "x", clientSecret: Secret("y"))
    #expect(provider.registered(as: registration) === provider)
    registration.readProperties(
      of: [
        "resourceParameter": "omit", "dpop": true, "idTokenAlgorithm": "HS256",
        "assertionAudience": "issuer",
      ])
    let changed = try #require(
      provider.registered(as: registration).flows.lazy.compactMap(\.tokens).first)
    #expect(changed.parameters(for: Self.resource) == [])
    #expect(changed.assertion.audience == .issuer && endpoint.assertion.audience == nil)
    #expect(changed.isBound && changed.isSignedBySecret && changed.verifiesIDTokens)
    #expect(!endpoint.isBound && !endpoint.isSignedBySecret)
  }
}
