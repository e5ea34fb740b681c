import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// The aliases of providers.
@Suite struct AliasTests {
  private static func small(_ id: String, _ aliases: String? = nil) -> String {
    ProviderCatalogTests.small.replacing("\"id\":\"example\"", with: "\"id\":\"\(id)\"").replacing(
      "\"accounts\"", with: "\(aliases.map { "\"aliases\":\($0)," } ?? "")\"accounts\"")
  }

  private static func json(_ providers: String...) -> [UInt8] {
    Array("{\"providers\":[\(providers.joined(separator: ","))]}".utf8)
  }

  @Test(arguments: [
    ("twitter.com", "twitter"), ("facebook.com", "facebook"), ("github.com", "github"),
    ("google.com", "google"), ("apple.com", "apple"), ("microsoft.com", "microsoft"),
    ("linkedin.com", "linkedin"), ("huggingface.co", "huggingface"),
  ])
  func `The domain of a provider stands for its id`(alias: String, id: String) throws {
    let catalog = ProviderCatalog.builtIn
    #expect(try catalog.provider(alias).id == id)
    #expect(catalog.id(of: alias) == id && catalog.id(of: id) == id)
    #expect(catalog.isTaken(alias) && catalog.isTaken(id))
  }

  @Test func `Another name stands for no provider`() throws {
    let catalog = ProviderCatalog.builtIn
    for name in ["yahoo.com", "Google.com", "google.co", "example", "documentation", ""] {
      #expect(catalog.id(of: name) == nil && !catalog.isTaken(name))
      let problem = #expect(throws: Problem.self) { try catalog.provider(name) }
      #expect(problem?.reason == .unknownProvider)
    }
  }

  @Test(arguments: [
    (small("a", #"["b"]"#), small("b"), "/providers/1/id"),
    (small("a"), small("b", #"["a"]"#), "/providers/1/aliases"),
    (small("a", #"["c"]"#), small("b", #"["c"]"#), "/providers/1/aliases"),
    (small("a", #"["a"]"#), small("b"), "/providers/0/aliases"),
    (small("a", #"["c","c"]"#), small("b"), "/providers/0/aliases"),
    (small("a", #"["C"]"#), small("b"), "/providers/0/aliases"),
    (small("a", #"["password"]"#), small("b"), "/providers/0/aliases"),
    (small("a", #"["github"]"#), small("b"), "/providers/0/aliases"),
    (small("a", #"["github.com"]"#), small("b"), "/providers/0/aliases"),
    (small("password"), small("b"), "/providers/0/id"),
    (small("a", #"["c","d"]"#), small("b", #"["e"]"#), nil),
    (small("github", #"["github.com"]"#), small("b"), nil),
    // An id comes before an alias of the catalogue, because accounts are stored under it.
    (small("github.com"), small("b"), nil),
  ])
  func `An alias is no name of another provider`(first: String, second: String, pointer: String?)
    throws
  {
    let models = ProviderCatalog.builtIn
    do throws(ProviderCatalog.Fault) {
      let catalog = try ProviderCatalog(json: Self.json(first, second), models: models)
      #expect(pointer == nil)
      for provider in catalog.providers {
        for name in [provider.id] + provider.aliases {
          #expect(models.overlaid(by: catalog).id(of: name) == provider.id)
        }
      }
    } catch { #expect(error.pointer == pointer, "\(error)") }
  }

  @Test func `Aliases stay at a moved provider, and do not pass to one like it`() throws {
    let builtIn = ProviderCatalog.builtIn
    let moved = try builtIn.relocated(origins: ["https://github.com": "http://127.0.0.1:1"])
    #expect(moved.id(of: "github.com") == "github")
    let like = """
      {"id":"own","name":"Own","like":"github.com","origins":{"https://github.com":"https://g.example"}}
      """
    let own = try ProviderCatalog(json: Self.json(like), models: builtIn).provider("own")
    let model = try builtIn.provider("github")
    #expect(own.aliases.isEmpty && own.flowKinds == model.flowKinds)
  }

  @Test func `An added provider has no aliases`() async throws {
    let engine = Einlass(
      catalog: .builtIn, store: ScriptedStore().accountStore, effects: Script([]).effects)
    for (aliases, path) in [(#"["b"]"#, "/descriptor/aliases"), (nil, nil)] {
      let descriptor = try JSONReader.read(Array(Self.small("a", aliases).utf8))
      do throws(Problem) {
        _ = try await engine.descriptor(of: AddProviderRequest(.descriptor(descriptor)))
        #expect(path == nil)
      } catch { #expect(error.reason == .invalidParameter && error.path == path) }
    }
    let (catalog, leftOut) = try ProviderCatalog.builtIn.adding(
      json: Self.json(Self.small("a", #"["b"]"#), Self.small("c"), Self.small("github.com")))
    #expect(leftOut.map(\.provider) == ["a"] && catalog.holds("c"))
    // It was added before the catalogue had the alias.
    #expect(catalog.id(of: "github.com") == "github.com" && !catalog.isTaken("github.com"))
  }
}
