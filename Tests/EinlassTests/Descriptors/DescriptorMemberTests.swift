import EinlassCrypto
import EinlassJSON
import Testing

@testable import Einlass

struct DescriptorMemberTests {
  private static func reader(_ json: String) throws -> DescriptorReader {
    let value = try JSONReader.read(Array("{\"word\":\(json)}".utf8))
    return try DescriptorReader(value, at: "", provider: "example", members: ["word"])
  }

  private static func request(_ json: String) throws -> RequestTemplate {
    try RequestTemplate(
      "word", in: reader(json), allowing: [.token, .refreshToken, .clientID, .clientSecret])
  }

  private static let values = Template.Values(texts: [
    .token: "T", .clientID: "ID", .clientSecret: "S",
  ])

  @Test("Headers, HTTP Basic and JSON bodies are filled in")
  func requests() throws {
    let asked = try Self.request(
      """
      {"method":"POST","url":"https://a.example/me","json":null,"headers":{"Client-Id":"{clientId}"},\
      "bearer":"{token}"}
      """
    ).filled(Self.values).request
    #expect(String(decoding: asked.body, as: UTF8.self) == "null")
    #expect(
      asked.headers == [
        .init("Client-Id", "ID"), .init("Content-Type", "application/json"),
        .init("Authorization", "Bearer T"),
      ])
    let ended = try Self.request(
      """
      {"method":"DELETE","url":"https://a.example/t","json":{"access_token":"{token}"},\
      "basic":"{clientId}:{clientSecret}"}
      """
    ).filled(Self.values).request
    #expect(String(decoding: ended.body, as: UTF8.self) == #"{"access_token":"T"}"#)
    #expect(ended.headers.last == .init("Authorization", "Basic SUQ6Uw=="))
  }

  @Test(
    "An impossible combination in a request is refused",
    arguments: [
      (#"{"method":"GET","url":"https://a.example","json":null}"#, "/word/json"),
      (#"{"method":"POST","url":"https://a.example","json":null,"form":{"a":"b"}}"#, "/word/json"),
      (#"{"method":"GET","url":"https://a.example","bearer":"a","basic":"b"}"#, "/word/basic"),
      (#"{"method":"GET","url":"https://a.example","headers":{"A":"{id}"}}"#, "/word/headers/A"),
      (#"{"method":"GET","url":"https://a.example","query":{\#(members(257))}}"#, "/word/query"),
    ])
  func impossible(json: String, pointer: String) throws {
    let fault = try #require(throws: ProviderCatalog.Fault.self) { try Self.request(json) }
    #expect(fault.pointer == pointer)
  }

  private static func members(_ count: Int) -> String {
    (0..<count).map { #""m\#($0)":"x""# }.joined(separator: ",")
  }

  @Test func `A request may have 256 parameters`() throws {
    _ = try Self.request(
      #"{"method":"GET","url":"https://a.example","query":{\#(Self.members(256))}}"#)
  }

  @Test func `A flow with assertions has the words of a token endpoint`() throws {
    func flow(_ json: String) throws -> FlowDescriptor {
      try FlowDescriptor(JSONReader.read(Array(json.utf8)), at: "", provider: "x")
    }
    let token = """
      "token":{"method":"POST","url":"https://a.example/token"},"issuer":"https://a.example"
      """
    for kind in [FlowKind.jwtBearer, .tokenExchange] {
      let plain = try flow(#"{"kind":"\#(kind.rawValue)",\#(token)}"#)
      #expect(plain.kind == kind && plain.goesWithoutIdentity)
      // Another assertion brings another token.
      #expect(plain.tokens?.refresh?.request == plain.tokens?.request)
      #expect(plain.requests.first?.address.host == "a.example")
      #expect(plain.addresses.contains { $0.text == "https://a.example" })
      let moved = plain.relocated { _ in
        WebAddress(scheme: .https, host: "b.example", path: "/")
      }
      #expect(moved.requests.allSatisfy { $0.address.host == "b.example" })
      #expect(throws: DescriptorReader.Fault.self) {
        try flow(#"{"kind":"\#(kind.rawValue)",\#(token),"redirect":{}}"#)
      }
    }
    let named = #"{"kind":"tokenExchange",\#(token),"requestedTokenTypes":["t"]}"#
    guard case .tokenExchange(let exchange) = try flow(named) else {
      Issue.record("Another flow was read.")
      return
    }
    #expect(exchange.issues("t") && !exchange.issues("u"))
    #expect(throws: DescriptorReader.Fault.self) {
      try flow(named.replacing("tokenExchange", with: "jwtBearer"))
    }
  }

  private static func hosts(_ json: String) throws -> [ServedHost] {
    try ProviderCatalogTests.catalog(
      """
      {"id":"op","name":"OP","setup":{"documentation":"https://op.example/"},"accounts":"many",\
      "hosts":\(json),"registration":["clientId"],"flows":[{"kind":"deviceCode",\
      "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
      "token":{"method":"POST","url":"https://op.example/token"}}]}
      """
    ).provider("op").hosts
  }

  @Test func `A host takes bearer tokens unless its scheme says otherwise`() throws {
    let hosts = try Self.hosts(
      #"[{"host":"API.op.example"},{"host":"git.op.example:8443","username":"oauth2","scheme":"basic"}]"#
    )
    #expect(hosts.map(\.name) == ["api.op.example", "git.op.example:8443"])
    #expect(hosts.map(\.scheme) == [.bearer, .basic])
    #expect(hosts.map(\.username) == [nil, "oauth2"])
  }

  @Test func `Of the hosts of a moved provider only the moved ones remain`() throws {
    let provider = try ProviderCatalog.builtIn.provider("github")
    #expect(provider.hosts.map(\.name).contains("gist.github.com"))
    let moved = try ProviderCatalog.builtIn.relocated(origins: [
      "https://github.com": "https://git.example:8443",
      "https://api.github.com": "https://a.example",
    ]).provider("github")
    #expect(moved.hosts.map(\.name) == ["git.example:8443", "a.example"])
    let other = try ProviderCatalog.builtIn.relocated(origins: [
      "https://a.example": "https://b.example"
    ])
    #expect(try other.provider("github").parts == provider.parts)
  }

  @Test(arguments: [
    ("gitea", "https://gitea.com"), ("forgejo", "https://codeberg.org"),
    ("gitlab", "https://gitlab.com"),
  ])
  func `A host of one's own has the flows of its kind, and takes its own tokens alone`(
    model: String, origin: String
  ) throws {
    let catalog = try ProviderCatalog.builtIn.overlaid(
      by: ProviderCatalog(
        json: Array(
          """
          {"providers":[{"id":"git.example.com","name":"Git at work","like":"\(model)",\
          "origins":{"\(origin)":"https://git.example.com"}}]}
          """.utf8), models: .builtIn))
    let (own, known) = (try catalog.provider("git.example.com"), try catalog.provider(model))
    #expect(own.flowKinds == known.flowKinds && own.origins == ["https://git.example.com"])
    #expect(own.hosts.map(\.name) == ["git.example.com"])
  }

  @Test(arguments: [
    (#"[{"host":"a.example/x"}]"#, "/0/host"), (#"[{"host":"https://a.example"}]"#, "/0/host"),
    (#"[{"host":"a.example?x"}]"#, "/0/host"), (#"[{"host":"u@a.example"}]"#, "/0/host"),
    (#"[{"host":"a.example","username":"x:y"}]"#, "/0/username"),
    (#"[{"host":"a.example","username":"x\ny"}]"#, "/0/username"),
    (#"[{"host":"a.example","scheme":"digest"}]"#, "/0/scheme"),
    (#"[{"host":"a.example","port":1}]"#, "/0/port"), (#"["a.example"]"#, "/0"),
    (#"{"host":"a.example"}"#, ""),
  ])
  func `A host with a path, a scheme or an unknown word is refused`(
    json: String, pointer: String
  ) throws {
    let fault = try #require(throws: ProviderCatalog.Fault.self) { try Self.hosts(json) }
    #expect(fault.pointer == "/providers/0/hosts" + pointer)
  }

  private static func scopeNames(_ json: String) throws -> ScopeNames {
    try ScopeNames("word", in: reader(json))
  }

  @Test func `A name is replaced by its scopes, each of them once`() throws {
    let names = try Self.scopeNames(#"{"mail":["imap","smtp"],"all":["imap","files"]}"#)
    #expect(names.replaced(in: ["mail", "email", "all"]) == ["imap", "smtp", "email", "files"])
    #expect(names.isUsed(in: ["email", "all"]) && !names.isUsed(in: ["email", "Mail"]))
    #expect(names.replaced(in: ["email", "email"]) == ["email", "email"])
    #expect(names.lists.map(\.name) == ["mail", "all"])
  }

  @Test func `An empty list stands for no scope but the usual ones`() throws {
    let scopes = repeatElement("\"x\"", count: 64).joined(separator: ",")
    let names = try Self.scopeNames("{\"git\":[],\"all\":[\(scopes)]}")
    #expect(names.isUsed(in: ["git"]) && names.replaced(in: ["git", "email"]) == ["email"])
    #expect(names.replaced(in: ["all"]) == ["x"])
  }

  @Test func `Another server of the same kind has the same names`() throws {
    let moved = try ProviderCatalog.builtIn.relocated(origins: [
      "https://oauth2.googleapis.com": "https://a.example"
    ]).provider("google")
    #expect(moved.scopeNames.replaced(in: ["mail"]) == ["https://mail.google.com/"])
  }

  @Test(arguments: [
    ("[]", ""), ("{}", ""), (#"{"a:b":["x"]}"#, "/a:b"), (#"{"mail":"x"}"#, "/mail"),
    (#"{"mail":["x\ty"]}"#, "/mail"), (#"{"mail":[""]}"#, "/mail/0"),
    ("{\"mail\":[\(repeatElement("\"x\"", count: 65).joined(separator: ","))]}", "/mail"),
  ])
  func `A name of something else than up to 64 scopes, and one in the form of a scope, is refused`(
    json: String, pointer: String
  ) throws {
    let fault = try #require(throws: ProviderCatalog.Fault.self) { try Self.scopeNames(json) }
    #expect(fault.pointer == "/word" + pointer)
  }

  private static func identity(
    _ words: String, required: String = #""id""#, in answer: String
  ) throws -> Identity? {
    let words = try IdentityDescriptor(
      "word", in: reader(#"{"id":"/id","required":[\#(required)]\#(words)}"#))
    return words.identity(in: try JSONReader.read(Array(answer.utf8)))
  }

  @Test("An id can be a number if the descriptor says so, and can lose a prefix")
  func ids() throws {
    #expect(try Self.identity("", in: #"{"id":7}"#) == nil)
    #expect(try Self.identity(#","numericId":true"#, in: #"{"id":7}"#)?.id == "7")
    #expect(try Self.identity(#","numericId":true"#, in: #"{"id":"7"}"#) == nil)
    #expect(try Self.identity(#","idPrefix":"/users/""#, in: #"{"id":"/users/7"}"#)?.id == "7")
    #expect(try Self.identity(#","idPrefix":"/users/""#, in: #"{"id":"/teams/7"}"#) == nil)
    #expect(try Self.identity(#","idPrefix":"/users/""#, in: #"{"id":"/users/"}"#) == nil)
  }

  @Test(arguments: [
    (#","email":"a@x","sure":true"#, true), (#","email":"a@x","sure":"true""#, true),
    (#","email":"a@x","sure":false"#, false), (#","email":"a@x","sure":"false""#, false),
    (#","email":"a@x","sure":"TRUE""#, false), (#","email":"a@x","sure":1"#, false),
    (#","email":"a@x","sure":null"#, false), (#","email":"a@x""#, false),
    (#","sure":true"#, false), (#","email":null,"sure":true"#, false),
  ])
  func `An address is verified only if the provider says so`(answer: String, isVerified: Bool)
    throws
  {
    let answer = #"{"id":"7"\#(answer)}"#
    let words = #","email":"/email","emailVerified":"/sure""#
    #expect(try Self.identity(words, in: answer)?.isEmailVerified == isVerified)
    #expect(try Self.identity(#","email":"/email""#, in: answer)?.isEmailVerified == false)
    #expect(throws: ProviderCatalog.Fault.self) {
      try Self.identity(#","emailVerified":"sure""#, in: answer)
    }
  }

  @Test("An empty text is left out, even if it is required")
  func emptyTexts() throws {
    let words = #","name":"/name","username":"/login","email":"/email","emailVerified":"/sure""#
    let answer = #"{"id":"7","name":"","login":"\u0007","email":"","sure":true}"#
    let identity = try #require(try Self.identity(words, in: answer))
    #expect(identity.name == nil && identity.username == nil && identity.email == nil)
    #expect(!identity.isEmailVerified)
    let required = #""id","name""#
    for (answer, isThere) in [(#"{"id":"7","name":""}"#, true), (#"{"id":"7"}"#, false)] {
      #expect(
        try (Self.identity(#","name":"/name""#, required: required, in: answer) != nil) == isThere)
    }
  }

  @Test("A picture's address is made of the id and a member of the answer")
  func pictures() throws {
    let words = #","avatar":{"pointer":"/hash","template":"https://a.example/{id}/{picture}.png"}"#
    #expect(
      try Self.identity(words, in: #"{"id":"7","hash":"a/b"}"#)?.avatar
        == "https://a.example/7/a%2Fb.png")
    #expect(try Self.identity(words, in: #"{"id":"7","hash":null}"#)?.avatar == nil)
    // An answer may contain an address on this machine only if the answer itself comes from this
    // machine.
    let local = #","request":{"method":"GET","url":"http://127.0.0.1:8080/me"}"#
    for (address, asked, isShown) in [
      ("https://a.example/x", "", true), ("http://127.0.0.1:8080/x", "", false),
      ("http://127.0.0.1:8080/x", local, true),
    ] {
      let identity = try Self.identity(
        #"\#(asked),"avatar":{"pointer":"/picture"}"#, in: #"{"id":"7","picture":"\#(address)"}"#)
      #expect(identity?.avatar == (isShown ? address : nil))
    }
  }

  @Test(
    "An error can have any status, unless a member says that it is none",
    arguments: [
      (#"{"code":"/ret","anyStatus":true,"unless":{"/ret":0}}"#, #"{"ret":0}"#, nil),
      (#"{"code":"/ret","anyStatus":true,"unless":{"/ret":0}}"#, #"{"ret":3}"#, true),
      (#"{"code":"/ret"}"#, #"{"ret":3}"#, false),
      (#"{"codeField":"errorCode","anyStatus":true}"#, "errorCode=3", true),
    ] as [(String, String, Bool?)])
  func refusals(shape: String, body: String, isRefusal: Bool?) throws {
    let shape = try ErrorShape(
      JSONReader.read(Array(shape.utf8)), at: "", provider: "example")
    let words = shape.errorText(
      json: try? JSONReader.read(Array(body.utf8)), body: Array(body.utf8))
    #expect(words?.isRefusal == isRefusal)
  }

  @Test("A client without a secret sends an empty one if the provider requires it")
  func emptySecret() throws {
    var form: [Parameter] = []
    var headers: [HTTPRequest.Header] = []
    try ClientAuthentication.basicEmpty.prove(
      .init(clientID: "ID"), form: &form, headers: &headers, assertion: { "" })
    #expect(form.isEmpty)
    #expect(headers == [.init("Authorization", "Basic SUQ6")])
  }

  @Test("Scopes can be a list")
  func scopeList() {
    let token = TokenResponse.credential(
      in: ["access_token": "T", "scope": ["a", "b"]], scopes: [], now: 0)
    #expect(token?.scopes == ["a", "b"])
  }

  @Test("The documented redirect address is the one that is used")
  func redirects() throws {
    for provider in ProviderCatalog.builtIn.providers {
      for case .authorizationCode(let flow) in provider.flows {
        let named = provider.setup.redirect
        switch flow.redirect {
        case .address(let address): #expect(named == address, "\(provider.id)")
        case .loopback(let host, let ports, let path):
          guard let named, let path else { continue }
          let port = ports.first.map { ":\($0)" } ?? ""
          #expect(named == "http://\(host.rawValue)\(port)\(path)", "\(provider.id)")
        }
      }
    }
  }

  @Test("A provider like another has its own id and origins")
  func likeAnother() throws {
    let models = ProviderCatalog.builtIn
    func read(_ json: String) throws -> ProviderCatalog {
      try ProviderCatalog(json: Array("{\"providers\":[\(json)]}".utf8), models: models)
    }
    let provider = try read(
      """
      {"id":"fosstodon.org","name":"Fosstodon","like":"mastodon",\
      "origins":{"https://mastodon.social":"https://fosstodon.org"}}
      """
    ).provider("fosstodon.org")
    #expect(provider.name == "Fosstodon")
    #expect(provider.flows.map(provider.origins) == [["https://fosstodon.org"]])
    for (json, pointer) in [
      (
        #"{"id":"a","name":"A","like":"nobody","origins":{"https://a.example":"https://b.example"}}"#,
        "like"
      ),
      (#"{"id":"a","name":"A","like":"mastodon"}"#, "origins"),
      (#"{"id":"a","name":"A","like":"mastodon","origins":{}}"#, "origins"),
      (#"{"id":"a","name":"A","like":"mastodon","flows":[]}"#, "flows"),
      (#"{"id":"a","name":"A","origins":{"https://a.example":"https://b.example"}}"#, "origins"),
      (
        #"{"id":"a","name":"A","like":"mastodon","origins":{"https://a.example":"http://b.example"}}"#,
        "origins/https:~1~1a.example"
      ),
    ] {
      let fault = try #require(throws: ProviderCatalog.Fault.self) { try read(json) }
      #expect(fault.pointer == "/providers/0/\(pointer)")
    }
    let unknown = try #require(throws: ProviderCatalog.Fault.self) { try read(#"{"lik":"a"}"#) }
    #expect(unknown.explanation.hasSuffix("errors, like, origins."))
  }

  @Test(
    "The settings for DPoP, pushed requests and assertions are read strictly",
    arguments: [
      (#""dpop":"yes""#, "/dpop"), (#""dpop":true"#, nil),
      (#""forResources":1"#, "/forResources"),
      (#""assertion":{"audience":"nobody"}"#, "/assertion/audience"),
      (#""assertion":{"algorithms":["none"]}"#, "/assertion/algorithms"),
      (#""assertion":{"to":"issuer"}"#, "/assertion/to"),
      (
        #""clientAuthentication":["client_secret_basic","unknown_client_auth"]"#,
        "/clientAuthentication"
      ),
      (#""clientAuthentication":["client_secret_basic","private_key_jwt"]"#, nil),
      (#""pushed":{"method":"GET","url":"https://a.example/par"}"#, "/pushed"),
      (#""pushed":{"method":"POST","url":"http://a.example/par"}"#, "/pushed/url"),
      (#""pushed":{"method":"POST","url":"https://a.example/par"}"#, nil),
      (#""responseMode":"form_post""#, nil), (#""responseMode":"fragment""#, nil),
      (#""responseMode":"web_message""#, "/responseMode"),
      (#""revocation":{"method":"DELETE","url":"https://a.example/revoke"}"#, "/revocation"),
    ])
  func proofs(words: String, pointer: String?) throws {
    let provider = """
      {"id":"example","name":"Example","setup":{"documentation":"https://a.example"},"accounts":"many",\
      "registration":["clientId","privateKey"],"flows":[{"kind":"authorizationCode",\
      "authorize":{"method":"GET","url":"https://a.example/authorize"},"redirect":{},\
      "token":{"method":"POST","url":"https://a.example/token"},\(words)}]}
      """
    guard let pointer else {
      _ = try ProviderCatalogTests.catalog(provider)
      return
    }
    let fault = #expect(throws: ProviderCatalog.Fault.self) {
      try ProviderCatalogTests.catalog(provider)
    }
    #expect(fault?.pointer == "/providers/0/flows/0" + pointer)
  }
}
