public import Einlass
public import EinlassJSON

/// The configuration file of the person.
public struct Configuration: Sendable {
  /// The registrations by application name (`*` for any) and provider.
  public var applications: ByteKeyed<ByteKeyed<ClientRegistration>> = [:]
  /// Replacements of provider origins: origin to origin.
  public var origins: [String: String] = [:]
  /// A PEM file of certificate authorities to trust.
  public var caFile: String?
  public var proxy: String?
  /// Whether a credential is withheld if its audit entry cannot be written.
  public var requiresAudit = false

  public init() {}

  /// Reads the parsed file. Throws a `ConfigurationError` that names the member.
  public init(_ json: JSONValue) throws(ConfigurationError) {
    guard let object = json.object else { throw ConfigurationError("", "an object") }
    for member in object.members {
      switch member.name {
      case "applications": applications = try Self.applications(member.value)
      case "origins": origins = try Self.strings(member.value, "/origins")
      case "caFile": caFile = try Self.string(member.value, "/caFile")
      case "proxy": proxy = try Self.string(member.value, "/proxy")
      case "audit":
        guard try Self.string(member.value, "/audit") == "required" else {
          throw ConfigurationError("/audit", "the text required, or no member audit")
        }
        requiresAudit = true
      default:
        throw ConfigurationError(
          "/\(member.name)", "one of applications, origins, caFile, proxy, audit as a name")
      }
    }
  }

  /// Returns the application's registration at a provider, or else the one of `*`.
  public func registration(_ application: String, _ provider: String) -> ClientRegistration? {
    applications[application]?[provider] ?? applications["*"]?[provider]
  }

  private static func applications(
    _ json: JSONValue
  ) throws(ConfigurationError) -> ByteKeyed<ByteKeyed<ClientRegistration>> {
    var result: ByteKeyed<ByteKeyed<ClientRegistration>> = [:]
    guard let object = json.object else { throw ConfigurationError("/applications", "an object") }
    for application in object.members {
      let path = "/applications/\(application.name)"
      guard let providers = application.value.object else {
        throw ConfigurationError(path, "an object")
      }
      var registrations: ByteKeyed<ClientRegistration> = [:]
      for provider in providers.members {
        registrations[provider.name] = try registration(
          provider.value, "\(path)/\(provider.name)")
      }
      result[application.name] = registrations
    }
    return result
  }

  private static func registration(
    _ json: JSONValue, _ path: String
  ) throws(ConfigurationError) -> ClientRegistration {
    guard let clientID = json["clientId"]?.string, isIdentifier(clientID) else {
      throw ConfigurationError("\(path)/clientId", "1 to 256 bytes without control characters")
    }
    func optional(_ name: String) throws(ConfigurationError) -> String? {
      try json[name].map { value throws(ConfigurationError) in
        try string(value, "\(path)/\(name)")
      }
    }
    let way = try optional("authentication")
    guard way.map(ClientRegistration.authentications.contains) ?? true else {
      throw ConfigurationError(
        "\(path)/authentication",
        "one of \(ClientRegistration.authentications.joined(separator: ", "))")
    }
    return try ClientRegistration(
      clientID: clientID, clientSecret: optional("clientSecret").map { Secret($0) },
      redirect: optional("redirect"), privateKey: optional("privateKey").map { Secret($0) },
      authentication: way,
      keyID: optional("keyId"))
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

  private static func string(
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
