import EinlassCrypto
import EinlassJSON
import Testing

@testable import Einlass

struct ProviderCatalogTests {
  static let small = """
    {"id":"example","name":"Example","setup":{"documentation":"https://example.org/docs"},\
    "accounts":"many","registration":["clientId"],\
    "identity":{"request":{"method":"GET","url":"https://api.example.org/me","bearer":"{token}"},\
    "id":"/id","required":["id"]},"flows":[{"kind":"systemToken"}],"errors":{"shapes":[],"rules":[]}}
    """

  static func catalog(_ providers: String...) throws(ProviderCatalog.Fault) -> ProviderCatalog {
    try ProviderCatalog(
      json: Array("{\"providers\":[\(providers.joined(separator: ","))]}".utf8))
  }

  @Test("The built-in catalogue is valid and lists the abilities of its providers")
  func builtIn() throws {
    let catalog = ProviderCatalog.builtIn
    #expect(catalog.providers.prefix(2).map(\.id) == ["twitter", "facebook"])
    let (many, one) = (catalog.providers[0], catalog.providers[1])
    #expect(
      many.can
        == .init(reverseAuth: true, refresh: true, email: true, revoke: true, verify: true))
    #expect(
      one.can == .init(reverseAuth: false, refresh: true, email: true, revoke: true, verify: true))
    #expect(!many.hasOneAccount && one.hasOneAccount)
    #expect(many.flowKinds == [.reverseAuth, .oauth1, .authorizationCode])
    #expect(one.flowKinds == [.systemToken, .authorizationCode, .deviceCode])
    #expect(many.registrationNeeds == [.clientID, .clientSecret])
    #expect(one.registrationNeeds == [.clientID])
    #expect(
      one.permissions(asked: nil) == [
        "user_birthday", "user_location", "user_friends", "email", "public_profile",
      ])
    #expect(one.permissions(asked: []) == one.permissions(asked: nil))
    #expect(one.permissions(asked: ["a"]) == ["a"])
    #expect(one.defaultAudience == .onlyMe && many.defaultAudience == nil)
  }

  @Test("The built-in providers are the same when they are read one by one")
  func oneByOne() throws {
    let whole = try ProviderCatalog(json: PackageResources.providers_json)
    #expect(ProviderCatalog.builtIn.parts == whole.parts)
    for provider in whole.providers {
      #expect(try ProviderCatalog.builtIn.provider(provider.id).parts == provider.parts)
    }
  }

  @Test("Braces in the texts and lines of a descriptor do not end it")
  func textsOfDescriptors() throws {
    let provider = Self.small.replacing("\"Example\"", with: #""A \"}{ \\""#)
      .replacing(#""setup":{"#, with: "\"setup\": {\n      ")
      .replacing("},\"accounts\"", with: "\n      },\n      \"accounts\"")
    func catalogue(_ first: String) -> [UInt8] {
      let objects = [first, Self.small].map { "\n    \($0.dropLast())\n    }" }
      return Array("{\n  \"providers\": [\(objects.joined(separator: ","))\n  ]\n}\n".utf8)
    }
    let entries = try #require(CatalogEntry.entries(ofSound: catalogue(provider)))
    #expect(entries.map(\.provider.name) == [#"A "}{ \"#, "Example"])
    let withoutID = provider.replacing("\"id\":\"example\",", with: "")
    #expect(CatalogEntry.entries(ofSound: catalogue(withoutID)) == nil)
  }

  @Test("A flow with its own identity keeps the provider's revocation, and the other way round")
  func ownRequests() throws {
    let request = #"{"method":"GET","url":"https://api.example.org/own","bearer":"{token}"}"#
    let identity = "\"identity\":{\"request\":\(request),\"id\":\"/id\",\"required\":[\"id\"]}"
    for own in [identity, "\"revoke\":\(request)"] {
      let flow = """
        "kind":"authorizationCode","authorize":{"method":"GET","url":"https://example.org/a"},\
        "redirect":{"path":"/"},"token":{"method":"POST","url":"https://example.org/t"},\(own)
        """
      let json = Self.small.replacing("\"kind\":\"systemToken\"", with: flow)
        .replacing("\"flows\"", with: "\"revoke\":\(request),\"flows\"")
      let provider = try Self.catalog(json).provider("example")
      let specialized = try provider.specialized(for: #require(provider.flows.first))
      #expect(specialized.identity != nil && specialized.revocation != nil)
      #expect((specialized.identity == provider.identity) == (own != identity))
    }
  }

  @Test("Every provider names its documentation, and its remedies have their requests")
  func everyProvider() throws {
    for provider in ProviderCatalog.builtIn.providers {
      #expect(try WebAddress.parse(provider.setup.documentation).scheme == .https)
      #expect(try WebAddress.parse(#require(provider.homepage)).scheme == .https)
      #expect(provider.setup.notes?.isEmpty == false, "\(provider.id)")
      // A host with a user name is one of git.
      let isHostOfGit = provider.hosts.contains { $0.username != nil }
      let names = provider.scopeNames.lists.map(\.name)
      #expect(names.contains("git") == isHostOfGit, "\(provider.id)")
      for flow in provider.flows {
        #expect(!provider.origins(of: flow).isEmpty)
        guard case .systemToken(let words) = flow else { continue }
        #expect(words.renew != nil || !provider.errors.rules.contains { $0.outcome == .renew })
      }
    }
  }

  @Test("A minimal descriptor is accepted")
  func minimal() throws {
    let provider = try Self.catalog(Self.small).provider("example")
    #expect(provider.name == "Example")
    #expect(provider.isConfigured(by: ClientRegistration(clientID: "x"), or: []))
    #expect(!provider.isConfigured(by: ClientRegistration(clientID: ""), or: []))
    #expect(!provider.isConfigured(by: nil, or: []))
    #expect(!provider.can.verify && !provider.isRetired)
  }

  @Test(
    "A fault in a descriptor is reported with provider and place",
    arguments: [
      ("\"id\":\"example\"", "\"id\":\"Ex ample\"", "Ex ample", "/providers/0/id"),
      ("\"id\":\"example\",", "", nil, "/providers/0/id"),
      ("\"name\":\"Example\"", "\"name\":7", "example", "/providers/0/name"),
      ("\"name\":\"Example\"", "\"name\":\"\"", "example", "/providers/0/name"),
      ("\"name\":\"Example\"", "\"name\":\"Ex\\u202eample\"", "example", "/providers/0/name"),
      (
        "\"name\":\"Example\"", "\"name\":\"\(String(repeating: "N", count: 257))\"", "example",
        "/providers/0/name"
      ),
      ("\"name\"", "\"nmae\"", nil, "/providers/0/nmae"),
      ("\"accounts\"", "\"version\":\"a/b\",\"accounts\"", nil, "/providers/0/version"),
      ("\"accounts\"", "\"version\":\"..\",\"accounts\"", nil, "/providers/0/version"),
      (
        "/docs\"}", "/docs\",\"notes\":\"\(String(repeating: "N", count: 2049))\"}", "example",
        "/providers/0/setup/notes"
      ),
      (
        "[\"clientId\"]", "[\"clientId\",\"clientId\"]", "example", "/providers/0/registration"
      ),
      (
        "/docs\"}", "/docs\",\"notes\":\"a\\u0000b\"}", "example", "/providers/0/setup/notes"
      ),
      ("\"accounts\":\"many\"", "\"accounts\":\"some\"", "example", "/providers/0/accounts"),
      ("[\"clientId\"]", "[\"clientID\"]", "example", "/providers/0/registration"),
      ("[\"clientId\"]", "[1]", "example", "/providers/0/registration/0"),
      ("https://example.org/docs", "ftp://x", "example", "/providers/0/setup/documentation"),
      (#""setup":"#, #""homepage":"http://x","setup":"#, "example", "/providers/0/homepage"),
      (#""setup":"#, #""locale":"hl","setup":"#, "example", "/providers/0/locale"),
      (
        #""setup":"#, #""locale":{"parameter":"mkt"},"setup":"#, "example",
        "/providers/0/locale/parameter"
      ),
      (
        #""setup":"#, #""locale":{"parameter":"hl","separator":"."},"setup":"#, "example",
        "/providers/0/locale/separator"
      ),
      (
        "https://api.example.org/me", "http://api.example.org/me", "example",
        "/providers/0/identity/request/url"
      ),
      (
        "https://api.example.org/me", "http://localhost/me", "example",
        "/providers/0/identity/request/url"
      ),
      (
        "https://api.example.org/me", "https://a@b/", "example", "/providers/0/identity/request/url"
      ),
      (
        "https://api.example.org/me", "https://api.example.org/me?a=1", "example",
        "/providers/0/identity/request/url"
      ),
      ("{token}", "{password}", "example", "/providers/0/identity/request/bearer"),
      ("{token}", "{clientSecret}", "example", "/providers/0/identity/request/bearer"),
      ("{token}", "{token", "example", "/providers/0/identity/request/bearer"),
      ("\"GET\"", "\"PUT\"", "example", "/providers/0/identity/request/method"),
      (
        "\"bearer\"", "\"query\":{\"a\":1},\"bearer\"", "example",
        "/providers/0/identity/request/query/a"
      ),
      (
        "\"bearer\"", "\"form\":{\"a\":\"1\"},\"bearer\"", "example",
        "/providers/0/identity/request/form"
      ),
      (
        "\"bearer\"", "\"cookies\":{},\"bearer\"", "example",
        "/providers/0/identity/request/cookies"
      ),
      ("\"/id\"", "\"id\"", "example", "/providers/0/identity/id"),
      ("\"required\":[\"id\"]", "\"required\":[]", "example", "/providers/0/identity/required"),
      (
        "\"required\":[\"id\"]", "\"required\":[\"id\",\"name\"]", "example",
        "/providers/0/identity/name"
      ),
      (
        "\"required\":[\"id\"]", "\"required\":[\"id\",\"age\"]", "example",
        "/providers/0/identity/required"
      ),
      (
        "\"required\"", "\"avatar\":{\"pointer\":\"/a\",\"replace\":\"x\"},\"required\"", "example",
        "/providers/0/identity/avatar/replace"
      ),
      (
        "\"required\"", "\"avatar\":{\"template\":\"{token}\"},\"required\"", "example",
        "/providers/0/identity/avatar/template"
      ),
      ("\"systemToken\"", "\"magic\"", "example", "/providers/0/flows/0/kind"),
      ("{\"kind\":\"systemToken\"}", "", "example", "/providers/0/flows"),
      (
        "{\"kind\":\"systemToken\"}", "{\"kind\":\"systemToken\"},{\"kind\":\"systemToken\"}",
        "example", "/providers/0/flows"
      ),
      (
        "{\"kind\":\"systemToken\"}", "{\"kind\":\"systemToken\",\"signature\":\"HMAC-SHA1\"}",
        "example", "/providers/0/flows/0/signature"
      ),
      (
        "{\"kind\":\"systemToken\"}", "{\"kind\":\"reverseAuth\",\"signature\":\"MD5\"}", "example",
        "/providers/0/flows/0/signature"
      ),
      ("{\"kind\":\"systemToken\"}", "7", "example", "/providers/0/flows/0"),
      (
        "\"rules\":[]", "\"rules\":[{\"outcome\":\"explode\"}]", "example",
        "/providers/0/errors/rules/0/outcome"
      ),
      (
        "\"rules\":[]", "\"rules\":[{\"outcome\":\"failed\",\"status\":\"4xx\"}]", "example",
        "/providers/0/errors/rules/0/status"
      ),
      (
        "\"rules\":[]", "\"rules\":[{\"outcome\":\"failed\",\"status\":\"2xx\"}]", "example",
        "/providers/0/errors/rules/0/status"
      ),
      (
        "\"rules\":[]", "\"rules\":[{\"outcome\":\"failed\",\"codes\":[]}]", "example",
        "/providers/0/errors/rules/0/codes"
      ),
      (
        "\"rules\":[]", "\"rules\":[{\"outcome\":\"failed\",\"codes\":[true]}]", "example",
        "/providers/0/errors/rules/0/codes"
      ),
      (
        "\"rules\":[]", "\"rules\":[{\"outcome\":\"failed\",\"bodyOverBytes\":0}]", "example",
        "/providers/0/errors/rules/0/bodyOverBytes"
      ),
      (
        "\"rules\":[]", "\"rules\":[{\"outcome\":\"failed\",\"step\":\"third\"}]", "example",
        "/providers/0/errors/rules/0/step"
      ),
      (
        "\"rules\":[]", "\"rules\":[{\"outcome\":\"failed\",\"advice\":\"pray\"}]", "example",
        "/providers/0/errors/rules/0/advice"
      ),
      ("\"shapes\":[]", "\"shapes\":[{}]", "example", "/providers/0/errors/shapes/0/code"),
      (
        "\"shapes\":[]", "\"shapes\":[{\"code\":\"code\"}]", "example",
        "/providers/0/errors/shapes/0/code"
      ),
      (
        "\"flows\"", "\"verify\":{\"recipe\":\"trust\"},\"flows\"", "example",
        "/providers/0/verify/recipe"
      ),
      (
        "\"flows\"",
        "\"permissions\":{\"defaults\":[],\"separator\":\",\",\"audience\":{\"default\":\"all\"}},\"flows\"",
        "example", "/providers/0/permissions/audience/default"
      ),
      (
        "\"flows\"",
        "\"permissions\":{\"defaults\":[\"\(String(repeating: "p", count: 257))\"],\"separator\":\",\"},\"flows\"",
        "example", "/providers/0/permissions/defaults"
      ),
      ("\"flows\"", "\"retired\":\"no\",\"flows\"", "example", "/providers/0/retired"),
    ] as [(String, String, String?, String)])
  func faults(part: String, replacement: String, provider: String?, pointer: String) throws {
    let descriptor = Self.small.replacing(part, with: replacement)
    #expect(descriptor != Self.small)
    let fault = try #require(throws: ProviderCatalog.Fault.self) { try Self.catalog(descriptor) }
    #expect(fault.pointer == pointer)
    #expect(fault.provider == provider)
    #expect(fault.description.contains(pointer))
    #expect(fault.explanation.hasSuffix("."))
  }

  @Test(
    "A catalogue is strict JSON with the required members alone",
    arguments: [
      "", "[]", "{}", "{\"providers\":{}}", "{\"providers\":[]} x", "{\"providers\":[],\"more\":1}",
      "{\"providers\":[],\"providers\":[]}",
    ])
  func noCatalogue(json: String) {
    #expect(throws: ProviderCatalog.Fault.self) { try ProviderCatalog(json: Array(json.utf8)) }
  }

  @Test("Two providers with one id are refused")
  func twice() throws {
    let fault = try #require(throws: ProviderCatalog.Fault.self) {
      try Self.catalog(Self.small, Self.small)
    }
    #expect(fault.pointer == "/providers/1/id")
  }

  @Test("An overlay replaces providers and adds others at the end")
  func overlay() throws {
    let mine = Self.small.replacing("\"Example\"", with: "\"Mine\"")
    let other = Self.small.replacing("\"example\"", with: "\"other\"")
    let catalog = try Self.catalog(Self.small).overlaid(by: Self.catalog(other, mine))
    #expect(catalog.providers.map(\.id) == ["example", "other"])
    #expect(catalog.providers.map(\.name) == ["Mine", "Example"])
  }

  @Test("A moved origin moves every endpoint, but not pictures")
  func relocated() throws {
    let catalog = try ProviderCatalog.builtIn.relocated(origins: [
      "https://graph.facebook.com": "http://127.0.0.1:8080/",
      "https://api.twitter.com:443": "https://private.example:8443",
      "https://api.x.com": "https://private.example:8443",
    ])
    for (provider, origin) in zip(
      catalog.providers, ["https://private.example:8443", "http://127.0.0.1:8080"])
    {
      for flow in provider.flows { #expect(provider.origins(of: flow) == [origin]) }
    }
    let one = try catalog.provider("facebook")
    let identity = try #require(
      one.identity?.identity(in: .object(["id": "42", "name": "Ada"])))
    #expect(identity.avatar == "https://graph.facebook.com/42/picture?type=large")
    #expect(
      try ProviderCatalog.builtIn.relocated(origins: ["https://x.example": "https://y.example"])
        .parts
        == ProviderCatalog.builtIn.parts)
  }

  @Test(
    "A moved origin must be a valid origin, with plain http only on loopback",
    arguments: [
      ("https://a.example", "http://b.example"), ("https://a.example", "http://localhost:1"),
      ("https://a.example", "https://b.example/path"), ("https://a.example", "https://b.example?q"),
      ("https://a.example", "b.example"), ("https://a.example/x", "https://b.example"),
      ("a.example", "https://b.example"), ("https://u@a.example", "https://b.example"),
    ])
  func badOrigins(old: String, new: String) {
    #expect(throws: ProviderCatalog.Fault.self) {
      try ProviderCatalog.builtIn.relocated(origins: [old: new])
    }
  }

  @Test("An id is compared as bytes")
  func byteComparison() throws {
    let catalog = try Self.catalog(Self.small.replacing("\"example\"", with: "\"k\""))
    #expect(try catalog.provider("k").id == "k")
    for id in ["K", "\u{212A}", "k\u{0}", ""] {
      let problem = #expect(throws: Problem.self) { try catalog.provider(id) }
      #expect(problem?.reason == .unknownProvider)
    }
  }

  @Test func `A provider's version is in one place of the catalogue and in all its addresses`()
    throws
  {
    let text = String(decoding: PackageResources.providers_json, as: UTF8.self)
    #expect(text.split(separator: "v26.0", omittingEmptySubsequences: false).count == 2)
    let newer = try ProviderCatalog(json: Array(text.replacing("v26.0", with: "v27.0").utf8))
      .provider("facebook")
    let now = try ProviderCatalog.builtIn.provider("facebook")
    #expect(now.identity?.request?.address.path == "/v26.0/me")
    #expect(newer.identity?.request?.address.path == "/v27.0/me")
    func paths(_ provider: Provider) -> [String] {
      provider.flows.flatMap { flow in
        switch flow {
        case .authorizationCode(let words):
          [words.authorize.address.path, words.tokens.request.address.path]
        case .deviceCode(let words):
          [words.deviceAuthorization.address.path, words.tokens.request.address.path]
        default: [String]()
        }
      } + [provider.revocation?.address.path ?? ""]
    }
    #expect(paths(now).count == 5 && paths(now).allSatisfy { $0.hasPrefix("/v26.0/") })
    #expect(paths(newer) == paths(now).map { $0.replacing("v26.0", with: "v27.0") })
  }

  @Test(
    "The picture's address of a built-in provider is made from its answer",
    arguments: [
      (
        "flickr", #"{"user":{"id":"12037949754@N01","username":{"_content":"Bees"}}}"#,
        "https://www.flickr.com/buddyicons/12037949754%40N01.jpg"
      ),
      (
        "tencent-weibo",
        #"{"data":{"openid":"1","name":"ada","head":"https://app.qlogo.example/mbloghead/f1"}}"#,
        "https://app.qlogo.example/mbloghead/f1/180"
      ),
      ("tencent-weibo", #"{"data":{"openid":"1","name":"ada","head":""}}"#, nil),
    ])
  func picture(provider: String, answer: String, address: String?) throws {
    let identity = try ProviderCatalog.builtIn.provider(provider).identity?
      .identity(in: JSONReader.read(Array(answer.utf8)))
    #expect(identity != nil && identity?.avatar == address)
  }

  @Test("The id in a picture's address is percent-encoded")
  func encodedID() throws {
    let one = try ProviderCatalog.builtIn.provider("facebook")
    let identity = one.identity?.identity(in: .object(["id": "4/2?x", "name": "Ada"]))
    #expect(identity?.avatar == "https://graph.facebook.com/4%2F2%3Fx/picture?type=large")
  }

  @Test("Template values cannot be printed")
  func values() {
    let values = Template.Values(texts: [.token: "secret"])
    #expect("\(values)" == "«redacted»")
    #expect(!String(reflecting: values).contains("secret"))
    var dumped = ""
    dump(values, to: &dumped)
    #expect(!dumped.contains("secret"))
  }

  @Test func `Removing an added provider brings back the catalogue's own provider of its id`()
    throws
  {
    let own = try Self.catalog(Self.small)
    let added = try Self.catalog(
      Self.small.replacing("\"name\":\"Example\"", with: "\"name\":\"Added\""))
    let both = own.adding(added)
    #expect(try both.provider("example").name == "Added" && !both.holdsItself("example"))
    let twice = both.adding(added).withoutAdded("example")
    #expect(twice.parts == own.parts && twice.holdsItself("example"))
    #expect(ProviderCatalog.none.adding(added).withoutAdded("example").providers.isEmpty)
  }
}

extension Provider {
  /// All parts as lines of text, for comparisons. Dictionaries have no order, so a line ends before the
  /// description of a whole value.
  var parts: [Substring] {
    var text = ""
    dump(self, to: &text)
    return text.split(separator: "\n").map { $0.prefix { !"#(".contains($0) } }.sorted()
  }
}

extension ProviderCatalog {
  var parts: [[Substring]] { providers.map(\.parts) }
}
