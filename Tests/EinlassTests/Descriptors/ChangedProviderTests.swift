import EinlassJSON
import Testing

@testable import Einlass

struct ChangedProviderTests {
  private func catalog(changedBy patches: JSONObject) throws -> ProviderCatalog {
    try ProviderCatalog.builtIn.changed(by: patches)
  }

  @Test func `A member of a built-in provider is changed, and all others stay`() throws {
    let usual = try ProviderCatalog.builtIn.provider("facebook")
    let changed = try catalog(changedBy: ["facebook": ["version": "v25.0", "locale": .null]])
    let provider = try changed.provider("facebook.com")
    #expect(usual.identity?.request?.address.path == "/v26.0/me")
    #expect(provider.identity?.request?.address.path == "/v25.0/me")
    #expect(usual.locale != nil && provider.locale == nil)
    #expect(provider.flowKinds == usual.flowKinds && provider.hosts == usual.hosts)
    #expect(changed.providers.map(\.id) == ProviderCatalog.builtIn.providers.map(\.id))
    #expect(ProviderCatalog.builtIn.isBuiltIn(usual) && !changed.isBuiltIn(provider))
  }

  @Test func `A change that is wrong is refused with its place`() throws {
    let wrong: [(JSONObject, String)] = [
      (["a/b": [:]], "/providers/a~1b"),
      (["facebook.com": ["version": "v25.0"]], "/providers/facebook.com"),
      (["facebook": ["id": "github"]], "/providers/facebook/id"),
      (["facebook": ["aliases": []]], "/providers/facebook/aliases"),
      (["facebook": ["version": "v 25"]], "/providers/facebook/version"),
      (["facebook": ["like": "github"]], "/providers/facebook/like"),
      (["facebook": ["flows": .null]], "/providers/facebook/flows"),
      (["facebook": ["vresion": "v25.0"]], "/providers/facebook/vresion"),
    ]
    for (patches, pointer) in wrong {
      let fault = #expect(throws: ProviderCatalog.Fault.self) { try catalog(changedBy: patches) }
      #expect(fault?.pointer == pointer)
    }
  }
}
