import EinlassJSON
import Testing

@testable import Einlass

/// RFC 9728: the checks of a resource's metadata.
@Suite struct ResourceMetadataTests {
  private static func metadata(
    of resource: String, for address: String, _ change: (inout JSONObject) -> Void = { _ in }
  ) throws -> ResourceMetadata {
    var document: JSONObject = [
      "resource": .string(resource), "authorization_servers": ["https://as.example/tenant"],
      "scopes_supported": ["read", "write"],
    ]
    change(&document)
    return try ResourceMetadata(.object(document), for: .parse(address))
  }

  @Test(
    "The document is looked up for the path first, then for the whole host",
    arguments: [
      ("https://r.example", ["https://r.example/.well-known/oauth-protected-resource"]),
      ("https://r.example/", ["https://r.example/.well-known/oauth-protected-resource"]),
      (
        "https://r.example:8443/mcp/v1?k=v",
        [
          "https://r.example:8443/.well-known/oauth-protected-resource/mcp/v1?k=v",
          "https://r.example:8443/.well-known/oauth-protected-resource",
        ]
      ),
    ])
  func places(resource: String, expected: [String]) throws {
    #expect(try ResourceMetadata.addresses(of: .parse(resource)).map(\.text) == expected)
  }

  @Test(
    "Metadata is valid for its resource and for addresses below it",
    arguments: [
      ("https://r.example/mcp", "https://r.example/mcp"),
      ("https://r.example", "https://r.example/mcp"),
      ("https://r.example/", "https://r.example"),
      ("https://r.example/mcp", "https://R.example:443/mcp/x?y"),
      ("https://r.example/mcp?k=v", "https://r.example/mcp?k=v"),
    ])
  func own(resource: String, address: String) throws {
    let metadata = try Self.metadata(of: resource, for: address)
    #expect(metadata.resource == resource)
    #expect(metadata.authorizationServers.map(\.text) == ["https://as.example/tenant"])
    #expect(metadata.scopes == ["read", "write"])
  }

  @Test(
    "Metadata for another resource is refused",
    arguments: [
      ("https://r.example/mcp", "https://r.example"),
      ("https://r.example/mcp", "https://r.example/mcp2"),
      ("https://evil.example/mcp", "https://r.example/mcp"),
      ("http://127.0.0.1/mcp", "https://r.example/mcp"),
      ("https://r.example:444/mcp", "https://r.example/mcp"),
      ("https://r.example/MCP", "https://r.example/mcp"),
      ("https://r.example/a", "https://r.example/a/../b"),
      ("https://r.example/a", "https://r.example/a/.%2E/b"),
      ("https://r.example/mcp?k=v", "https://r.example/mcp?k=w"),
    ])
  func foreign(resource: String, address: String) {
    #expect(throws: ResourceMetadata.Fault.foreignResource) {
      try Self.metadata(of: resource, for: address)
    }
  }

  @Test func `A missing, misplaced or unsafe member is refused by name`() {
    let resource = "https://r.example"
    func fault(_ name: String, _ value: JSONValue?) -> ResourceMetadata.Fault? {
      do {
        _ = try Self.metadata(of: resource, for: resource) { $0[name] = value }
        return nil
      } catch { return error as? ResourceMetadata.Fault }
    }
    #expect(fault("resource", nil) == .member("resource"))
    #expect(fault("resource", "r.example") == .member("resource"))
    #expect(fault("authorization_servers", nil) == .member("authorization_servers"))
    #expect(fault("authorization_servers", []) == .member("authorization_servers"))
    #expect(fault("authorization_servers", ["http://as.example"]) == .unsafeAddress)
    #expect(fault("authorization_servers", [1]) == .member("authorization_servers"))
    #expect(fault("authorization_servers", 1) == .member("authorization_servers"))
    #expect(fault("authorization_servers", ["http://as.example", "https://as.example"]) == nil)
    #expect(fault("authorization_servers", "https://as.example") == nil)
    #expect(fault("authorization_servers", ["http://127.0.0.1:8080"]) == .unsafeAddress)
    #expect(fault("bearer_methods_supported", ["query"]) == .lacksBearerHeader)
    #expect(fault("bearer_methods_supported", "query") == .lacksBearerHeader)
    for value in ["header", .null, 0, "", [:]] as [JSONValue] {
      #expect(fault("bearer_methods_supported", value) == nil)
      #expect(fault("scopes_supported", value) == nil)
    }
    #expect(fault("bearer_methods_supported", []) == nil)
    #expect(fault("bearer_methods_supported", ["body", "header"]) == nil)
  }
}
