import Einlass
import EinlassJSON
import EinlassSystem
import Testing

@testable import EinlassServer

struct AddedProvidersTests {
  private static func descriptor(_ name: String) throws -> JSONValue {
    try JSONReader.read(
      Array(
        """
        {"id":"example","name":"\(name)","setup":{"documentation":"https://example.org/docs"},\
        "accounts":"many","registration":["clientId"],\
        "identity":{"request":{"method":"GET","url":"https://api.example.org/me","bearer":"{token}"},\
        "id":"/id","required":["id"]},"flows":[{"kind":"systemToken"}],"errors":{"shapes":[],"rules":[]}}
        """.utf8))
  }

  /// A file of added providers in memory.
  private static func overlay() -> ProviderOverlay {
    let text = Lock<[UInt8]?>(nil)
    return ProviderOverlay(
      read: { text.withLock(\.self) },
      change: { edit throws(Problem) in
        let edited = try edit(text.withLock(\.self))
        text.withLock { $0 = edited }
      })
  }

  @Test(arguments: [false, true])
  func `A provider is withdrawn unless another process has changed its descriptor`(
    isChanged: Bool
  ) throws {
    let overlay = Self.overlay()
    let (one, other) = (
      AddedProviders(overlay, to: .none, origins: [:]),
      AddedProviders(overlay, to: .none, origins: [:])
    )
    let descriptor = try Self.descriptor("Example")
    #expect(try one.addIfMissing(descriptor))
    if isChanged { _ = try other.add(Self.descriptor("Other"), isNamed: true) }
    try one.withdraw(descriptor)
    #expect(one.catalog.providers.map(\.name) == (isChanged ? ["Other"] : []))
    #expect(try one.descriptors().count == (isChanged ? 1 : 0))
  }

  @Test(arguments: [false, true])
  func `The data of a removed provider is forgotten unless the catalogue has its id`(
    isBuiltIn: Bool
  ) throws {
    let builtIn = try ProviderCatalog(
      json: JSONValue.object(["providers": [Self.descriptor("Built-in")]]).bytes())
    let providers = AddedProviders(
      Self.overlay(), to: isBuiltIn ? builtIn : .none, origins: [:])
    _ = try providers.addIfMissing(Self.descriptor("Added"))
    #expect(providers.catalog.providers.map(\.name) == ["Added"])
    var forgotten: [String] = []
    try providers.remove("example") { id throws(Problem) in forgotten.append(id) }
    #expect(forgotten == (isBuiltIn ? [] : ["example"]))
    #expect(providers.catalog.providers.map(\.name) == (isBuiltIn ? ["Built-in"] : []))
  }

  @Test func `A provider is not added under an alias of the catalogue`() throws {
    var own = try #require(try Self.descriptor("Built-in").object)
    own["aliases"] = ["example.com"]
    let catalog = try ProviderCatalog(
      json: JSONValue.object(["providers": [.object(own)]]).bytes())
    let providers = AddedProviders(Self.overlay(), to: catalog, origins: [:])
    var added = try #require(try Self.descriptor("Added").object)
    added["id"] = "example.com"
    let descriptor = JSONValue.object(added)
    let problem = #expect(throws: Problem.self) { try providers.add(descriptor, isNamed: true) }
    #expect(problem?.reason == .invalidParameter && problem?.path == "/id")
    #expect(throws: Problem.self) { try providers.addIfMissing(descriptor) }
    #expect(providers.catalog.providers.map(\.name) == ["Built-in"])
    added["id"] = "other.example"
    #expect(try providers.add(.object(added), isNamed: true).isNew)
  }

  @Test func `A hidden provider of another machine stays away from a test`() throws {
    let builtIn = try ProviderCatalog(
      json: JSONValue.object(["providers": [Self.descriptor("Built-in")]]).bytes())
    let local = try ProviderCatalog(
      json: JSONValue.object(["providers": [Self.descriptor("Added")]]).bytes()
    ).relocated(origins: [
      "https://example.org": "http://127.0.0.1:1", "https://api.example.org": "http://127.0.0.1:1",
    ])
    let catalog = builtIn.adding(local)
    #expect(catalog.withoutAdded("example").providers.map(\.name) == ["Built-in"])
    #expect(catalog.onThisMachine.withoutAdded("example").providers.isEmpty)
  }
}
