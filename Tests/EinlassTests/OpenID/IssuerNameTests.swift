import EinlassJSON
import Testing

@testable import Einlass

@Suite("The issuer of many tenants in a descriptor")
struct IssuerNameTests {
  private static let identity = #""identity":{"id":"/sub","required":["id"]},"#

  private func read(
    _ issuer: String, _ identity: String = identity, more: String = ""
  ) throws -> Provider {
    let json = """
      {"providers":[{"id":"a","name":"A","setup":{"documentation":"https://a.example"},"accounts":"many",\
      "registration":["clientId"],\(identity)"flows":[{"kind":"authorizationCode",\
      "authorize":{"method":"GET","url":"https://a.example"},"redirect":{},\
      "token":{"method":"POST","url":"https://a.example/token"},\(more)"issuer":"\(issuer)",\
      "keySet":"https://a.example/keys"}]}]}
      """
    return try #require(ProviderCatalog(json: Array(json.utf8)).providers.first)
  }

  @Test("A template is one whole segment, and is kept as it is written")
  func written() throws {
    let text = "https://a.example/{tenantid}/v2.0"
    #expect(try read(text).keySource?.issuer?.text == text)
    for issuer in [
      "https://a.example/x{tenantid}/v2.0", "https://{tenantid}.example",
      "https://a.example/{other}",
      "https://a.example/{tenantid}/{tenantid}", "http://a.example/{tenantid}",
      "https://A.example/{tenantid}", "https://a.example/{tenantid}?a=b", "{tenantid}",
    ] {
      let fault = try #require(throws: ProviderCatalog.Fault.self, "\(issuer)") { try read(issuer) }
      #expect(fault.pointer == "/providers/0/flows/0/issuer")
    }
  }

  @Test("Only the id_token names a person of a tenant, and no address is verified")
  func identities() throws {
    let text = "https://a.example/{tenantid}/v2.0"
    let request = #""request":{"method":"GET","url":"https://a.example/me"},"#
    for words in [
      #""identity":{\#(request)"id":"/sub","required":["id"]},"#,
      #""identity":{"id":"/oid","required":["id"]},"#,
      #""identity":{"id":"/sub","email":"/email","emailVerified":"/x","required":["id"]},"#,
      #""identity":{"id":"/sub","idPrefix":"a","required":["id"]},"#,
    ] {
      let fault = try #require(throws: ProviderCatalog.Fault.self) { try read(text, words) }
      #expect(fault.pointer == "/providers/0/identity", "\(words)")
    }
  }

  @Test("Further audiences are texts, and need keys")
  func audiences() throws {
    let audiences = #""audiences":["https://api.example"],"#
    #expect(
      try read("https://a.example", more: audiences).keySource?.audiences == ["https://api.example"]
    )
    for words in [#""audiences":"a","#, #""audiences":[7],"#, #""audiences":[""],"#] {
      let fault = try #require(throws: ProviderCatalog.Fault.self) {
        try read("https://a.example", more: words)
      }
      #expect(fault.pointer.hasPrefix("/providers/0/flows/0/audiences"))
    }
  }
}
