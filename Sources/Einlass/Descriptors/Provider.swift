internal import EinlassJSON

/// An issuer of tokens, as data: one object of `providers.json`.
///
///     {"id": "example", "name": "Example", "aliases": ["example.com"], "homepage": "https://example.com",
///      "setup": …, "hosts": […], "retired": false, "accounts": "many", "version": "v2",
///      "server": "https://example.com",
///      "registration": ["clientId", "clientSecret"], "dynamicRegistration": …,
///      "clientMetadata": false, "publicOnly": false, "locale": …, "permissions": …,
///      "scopeNames": …, "scopeContents": …, "identity": …, "flows": […], "verify": …,
///      "revoke": …, "errors": …}
///
/// `id`, `name`, `setup`, `accounts`, `registration` and `flows` are required. `registration` lists
/// the parts that a registration must have. `aliases` are further ids. With `accounts` `one` the store
/// has room for one account. `version` stands for `{version}` in every text. `retired` marks a
/// provider that is no longer in service; `setup.notes` has the reason. `clientMetadata` says that the
/// address of a client ID metadata document is a client id, and `publicOnly` that every server must
/// have a public address. `revoke` is the request that revokes a token. The flows come in order of
/// preference, each kind at most once.
///
/// The vocabulary is closed. A new word must fit at least two providers.
public final class Provider: Sendable {
  /// The features of a provider's accounts, for front ends that lay out buttons.
  public struct Capabilities: Sendable, Equatable {
    public var reverseAuth: Bool
    public var refresh: Bool
    public var email: Bool
    public var revoke: Bool
    public var verify: Bool
  }

  /// The parts of a registration, by their names in the protocol.
  public enum RegistrationPart: String, Sendable, CaseIterable {
    case clientID = "clientId"
    case clientSecret
    /// A private key as PEM text, if the application signs with one.
    case privateKey
    /// A certificate as PEM text, if the application authenticates by mutual TLS.
    case certificate
    /// The registered redirect address, if each application has its own.
    case redirect
  }

  /// The number of accounts of this provider in a store.
  enum AccountCount: String, CaseIterable {
    case one, many
  }

  public let id: String
  public let name: String
  /// Other ids of the provider, for example those of Firebase Authentication.
  public let aliases: [String]
  /// The page of the service for people: an https address.
  public let homepage: String?
  public let setup: Setup
  /// The hosts that take the provider's tokens, besides the origins of its requests.
  public let hosts: [ServedHost]
  /// Whether the service has ended. Its flows work only against a substitute server.
  public let isRetired: Bool
  /// Whether the store has room for only one account, which is confirmed and not selected.
  public let hasOneAccount: Bool
  /// The parts that a registration must have before any flow starts.
  public let registrationNeeds: [RegistrationPart]
  /// The endpoint of automatic registration; `nil` if a person has to register the application.
  let dynamicRegistration: DynamicRegistration?
  /// Whether the provider takes the address of a client ID metadata document as a client id.
  public let takesClientMetadata: Bool
  /// Whether its servers must have public addresses. einlass writes it for an issuer that a resource
  /// named: `true` for one on the internet, which could else direct requests into the person's network,
  /// and `false` for one in that network. `nil` for a provider that the person has chosen.
  let isPublicOnly: Bool?
  /// In order of preference.
  let flows: [FlowDescriptor]
  /// The parameter for the language of the provider's page; `nil` if the page takes none.
  let locale: LocaleDescriptor?
  let permissions: PermissionsDescriptor
  /// The short names for lists of scopes.
  public let scopeNames: ScopeNames
  /// The scopes that other scopes contain.
  public let scopeContents: ScopeContents
  /// `nil` if the provider does not identify a token's owner.
  let identity: IdentityDescriptor?
  let verification: VerifyDescriptor?
  /// The request that revokes a token; `nil` if the provider has none.
  let revocation: RequestTemplate?
  let errors: ErrorRules
  /// The server that a person may replace by another; `nil` if none may be named.
  let server: ServerWord?
  /// The folders of the provider's servers that serve others too. No part of the descriptor.
  let folders: [WebAddress]
  /// The trust in the account's own server. No part of the descriptor.
  let trust: ServerTrust

  /// In order of preference.
  public var flowKinds: [FlowKind] { flows.map(\.kind) }

  public var can: Capabilities {
    Capabilities(
      reverseAuth: flowKinds.contains(.reverseAuth),
      refresh: flows.contains { flow in
        if case .systemToken(let flow) = flow {
          flow.renew != nil
        } else {
          flow.tokens?.refresh != nil && !flow.kind.isSilent
        }
      },
      email: flows.contains { flow in
        let identity = specialized(for: flow).identity
        return identity?.pointers[.email] != nil || identity?.emails != nil
      },
      revoke: flows.contains {
        specialized(for: $0).revocation != nil || $0.tokens?.standardRevocation != nil
      },
      verify: verification != nil || keySource != nil)
  }

  /// The token endpoint with the means to verify id_tokens; `nil` without known keys.
  var keySource: TokenEndpoint? { flows.lazy.compactMap(\.tokens).first(where: \.verifiesIDTokens) }

  /// Returns the permissions that an application gets: the defaults for an empty or absent list.
  public func permissions(asked: [String]?) -> [String] {
    guard let asked, !asked.isEmpty else { return permissions.defaults }
    return asked
  }

  /// The default audience; `nil` if the provider has no audiences.
  public var defaultAudience: AccessGrant.Audience? { permissions.audience }

  static let members = [
    "id", "name", "aliases", "homepage", "setup", "hosts", "retired", "accounts", "version",
    "registration", "dynamicRegistration", "clientMetadata", "publicOnly", "locale", "permissions",
    "scopeNames", "scopeContents", "identity", "flows", "verify", "revoke", "server", "errors",
    "like", "origins",
  ]

  /// Reads a descriptor. Throws a fault with provider and JSON pointer.
  init(_ value: JSONValue, at pointer: String) throws(DescriptorReader.Fault) {
    let value = try Self.versioned(value, at: pointer)
    let unnamed = try DescriptorReader(
      ServerWord.standingIn(value), at: pointer, provider: nil, members: Self.members)
    id = try Self.id(in: unnamed)
    let reader = try unnamed.naming(id)
    try Self.requireWhole(reader)
    name = try reader.name("name")
    aliases = try Self.aliases(beside: id, in: reader)
    homepage = try reader.optional("homepage", reader.address)?.text
    setup = try Setup("setup", in: reader)
    hosts = try reader.hosts("hosts")
    isRetired = try reader.bool("retired", default: false)
    hasOneAccount = try reader.word("accounts", AccountCount.self) == .one
    registrationNeeds = try reader.words("registration", RegistrationPart.self)
    guard Set(registrationNeeds).count == registrationNeeds.count else {
      throw reader.fault("registration", "Expected each value at most once.")
    }
    dynamicRegistration = try reader.optional("dynamicRegistration") {
      name throws(DescriptorReader.Fault) in
      try DynamicRegistration(name, in: reader)
    }
    takesClientMetadata = try reader.bool("clientMetadata", default: false)
    isPublicOnly = try reader.has("publicOnly") ? reader.bool("publicOnly", default: false) : nil
    locale = try LocaleDescriptor("locale", in: reader)
    permissions = try PermissionsDescriptor("permissions", in: reader)
    scopeNames = try ScopeNames("scopeNames", in: reader)
    scopeContents = try ScopeContents("scopeContents", in: reader)
    let person = try reader.optional("identity") { name throws(DescriptorReader.Fault) in
      try IdentityDescriptor(name, in: reader)
    }
    var flows: [FlowDescriptor] = []
    for flow in try reader.list("flows") {
      flows.append(try FlowDescriptor(flow.value, at: flow.pointer, provider: id))
    }
    guard !flows.isEmpty, Set(flows.map(\.kind)).count == flows.count else {
      throw reader.fault("flows", "Expected at least one flow, and each kind at most once.")
    }
    self.flows = flows
    identity = try Self.identity(person, of: flows, in: reader)
    verification = try reader.optional("verify") { name throws(DescriptorReader.Fault) in
      try VerifyDescriptor(name, in: reader)
    }
    revocation = try reader.revocation("revoke")
    guard
      identity?.request != nil
        || (flows.allSatisfy(\.goesWithoutIdentity) && verification?.asksForIdentity != true)
    else {
      throw reader.fault("identity", "The member request is missing. A flow or verify needs it.")
    }
    guard identity.map({ $0.request != nil || $0.isInAnswers(of: flows) }) ?? true else {
      throw reader.fault(
        "identity",
        "The member request is missing. It is needed, because a flow has no keySet for id_tokens.")
    }
    errors = try ErrorRules(
      "errors", in: reader, isStandard: flows.contains { $0.tokens != nil })
    trust = ServerTrust()
    folders = []
    server = try ServerWord(in: reader, written: value)
    guard can.refresh || !errors.rules.contains(where: { $0.outcome == .renew }) else {
      throw reader.fault("errors", "The outcome renew needs a flow with a renew recipe.")
    }
    try requireOneServer(in: reader)
    try requireServer(in: reader)
    try requireProof(in: reader)
  }

  /// Throws for a flow without a proof key in which a client need not authenticate. A server decides
  /// about the client of a registration by itself, and a request with `basic` or `bearer` of its own
  /// has no other proof.
  private func requireProof(in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    let proofs: Set<RegistrationPart> = [.clientSecret, .privateKey, .certificate]
    for (index, flow) in flows.enumerated() {
      guard case .authorizationCode(let words) = flow, words.proofKey == nil,
        proofs.isDisjoint(with: registrationNeeds)
          || words.tokens.clientAuthentication.contains(.none)
          || dynamicRegistration != nil || takesClientMetadata || words.tokens.request.saysWhoAsks
      else { continue }
      throw DescriptorReader.Fault(
        provider: id, pointer: "\(reader.pointer)/flows/\(index)/proofKey",
        explanation: """
          Without a proof key the client has to authenticate: registration must have clientSecret, \
          privateKey or certificate, clientAuthentication must not have none, and there must be no \
          dynamicRegistration, no clientMetadata, and no basic or bearer in token.
          """)
    }
  }

  /// Returns the id of a descriptor.
  static func id(in reader: DescriptorReader) throws(DescriptorReader.Fault) -> String {
    let id = try reader.string("id")
    guard isID(id) else {
      throw try reader.naming(cleaned(id)).fault("id", Self.idExplanation)
    }
    return id
  }

  private static func aliases(
    beside id: String, in reader: DescriptorReader
  ) throws(DescriptorReader.Fault) -> [String] {
    let aliases = try reader.has("aliases") ? reader.strings("aliases") : []
    guard aliases.allSatisfy(isID) else { throw reader.fault("aliases", Self.idExplanation) }
    guard Set(aliases + [id]).count == aliases.count + 1 else {
      throw reader.fault("aliases", "Expected each name at most once, and not the id.")
    }
    return aliases
  }

  private static func isID(_ text: String) -> Bool {
    text.utf8.allSatisfy(isIDCharacter) && text.utf8.count <= 64 && text != passwordID
  }

  /// Names the passwords of a directory of users, so it is no provider.
  static let passwordID = "password"

  private static let idExplanation =
    "Expected at most 64 of the characters a-z, 0-9, - and the dot, but not password."

  /// Copies a provider, with these parts in place of its own.
  private init(
    _ other: Provider, id: String? = nil, name: String? = nil, aliases: [String]? = nil,
    homepage: String?? = nil, hosts: [ServedHost]? = nil,
    dynamicRegistration: DynamicRegistration?? = nil, flows: [FlowDescriptor]? = nil,
    identity: IdentityDescriptor?? = nil, verification: VerifyDescriptor?? = nil,
    revocation: RequestTemplate?? = nil, setup: Setup? = nil, server: ServerWord?? = nil,
    folders: [WebAddress]? = nil, trust: ServerTrust? = nil
  ) {
    self.id = id ?? other.id
    self.name = name ?? other.name
    self.aliases = aliases ?? other.aliases
    self.homepage = homepage ?? other.homepage
    self.setup = setup ?? other.setup
    self.hosts = hosts ?? other.hosts
    isRetired = other.isRetired
    hasOneAccount = other.hasOneAccount
    registrationNeeds = other.registrationNeeds
    self.dynamicRegistration = dynamicRegistration ?? other.dynamicRegistration
    takesClientMetadata = other.takesClientMetadata
    isPublicOnly = other.isPublicOnly
    self.flows = flows ?? other.flows
    locale = other.locale
    permissions = other.permissions
    scopeNames = other.scopeNames
    scopeContents = other.scopeContents
    self.identity = identity ?? other.identity
    self.verification = verification ?? other.verification
    self.revocation = revocation ?? other.revocation
    errors = other.errors
    self.server = server ?? other.server
    self.folders = folders ?? other.folders
    self.trust = trust ?? other.trust
  }

  /// Returns a provider like this one at other servers, with this id and name.
  func moved(id: String, name: String, by move: OriginMove) -> Provider {
    let moved = relocated(move.callAsFunction)
    return Provider(
      moved, id: id, name: name, aliases: [], homepage: .some(nil), server: .some(nil),
      folders: moved.folders + move.servers.filter { !$0.path.isEmpty })
  }

  /// Returns the same provider with every endpoint moved. Addresses of pictures stay. Of the hosts
  /// only moved ones remain, because the tokens of another server are not for the other hosts.
  func relocated(_ move: (WebAddress) -> WebAddress) -> Provider {
    Provider(
      self, hosts: isMoved(by: move) ? hosts.compactMap { $0.relocated(move) } : hosts,
      dynamicRegistration: dynamicRegistration?.relocated(move),
      flows: flows.map { $0.relocated(move) }, identity: identity?.relocated(move),
      verification: verification?.relocated(move), revocation: revocation?.relocated(move),
      setup: setup.relocated(move), server: server?.relocated(move), folders: folders.map(move))
  }

  /// Returns the same provider with this trust in its server.
  func trusted(_ trust: ServerTrust) -> Provider { Provider(self, trust: trust) }

  private func isMoved(by move: (WebAddress) -> WebAddress) -> Bool {
    (flows.flatMap { secretRequests(of: $0) } + requests).contains {
      move($0.address) != $0.address
    }
  }

  /// Returns the provider as the registration changes it: binding of tokens, algorithm of id_tokens,
  /// and the parameter `resource`.
  func registered(as registration: ClientRegistration) -> Provider {
    guard !registration.properties.members.isEmpty else { return self }
    return Provider(self, flows: flows.map { $0.registered(as: registration) })
  }

  /// Returns the provider as one of its flows sees it: the flow's own identity and revocation come
  /// first.
  func specialized(for flow: FlowDescriptor) -> Provider {
    guard let tokens = flow.tokens, tokens.identity != nil || tokens.revocation != nil else {
      return self
    }
    let ownIdentity: IdentityDescriptor? = tokens.identity ?? identity
    let ownRevocation: RequestTemplate? = tokens.revocation ?? revocation
    return Provider(self, identity: ownIdentity, revocation: ownRevocation)
  }

  /// Returns a request to a server of this provider. Every request of a provider is made so.
  func addressed(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.trust = trust
    request.needsPublicAddress = isPublicOnly == true
    return request
  }
}

extension DescriptorReader {
  /// Returns the request that revokes a token; `nil` without this word.
  func revocation(_ name: String) throws(Fault) -> RequestTemplate? {
    try optional(name) { name throws(Fault) in
      try RequestTemplate(
        name, in: self, allowing: [.token, .refreshToken, .clientID, .clientSecret, .csrf])
    }
  }
}

private func isIDCharacter(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
    UInt8(ascii: "-"), UInt8(ascii: "."):
    true
  default: false
  }
}
