public import EinlassJSON

/// The server that a person may replace by another one of the same software: the word `server`.
///
///     "server": "https://git.example.com"
///     "server": "https://{shop}.example.com"
///
/// Every address of the descriptor must be at this origin, so that nothing goes to another server
/// than the named one. In the second form the person fills in one label of the host, and no other
/// server can be named. A sign-in with a server adds a provider of its own, with the words `like` and
/// `server`, and with a registration of its own.
struct ServerWord: Sendable, Equatable {
  /// The origin in the descriptor. In the second form a host that cannot exist stands for the others
  /// (RFC 6761 section 6.4), so that nothing is sent before the label is known.
  var origin: WebAddress
  /// The place for the label, with its name; `nil` in the first form.
  var label: String?

  /// The text of the descriptor.
  var text: String {
    label.map {
      "https://{\($0)}.\(origin.host.dropFirst($0.utf8.count + 1).dropLast(Self.end.count))"
    }
      ?? origin.text
  }

  private static let end = ".invalid"

  /// Returns a descriptor with the host that cannot exist in place of each with a label to fill in.
  static func standingIn(_ descriptor: JSONValue) -> JSONValue {
    guard let text = descriptor["server"]?.string, let (name, rest) = parts(of: text) else {
      return descriptor
    }
    return descriptor.replacing(text, by: "https://\(name).\(rest)\(end)")
  }

  /// Returns the name of the label and the rest of the host; `nil` without a label to fill in.
  private static func parts(of text: String) -> (name: Substring, rest: Substring)? {
    let start = "https://{"
    guard text.hasPrefix(start), let close = text.firstIndex(of: "}") else { return nil }
    let name = text[..<close].dropFirst(start.count)
    let rest = text[close...].dropFirst()
    guard rest.hasPrefix("."), (1...16).contains(name.utf8.count),
      name.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }),
      let address = try? WebAddress.parse("https://\(name)\(rest)"), address.port == nil,
      sameBytes(address.host, "\(name)\(rest)")
    else { return nil }
    return (name, rest.dropFirst())
  }

  /// Reads the word; `written` is the descriptor before `standingIn`.
  init?(in reader: DescriptorReader, written: JSONValue) throws(DescriptorReader.Fault) {
    guard reader.has("server") else { return nil }
    let text = written["server"]?.string ?? ""
    label = Self.parts(of: text).map { String($0.name) }
    do { origin = try reader.address("server") } catch {
      guard text.utf8.contains(UInt8(ascii: "{")) else { throw error }
      throw reader.fault("server", "Expected a label in braces, as in https://{shop}.example.com.")
    }
  }

  /// Returns the server that a person names: an address, a host, or the label.
  func server(
    _ name: String, at place: String, _ provider: String?
  ) throws(ProviderCatalog.Fault) -> WebAddress {
    let isAddress = name.utf8.contains(UInt8(ascii: "/"))
    guard let label else {
      return try OriginMove.server(isAddress ? name : "https://" + name, at: place, provider)
    }
    let rest = origin.host.dropFirst(label.utf8.count).dropLast(Self.end.count)
    let host = name.utf8.contains(UInt8(ascii: ".")) || isAddress ? name : name + rest
    guard let address = try? WebAddress.parse(isAddress ? host : "https://" + host),
      address.scheme == .https, address.port == nil, address.query == nil,
      address.path.isEmpty || address.path == "/", address.host.hasSuffix(rest),
      // `WebAddress` has checked each label, and allows an underscore.
      !address.host.dropLast(rest.utf8.count).contains(where: { $0 == "." || $0 == "_" })
    else {
      throw .init(
        provider: provider, pointer: place,
        explanation: "Expected the \(label) of \(text): letters, digits and inner hyphens.")
    }
    return WebAddress(scheme: .https, host: address.host)
  }

  func relocated(_ move: (WebAddress) -> WebAddress) -> ServerWord {
    ServerWord(origin: move(origin), label: label)
  }

  private init(origin: WebAddress, label: String?) {
    self.origin = origin
    self.label = label
  }
}

extension JSONValue {
  /// Returns the same value with this origin replaced in each address that has it.
  fileprivate func replacing(_ origin: String, by other: String) -> JSONValue {
    switch self {
    case .string(let text):
      let rest = text.dropFirst(origin.count)
      let isThere = text.hasPrefix(origin) && (rest.isEmpty || rest.hasPrefix("/"))
      return isThere ? .string(other + rest) : self
    case .array(let elements): return .array(elements.map { $0.replacing(origin, by: other) })
    case .object(let object):
      // A text with other placeholders may not have this one.
      return .object(
        JSONObject(
          object.members.map { member in
            let isTemplates =
              ["query", "form", "json", "headers"].contains(member.name)
              && member.value.object != nil
            return (
              member.name,
              isTemplates ? member.value : member.value.replacing(origin, by: other)
            )
          }))
    default: return self
    }
  }
}

extension Provider {
  /// The server that a person may replace by another, as the descriptor has it; `nil` if none may be
  /// named.
  public var serverText: String? { server?.text }

  /// Whether only a person can complete the server's name.
  public var isServerIncomplete: Bool { server?.label != nil }

  /// Throws for an address at another origin than the word `server` names.
  func requireServer(in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard let server else { return }
    guard server.origin.text == server.origin.origin,
      addresses.allSatisfy({ sameBytes($0.origin, server.origin.origin) })
    else {
      throw reader.fault(
        "server",
        "Expected the origin of every address of this provider, such as https://example.com.")
    }
  }

  /// Returns the server that a person names for this provider. Throws a fault at this pointer.
  func server(
    _ name: String, at pointer: String
  ) throws(ProviderCatalog.Fault) -> WebAddress {
    guard let server else {
      throw .init(
        provider: id, pointer: pointer, explanation: "\(self.name) has no word server.")
    }
    return try server.server(name, at: pointer, id)
  }
}

extension ProviderCatalog {
  /// Returns another provider with a server above or below one of this provider, so that a token of
  /// one could be sent to the other.
  public func neighbour(of provider: Provider) -> Provider? {
    let places = provider.places
    for entry in entries where !sameBytes(entry.id, provider.id) {
      guard places.contains(where: { entry.mayHold($0.place.host) }) else { continue }
      let others = entry.provider.places
      if places.contains(where: { place in
        others.contains { $0.isServed(at: place.place) || place.isServed(at: $0.place) }
      }) {
        return entry.provider
      }
    }
    return nil
  }
}

extension Provider {
  /// The places that may get a token of the provider.
  fileprivate var places: [ServiceAddress] {
    origins.compactMap { try? ServiceAddress($0) }
      + hosts.compactMap { try? ServiceAddress($0.address.text) }
  }
}

/// A provider at a server that a person has named in the place of another provider's: its
/// descriptor has `like` and `server`.
public struct PlacedProvider: Sendable {
  public let descriptor: JSONValue

  /// Throws `invalidParameter` for a name that is no server of this provider.
  public init(_ model: Provider, at name: String) throws(Problem) {
    do throws(ProviderCatalog.Fault) {
      let server = try model.server(name, at: "/server/host")
      descriptor = [
        "id": .string(server.providerID), "name": .string(server.authority + server.path),
        "like": .string(model.id), "server": .string(server.text),
      ]
    } catch { throw .invalidParameter(error.pointer, error.explanation) }
  }

  /// Whether a descriptor is for the same server.
  public func isSame(as other: JSONValue) -> Bool {
    ["like", "server"].allSatisfy { word in
      sameBytes(other[word]?.string ?? "", descriptor[word]?.string ?? "")
    }
  }

  /// Returns the descriptor, with another id if its own is taken.
  public func named(_ isTaken: (String) -> Bool) -> JSONValue {
    guard isTaken(descriptor["id"]?.string ?? ""), var object = descriptor.object,
      let server = try? WebAddress.parse(descriptor["server"]?.string ?? "")
    else { return descriptor }
    object["id"] = .string(server.otherProviderID)
    return .object(object)
  }
}

extension Problem {
  /// Another provider takes tokens at the server that the person has named.
  public static func serverTaken(_ name: String, by provider: Provider) -> Problem {
    Problem(
      .invalidParameter,
      "\(provider.name) has the server \(presentable(name)) already, so no other provider may be there.",
      provider: provider.id, path: "/server/host",
      hint: .init("accounts.signIn", ["provider": provider.id]))
  }
}
