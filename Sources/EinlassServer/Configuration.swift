public import Einlass
public import EinlassCrypto
public import EinlassJSON
internal import EinlassRPC

/// The configuration file of the person.
public struct Configuration: Sendable {
  /// The registrations by application name (`*` for any) and provider.
  var applications: ByteKeyed<ByteKeyed<OnDemand<ClientRegistration>>> = [:]
  /// The addresses of client ID metadata documents by application name; `*` for any.
  public var clientMetadata: ByteKeyed<String> = [:]
  /// Changes of built-in providers by id: a JSON Merge Patch (RFC 7396) of the descriptor.
  public var providers = JSONObject()
  /// Replacements of provider origins: origin to origin.
  public var origins: [String: String] = [:]
  /// A PEM file of certificate authorities to trust.
  public var caFile: String?
  public var proxy: String?
  /// The hosts of the person's own network that documents of servers on the internet may name.
  public var internalHosts: Set<String> = []
  /// The services and their accounts.
  public var services: [Service] = []
  /// The preferred accounts for folders.
  public var folders: [FolderPreference] = []
  /// The program for prompts that the front end cannot show, by its absolute path, and its
  /// arguments; empty if there is none.
  public var prompter: [String] = []
  /// The path or address of the account store, for a command line that names none.
  public var store: String?
  /// The program that prints the store's key, and its arguments; empty for none.
  public var keyCommand: [String] = []
  /// Whether the person is asked for access after a sign-in for the application too.
  public var asksForAccess = false
  /// Whether a credential is withheld if its audit entry cannot be written.
  public var requiresAudit = false

  /// The rules of the directories of users.
  public var users = DirectoryRules()

  /// The member `users`.
  public struct DirectoryRules: Sendable {
    /// Whether all applications share one directory.
    public var isShared = false
    /// Whether an e-mail address belongs to one user only.
    public var hasOneUserPerEmail = true
    /// The age in seconds from which a sign-in is not recent.
    public var recentSeconds: Int64 = 300
    /// The cost of new passwords. The file cannot set it.
    public var stretching = ScryptParameters.standard
  }

  public init() {}

  /// Reads the parsed file. Throws a `ConfigurationError` that names the member.
  public init(_ json: JSONValue) throws(ConfigurationError) {
    guard let object = json.object else { throw ConfigurationError("", "an object") }
    for member in object.members {
      switch member.name {
      case "applications":
        applications = try Self.applications(member.value)
        for application in member.value.object?.members ?? [] {
          guard let address = application.value["clientMetadata"] else { continue }
          clientMetadata[application.name] = try Self.documentAddress(
            address, "/applications/\(application.name)/clientMetadata")
        }
      case "clientMetadata":
        let address = try Self.documentAddress(member.value, "/clientMetadata")
        clientMetadata["*"] = clientMetadata["*"] ?? address
      case "providers": providers = try Self.patches(member.value)
      case "origins": origins = try Self.strings(member.value, "/origins")
      case "caFile":
        let file = try Self.string(member.value, "/caFile")
        guard file.hasPrefix("/") else { throw ConfigurationError("/caFile", "an absolute path") }
        caFile = file
      case "proxy": proxy = try Self.proxy(member.value)
      case "internalHosts": internalHosts = try Self.hosts(member.value, "/internalHosts")
      case "services": services = try Self.services(member.value)
      case "folders": folders = try Self.folders(member.value)
      case "prompter": prompter = try Self.command(member.value, "/prompter")
      case "store": store = try Self.string(member.value, "/store")
      case "keyCommand": keyCommand = try Self.command(member.value, "/keyCommand")
      case "users": users = try DirectoryRules(member.value)
      case "access":
        guard try Self.string(member.value, "/access") == "ask" else {
          throw ConfigurationError("/access", "the text ask, or no member access")
        }
        asksForAccess = true
      case "audit":
        guard try Self.string(member.value, "/audit") == "required" else {
          throw ConfigurationError("/audit", "the text required, or no member audit")
        }
        requiresAudit = true
      default:
        throw ConfigurationError(
          "/\(member.name)",
          "one of applications, clientMetadata, providers, origins, caFile, proxy, internalHosts, services, folders, prompter, store, keyCommand, users, access, audit as a name"
        )
      }
    }
  }

  private static func patches(_ json: JSONValue) throws(ConfigurationError) -> JSONObject {
    guard let patches = json.object else { throw ConfigurationError("/providers", "an object") }
    for patch in patches.members where patch.value.object == nil {
      throw ConfigurationError("/providers/\(patch.name)", "an object")
    }
    return patches
  }

  /// Returns the address of a proxy: a host, which may have a scheme of libcurl and a user before
  /// it, and a port after it.
  private static func proxy(_ json: JSONValue) throws(ConfigurationError) -> String {
    let proxy = try string(json, "/proxy")
    let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    let scheme = proxy.prefix { $0 != ":" }
    let hasScheme = proxy[scheme.endIndex...].hasPrefix("://")
    let rest = hasScheme ? proxy[scheme.endIndex...].dropFirst(3) : proxy[...]
    let authority = rest.prefix { !"/?#".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    guard proxy.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      !hasScheme || schemes.contains(scheme.lowercased()),
      ["", "/"].contains(rest[authority.endIndex...]),
      (try? WebAddress.parse("https://\(host)")) != nil
    else {
      throw ConfigurationError("/proxy", "an address such as http://proxy.example.com:3128")
    }
    return proxy
  }

  /// Returns hosts, as an address spells them.
  private static func hosts(
    _ json: JSONValue, _ pointer: String
  ) throws(ConfigurationError) -> Set<String> {
    guard let hosts = json.strings else { throw ConfigurationError(pointer, "a list of hosts") }
    for (index, host) in hosts.enumerated() {
      guard let address = try? WebAddress.parse("https://" + host), sameBytes(address.host, host)
      else {
        throw ConfigurationError(
          "\(pointer)/\(index)", "a host in lower case without a port, such as login.example.com")
      }
    }
    return Set(hosts)
  }

  /// Returns the absolute path of a program and its arguments, at most 16 texts.
  private static func command(
    _ json: JSONValue, _ pointer: String
  ) throws(ConfigurationError) -> [String] {
    guard let command = json.strings, command.count <= 16, let program = command.first,
      program.hasPrefix("/"), command.allSatisfy({ !$0.utf8.contains(0) })
    else {
      throw ConfigurationError(
        pointer, "a list of texts: the absolute path of a program, and its arguments")
    }
    return command
  }

  /// Returns the application's registration at a provider, or else the one of `*`.
  public func registration(_ application: String, _ provider: String) -> ClientRegistration? {
    (applications[application]?[provider] ?? applications["*"]?[provider])?.value
  }

  /// Returns the client ID metadata document of an application.
  public func document(of application: String) -> ClientRegistration? {
    (clientMetadata[application] ?? clientMetadata["*"]).map(ClientMetadata.registration)
  }

  private static func documentAddress(
    _ json: JSONValue, _ path: String
  ) throws(ConfigurationError) -> String {
    let address = try string(json, path)
    guard ClientMetadata.isAddress(address) else {
      throw ConfigurationError(
        path, "an https address of at most 256 bytes with a path and without a query")
    }
    return address
  }

  private static func applications(
    _ json: JSONValue
  ) throws(ConfigurationError) -> ByteKeyed<ByteKeyed<OnDemand<ClientRegistration>>> {
    var result: ByteKeyed<ByteKeyed<OnDemand<ClientRegistration>>> = [:]
    guard let object = json.object else { throw ConfigurationError("/applications", "an object") }
    for application in object.members {
      let path = "/applications/\(application.name)"
      guard let providers = application.value.object else {
        throw ConfigurationError(path, "an object")
      }
      var registrations: ByteKeyed<OnDemand<ClientRegistration>> = [:]
      for provider in providers.members where provider.name != "clientMetadata" {
        registrations[provider.name] = try registration(
          provider.value, "\(path)/\(provider.name)")
      }
      result[application.name] = registrations
    }
    return result
  }

  private static func services(_ json: JSONValue) throws(ConfigurationError) -> [Service] {
    guard let elements = json.array, elements.count <= 1000 else {
      throw ConfigurationError("/services", "a list of at most 1000 objects")
    }
    var services: [Service] = []
    for (index, element) in elements.enumerated() {
      let service = try service(element, "/services/\(index)")
      guard !services.contains(where: { $0.address.isSame(as: service.address) }) else {
        throw ConfigurationError(
          "/services/\(index)/address", "an address that no other service has")
      }
      services.append(service)
    }
    return services
  }

  private static func folders(
    _ json: JSONValue
  ) throws(ConfigurationError) -> [FolderPreference] {
    guard let elements = json.array, elements.count <= 1000 else {
      throw ConfigurationError("/folders", "a list of at most 1000 objects")
    }
    var folders: [FolderPreference] = []
    for (index, element) in elements.enumerated() {
      let path = "/folders/\(index)"
      guard let object = element.object, object.members.count == 3,
        let folder = object["folder"]?.string, let provider = object["provider"]?.string,
        let account = object["account"]?.string
      else {
        throw ConfigurationError(path, "an object with folder, provider and account as texts")
      }
      let names = folder.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
      guard folder == "/" || folder.hasPrefix("/") && !names.contains(where: isNoName) else {
        throw ConfigurationError(
          "\(path)/folder",
          "an absolute path without a slash at its end, empty names and dots as names")
      }
      folders.append(FolderPreference(folder, provider: provider, account: account))
    }
    return folders
  }

  /// Whether a part of a path would make another spelling of the same folder.
  private static func isNoName(_ name: Substring) -> Bool { ["", ".", ".."].contains(name) }

  private static func service(
    _ json: JSONValue, _ path: String
  ) throws(ConfigurationError) -> Service {
    guard let object = json.object else { throw ConfigurationError(path, "an object") }
    let names = ["address", "provider", "account", "username", "scheme", "scopes"]
    for member in object.members where !names.contains(member.name) {
      throw ConfigurationError(
        "\(path)/\(member.name)", "one of \(names.joined(separator: ", ")) as a name")
    }
    func optional(_ name: String) throws(ConfigurationError) -> String? {
      try object[name].map { value throws(ConfigurationError) in
        try string(value, "\(path)/\(name)")
      }
    }
    guard let address = try optional("address"), let address = try? ServiceAddress(address),
      !address.isAmbiguous
    else {
      throw ConfigurationError(
        "\(path)/address",
        "an https address without a query, semicolons and needless encodings, or a host name")
    }
    guard let provider = try optional("provider") else {
      throw ConfigurationError("\(path)/provider", "a provider's id")
    }
    var service = try Service(
      address, provider: provider, account: optional("account"), username: optional("username"))
    guard service.username.map(isBasicUsername) ?? true else {
      throw ConfigurationError("\(path)/username", "a user name without controls and colons")
    }
    if let word = try optional("scheme") {
      guard let scheme = ServedHost.Scheme(rawValue: word) else {
        throw ConfigurationError("\(path)/scheme", "bearer or basic")
      }
      service.scheme = scheme
    }
    if let scopes = object["scopes"] {
      guard let scopes = scopes.strings, scopes.count <= 256, scopes.allSatisfy(isIdentifier) else {
        throw ConfigurationError("\(path)/scopes", "a list of scopes")
      }
      service.scopes = scopes
    }
    return service
  }

  private static func strings(
    _ json: JSONValue, _ path: String
  ) throws(ConfigurationError) -> [String: String] {
    guard let object = json.object else { throw ConfigurationError(path, "an object") }
    var result: [String: String] = [:]
    for member in object.members {
      result[member.name] = try string(member.value, "\(path)/\(member.name)")
    }
    return result
  }

  static func string(
    _ json: JSONValue, _ path: String
  ) throws(ConfigurationError) -> String {
    guard let value = json.string, !value.isEmpty, !value.utf8.contains(0) else {
      throw ConfigurationError(path, "a string that is not empty, without NUL")
    }
    return value
  }
}

/// The first error in a configuration file.
public struct ConfigurationError: Error, Equatable {
  /// A JSON Pointer into the file (RFC 6901).
  public var pointer: String
  /// The expected value, as the end of a sentence.
  public var expected: String

  init(_ pointer: String, _ expected: String) {
    self.pointer = pointer
    self.expected = expected
  }
}

/// A dictionary with keys compared as bytes, because Swift's string equality ignores differences of
/// Unicode normalization.
public struct ByteKeyed<Value: Sendable>: Sendable, ExpressibleByDictionaryLiteral {
  private var values: [[UInt8]: Value] = [:]

  public init(dictionaryLiteral elements: (String, Value)...) {
    for (key, value) in elements { self[key] = value }
  }

  public subscript(_ key: String) -> Value? {
    get { values[Array(key.utf8)] }
    set { values[Array(key.utf8)] = newValue }
  }
}
