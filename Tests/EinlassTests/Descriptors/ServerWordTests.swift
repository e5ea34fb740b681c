import EinlassCrypto
import EinlassJSON
import Testing

@testable import Einlass

@Suite("A server that the person names")
struct ServerWordTests {
  private let models = ProviderCatalog.builtIn

  private func read(_ json: String) throws -> Provider {
    let catalog = try ProviderCatalog(
      json: Array("{\"providers\":[\(json)]}".utf8), models: models)
    return try #require(catalog.providers.last)
  }

  private func like(_ model: String, _ server: String) throws -> Provider {
    try read(#"{"id":"own","name":"Own","like":"\#(model)","server":"\#(server)"}"#)
  }

  /// A provider with one flow at these places.
  private func whole(_ more: String = "", token: String, page: String = "https://a.example")
    throws -> Provider
  {
    try read(
      """
      {"id":"a","name":"A","setup":{"documentation":"https://a.example"},"accounts":"many",\
      "registration":["clientId"],\(more)"flows":[{"kind":"authorizationCode",\
      "authorize":{"method":"GET","url":"\(page)"},\
      "redirect":{},"token":{"method":"POST","url":"\(token)"}}]}
      """)
  }

  @Test("A token of a folder is for addresses below it alone")
  func folder() throws {
    let provider = try like("gitea", "https://host.example/git/")
    #expect(provider.origins == ["https://host.example/git"])
    #expect(provider.addresses.allSatisfy { $0.path.hasPrefix("/git/login/oauth/") })
    let served = ["https://host.example/git", "https://host.example/git/ada/notes.git"]
    let foreign = [
      "https://host.example", "https://host.example/gitx", "https://host.example/gitx/git",
      "https://host.example/other/git", "https://host.example/Git/a",
      "https://host.example/git;x/a",
      "https://host.example/g%69t/a", "https://host.example:8443/git/a", "http://127.0.0.1/git/a",
      "https://git.host.example/git/a", "host.example",
    ]
    for text in served {
      #expect(provider.serves(try ServiceAddress(text)), "\(text)")
    }
    for text in foreign {
      #expect(!provider.serves(try ServiceAddress(text)), "\(text)")
    }
    for text in ["/git/../x", "/git/%2e%2e/x", "/git%2Fx", "/git//x"] {
      #expect(throws: ServiceAddress.Fault.self) {
        try ServiceAddress("https://host.example\(text)")
      }
    }
  }

  @Test("A credential and a registration of a folder are for no other folder")
  func binding() throws {
    let git = try like("gitea", "https://host.example/git")
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: "c"),
      credential: .oauth1(OAuth1Credential(token: Secret("t"), tokenSecret: Secret("s"))),
      binding: git.binding(of: git.flows[0], for: "c"))
    #expect(stored.binding.origins == ["https://host.example/git"])
    #expect(git.isBound(stored))
    let registration = StoredRegistration(
      provider: "own", registration: stored.registration, origins: git.origins)
    #expect(git.takes(registration.known))
    for other in [
      "https://host.example", "https://host.example/gitx", "https://host.example/git/x",
    ] {
      let provider = try like("gitea", other)
      #expect(!provider.isBound(stored) && !provider.takes(registration.known), "\(other)")
    }
  }

  @Test("Every address of a built-in provider with the word moves, and its form too")
  func movesAll() throws {
    for model in models.providers where model.server != nil {
      let moved = try like(model.id, "https://own.example/folder")
      #expect(moved.origins == ["https://own.example/folder"], "\(model.id)")
      #expect(moved.isAt([WebAddress(scheme: .https, host: "own.example", path: "/folder")]))
      #expect(moved.setup.form?.hasPrefix("https://own.example/folder/") != false)
      #expect(moved.hosts.allSatisfy { $0.name == "own.example/folder" })
      #expect(moved.server == nil && moved.homepage == nil)
    }
    #expect(
      models.providers.filter { $0.server != nil }.map(\.id) == [
        "forgejo", "gitea", "gitlab", "mastodon", "salesforce",
      ])
  }

  @Test("A server of another form, and a provider without the word, are refused with the place")
  func refusals() throws {
    let rows = [
      ("gitlab", "https://own.example/a/../b", "server"),
      ("gitlab", "https://own.example/%2e", "server"),
      ("gitlab", "https://own.example/a%2Fb", "server"),
      ("gitlab", "https://own.example/a;b", "server"),
      ("gitlab", "https://own.example/a//b", "server"),
      ("gitlab", "https://own.example/?a", "server"),
      ("gitlab", "https://own.example/a?b", "server"), ("gitlab", "http://own.example", "server"),
      ("gitlab", "http://own.example/a", "server"), ("gitlab", "https://a@own.example", "server"),
      ("gitlab", "ftp://own.example", "server"), ("github", "https://own.example", "server"),
    ]
    for (model, server, place) in rows {
      let fault = try #require(throws: ProviderCatalog.Fault.self) { try like(model, server) }
      #expect(fault.pointer == "/providers/0/\(place)", "\(server)")
    }
    let both = #"{"id":"a","name":"A","like":"gitea","server":"https://b.example","origins":{}}"#
    let fault = try #require(throws: ProviderCatalog.Fault.self) { try read(both) }
    #expect(fault.pointer == "/providers/0/origins")
  }

  @Test("A provider has no address outside of the server that can be replaced")
  func oneServer() throws {
    let word = #""server":"https://a.example","#
    #expect(try whole(word, token: "https://a.example/token").serverText == "https://a.example")
    for (word, token, page) in [
      (word, "https://b.example/token", "https://a.example"),
      (word, "https://a.example/token", "https://b.example"),
      (word, "https://a.example:8443/token", "https://a.example"),
      (#""server":"https://a.example/x","#, "https://a.example/token", "https://a.example"),
      (#""server":7,"#, "https://a.example/token", "https://a.example"),
      (#""server":"https://{A}.example","#, "https://{A}.example/token", "https://{A}.example"),
      (#""server":"https://{a}","#, "https://{a}/token", "https://{a}"),
      (#""server":"https://{a}.example","#, "https://{a}.example/token", "https://a.example"),
    ] {
      let fault = try #require(throws: ProviderCatalog.Fault.self) {
        try whole(word, token: token, page: page)
      }
      #expect(fault.pointer.hasPrefix("/providers/0/"), "\(word) \(token)")
    }
  }

  @Test("A label of a host is filled in, and nothing but a label")
  func label() throws {
    let shop = try whole(
      #""server":"https://{shop}.shops.example","#, token: "https://{shop}.shops.example/token",
      page: "https://{shop}.shops.example/page")
    #expect(shop.serverText == "https://{shop}.shops.example")
    #expect(shop.origins == ["https://shop.shops.example.invalid"])
    let longest = String(repeating: "a", count: 63)
    for (name, host) in [
      ("my-shop", "my-shop"), ("My-Shop", "my-shop"), ("7", "7"), (longest, longest),
      ("my-shop.shops.example", "my-shop"), ("https://my-shop.shops.example", "my-shop"),
      ("https://my-shop.shops.example/", "my-shop"),
    ] {
      let placed = try PlacedProvider(shop, at: name)
      #expect(placed.descriptor["server"] == .string("https://\(host).shops.example"), "\(name)")
    }
    for name in [
      "", "-a", "a-", "a_b", "ä", "a b", "a/b", "a.b", "a.b.shops.example", "a@b", "a:1", "a%2Eb",
      longest + "a", "https://evil.example", "http://a.shops.example",
      "https://a.shops.example:8443",
      "https://a.shops.example/x", "https://a.shops.example?x", "shops.example", ".shops.example",
      "ashops.example", "evil.example/.shops.example", "{shop}", "127.0.0.1",
    ] {
      let problem = try #require(throws: Problem.self, "\(name)") {
        try PlacedProvider(shop, at: name)
      }
      #expect(problem.path == "/server/host")
    }
  }

  @Test("Another provider at the same host is found, also above and below a folder")
  func neighbour() throws {
    func beside(_ server: String, among catalog: ProviderCatalog) throws -> String? {
      catalog.neighbour(of: try like("gitlab", server))?.id
    }
    #expect(try beside("https://gitlab.com", among: models) == "gitlab")
    #expect(try beside("https://github.com", among: models) == "github")
    #expect(try beside("https://api.github.com/x", among: models) == "github")
    #expect(try beside("https://own.example", among: models) == nil)
    let text = #"{"id":"g","name":"G","like":"gitea","server":"https://own.example/git"}"#
    let added = models.adding(
      try ProviderCatalog(json: Array("{\"providers\":[\(text)]}".utf8), models: models))
    #expect(try beside("https://own.example", among: added) == "g")
    #expect(try beside("https://own.example/git/lab", among: added) == "g")
    #expect(try beside("https://own.example/lab", among: added) == nil)
  }

  @Test("The server of a provider that the configuration has moved is replaced as a whole")
  func afterMove() throws {
    let moved = try models.relocated(origins: ["https://gitlab.com": "http://127.0.0.1:7"])
    let text = #"{"id":"g","name":"G","like":"gitlab","server":"https://own.example"}"#
    let catalog = try ProviderCatalog(
      json: Array("{\"providers\":[\(text)]}".utf8), models: moved)
    #expect(try catalog.provider("g").origins == ["https://own.example"])
  }
}
