import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document).
@Suite struct ClientMetadataTests {
  private static let address = "https://example.org/einlass.json"
  private static let good: JSONObject = [
    "client_id": .string(address), "redirect_uris": ["http://127.0.0.1/callback"],
    "token_endpoint_auth_method": "none",
  ]

  private static func fault(_ status: Int, _ body: String) -> String? {
    ClientMetadata.fault(
      of: HTTPResponse(status: status, body: Array(body.utf8)), at: address,
      redirect: .loopback(host: .literal, ports: [], path: "/callback"))
  }

  private static func fault(_ change: (inout JSONObject) -> Void) -> String? {
    var document = good
    change(&document)
    return fault(200, JSONValue.object(document).text)
  }

  @Test(
    arguments: [
      ("https://example.org/einlass.json", true), ("https://example.org/a/b", true),
      ("https://example.org", false), ("https://example.org/", false),
      ("http://example.org/a", false), ("https://example.org/a?b", false),
      ("https://example.org/a#b", false), ("https://ada@example.org/a", false),
      ("https://example.org/../a", false),
      ("https://example.org/\(String(repeating: "a", count: 236))", true),
      ("https://example.org/\(String(repeating: "a", count: 237))", false), ("example", false),
    ])
  func `A client id of this kind is an https address with a path`(text: String, isTaken: Bool) {
    #expect(ClientMetadata.isAddress(text) == isTaken)
  }

  @Test func `A document that names its address and the redirect is used`() {
    #expect(Self.fault { _ in } == nil)
    #expect(Self.fault { $0["redirect_uris"] = ["http://127.0.0.1:8400/callback"] } == nil)
    #expect(Self.fault { $0["token_endpoint_auth_method"] = nil } == nil)
    #expect(Self.fault { $0["grant_types"] = ["authorization_code"] } == nil)
  }

  @Test func `A document that the server would refuse is refused with its fault`() {
    #expect(Self.fault(302, "")?.contains("redirects") == true)
    #expect(Self.fault(404, "")?.contains("404") == true)
    #expect(Self.fault(200, "<html>")?.contains("JSON") == true)
    #expect(Self.fault(200, "[]")?.contains("JSON") == true)
    #expect(
      Self.fault { $0["client_id"] = "https://evil.example/x" }?.contains("client_id") == true)
    #expect(Self.fault { $0["client_id"] = nil }?.contains("client_id") == true)
    for other: JSONValue in [
      [], ["https://example.org/callback"], ["http://127.0.0.1/other"],
      ["http://localhost/callback"], ["http://127.0.0.1.evil.example/callback"],
    ] {
      #expect(Self.fault { $0["redirect_uris"] = other }?.contains("redirect_uris") == true)
    }
    #expect(
      Self.fault { $0["token_endpoint_auth_method"] = "private_key_jwt" }?
        .contains("token_endpoint_auth_method") == true)
    #expect(Self.fault { $0["grant_types"] = ["refresh_token"] }?.contains("grant_types") == true)
  }

  @Test(
    arguments: [
      (.json(JSONValue.object(good).text), nil), (.networkFailure(-1004), nil),
      (.networkFailure(-1103), .authenticatorUnconfigured),
      (.text("", status: 302), .authenticatorUnconfigured),
    ] as [(Script.Reply, Problem.Reason?)])
  func `A document out of reach of this machine is used, and one that is too long is not`(
    reply: Script.Reply, reason: Problem.Reason?
  ) async throws {
    let script = Script([reply])
    let provider = try ProviderCatalog.builtIn.provider("github")
    do throws(Problem) {
      try await script.effects.requireFitting(
        ClientMetadata.registration(at: Self.address), at: provider)
      #expect(reason == nil)
    } catch {
      #expect(error.reason == reason && error.detail == "clientMetadata")
    }
    #expect(script.log == ["GET \(Self.address)"])
  }
}
