public import EinlassJSON

/// The known providers, in the order of `providers.json`.
public struct ProviderCatalog: Sendable {
  /// A fault in a descriptor or in a configured origin, for its author.
  public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The provider's id, if it is known.
    public var provider: String?
    /// A JSON pointer into the document.
    public var pointer: String
    /// A sentence that says how to correct the fault.
    public var explanation: String

    /// `example, at /providers/0/id: Expected a text.`
    public var description: String {
      let place = pointer.isEmpty ? "the document" : pointer
      return "\(provider.map { "\($0), " } ?? "")at \(place): \(explanation)"
    }
  }

  /// The entries; `nil` stands for those of the built-in catalogue.
  private var ownEntries: [CatalogEntry]? = []
  private(set) var entries: [CatalogEntry] {
    get { ownEntries ?? Self.builtInEntries }
    set { ownEntries = newValue }
  }
  /// The ids of the providers that a person or a sign-in has added.
  public private(set) var addedIDs: Set<String> = []
  /// The catalogue's own providers whose ids were added too, for example because a new version of
  /// einlass describes them.
  private var hidden: [CatalogEntry] = []
  /// The ids of the providers of a file that the person has named.
  private var overlaidIDs: [String] = []
  /// The origins that take the place of others in this configuration.
  private var substitutes: [String] = []

  /// All providers. Reading all descriptors takes time, so use `provider(_:)` for a single one.
  public var providers: [Provider] { entries.map(\.provider) }

  public static let none = ProviderCatalog()

  /// The built-in catalogue. It is read on first use, because many processes need no provider. A
  /// descriptor is read when its provider is first used.
  public static let builtIn = {
    var catalog = ProviderCatalog()
    catalog.ownEntries = nil
    return catalog
  }()

  private static let builtInEntries: [CatalogEntry] = {
    guard let entries = CatalogEntry.entries(ofSound: PackageResources.providers_json) else {
      preconditionFailure("The built-in catalogue is sound; a test reads all of it.")
    }
    return entries
  }()

  private init() {}

  /// Reads and checks a catalogue: strict JSON of the shape of `providers.json`. `like` may
  /// name the providers of `models`.
  public init(json: [UInt8], models: ProviderCatalog = .none) throws(Fault) {
    for element in try Self.elements(of: json) {
      let provider = try Provider.read(element.value, at: element.pointer, models: models)
      guard !entries.contains(where: { sameBytes($0.id, provider.id) }) else {
        throw Fault(
          provider: provider.id, pointer: element.pointer + "/id",
          explanation: "Another provider has this id.")
      }
      if id(of: provider.id) != nil {
        throw Fault(
          provider: provider.id, pointer: element.pointer + "/id",
          explanation: "This id is an alias of another provider.")
      }
      for alias in provider.aliases
      where id(of: alias) != nil || models.id(of: alias).map({ $0 != provider.id }) ?? false {
        throw Fault(
          provider: provider.id, pointer: element.pointer + "/aliases",
          explanation: "\(alias) is an id or an alias of another provider.")
      }
      entries.append(CatalogEntry(provider))
    }
  }

  private static func elements(of json: [UInt8]) throws(Fault) -> [(
    value: JSONValue, pointer: String
  )] {
    let value: JSONValue
    do throws(JSONFile.Fault) { value = try JSONFile.read(json) } catch {
      throw Fault(pointer: "", explanation: "The text \(error.explanation).")
    }
    return try DescriptorReader(value, at: "", provider: nil, members: ["providers"])
      .list("providers")
  }

  /// Returns this catalogue with the other's providers, which replace those of the same id. New
  /// ones come last.
  public func overlaid(by other: ProviderCatalog) -> ProviderCatalog {
    var result = self
    result.overlaidIDs += other.entries.map(\.id)
    for entry in other.entries {
      if let index = result.entries.firstIndex(where: { sameBytes($0.id, entry.id) }) {
        result.entries[index] = entry
      } else {
        result.entries.append(entry)
      }
    }
    return result
  }

  /// Returns this catalogue with changed descriptors: by the id of a built-in provider, a JSON Merge
  /// Patch (RFC 7396) of its descriptor.
  public func changed(by patches: JSONObject) throws(Fault) -> ProviderCatalog {
    var changed = ProviderCatalog.none
    for patch in patches.members {
      let id = patch.name
      let pointer = appending(id, toPointer: "/providers")
      guard let text = entries.first(where: { sameBytes($0.id, id) })?.text,
        let descriptor = try? JSONReader.read(Array(text))
      else {
        throw Fault(pointer: pointer, explanation: "No built-in provider has this id.")
      }
      for word in ["id", "aliases"] where patch.value[word] != nil {
        throw Fault(
          provider: id, pointer: pointer + "/" + word, explanation: "It cannot be changed.")
      }
      changed.entries.append(
        CatalogEntry(try Provider(descriptor.merging(patch.value), at: pointer)))
    }
    return overlaid(by: changed)
  }

  /// Returns this catalogue with providers that a person or a sign-in has added.
  public func adding(_ other: ProviderCatalog) -> ProviderCatalog {
    var result = overlaid(by: other)
    result.hidden += entries.filter { other.holds($0.id) && holdsItself($0.id) }
    result.addedIDs.formUnion(other.entries.map(\.id))
    return result
  }

  /// Returns this catalogue with the providers of a file, and the faults of those left out because
  /// they are invalid. Each may be `like` an earlier one. Throws if the text is no catalogue at
  /// all.
  public func adding(
    json: [UInt8]
  ) throws(Fault) -> (catalog: ProviderCatalog, leftOut: [Fault]) {
    var result = self
    var faults: [Fault] = []
    for element in try Self.elements(of: json) {
      do throws(Fault) {
        var one = ProviderCatalog.none
        one.entries = [
          CatalogEntry(try Provider.added(element.value, at: element.pointer, models: result))
        ]
        result = result.adding(one)
      } catch {
        var fault = error
        fault.provider = element.value["id"]?.string
        faults.append(fault)
      }
    }
    return (result, faults)
  }

  /// Whether there is a provider of this id that was not added.
  public func holdsItself(_ id: String) -> Bool {
    holds(id) && !addedIDs.contains { sameBytes($0, id) }
  }

  /// Whether this is a provider of einlass's own catalogue at its own addresses.
  func isBuiltIn(_ provider: Provider) -> Bool {
    holdsItself(provider.id) && !overlaidIDs.contains { sameBytes($0, provider.id) }
      && !provider.identityAddresses.contains { address in
        substitutes.contains { sameBytes($0, address.origin) }
      }
  }

  /// Returns this catalogue with every endpoint at one of these origins moved to its replacement.
  ///
  /// Both are exact origins (`https://api.example.com`); a plain-http replacement must be a literal
  /// loopback address. `issuer` and `keySet` move too, because a server that plays a provider signs
  /// in its own name, and an account is bound to the real destination of its requests.
  public func relocated(origins: [String: String]) throws(Fault) -> ProviderCatalog {
    guard !origins.isEmpty else { return self }
    let move = try OriginMove(origins, at: "/origins")
    var result = self
    result.substitutes += origins.values
    result.entries = entries.map { $0.relocated(move.callAsFunction) }
    result.hidden = hidden.map { $0.relocated(move.callAsFunction) }
    return result
  }

  /// Returns whether the catalogue has a provider with this id.
  public func holds(_ id: String) -> Bool { entries.contains { sameBytes($0.id, id) } }

  /// Returns the catalogue without this added provider. A provider of the catalogue itself with the
  /// same id takes its place. An id that was not added changes nothing.
  public func withoutAdded(_ id: String) -> ProviderCatalog {
    guard addedIDs.contains(where: { sameBytes($0, id) }) else { return self }
    var result = self
    result.addedIDs.remove(id)
    guard let own = hidden.firstIndex(where: { sameBytes($0.id, id) }) else {
      result.entries.removeAll { sameBytes($0.id, id) }
      return result
    }
    if let index = entries.firstIndex(where: { sameBytes($0.id, id) }) {
      result.entries[index] = result.hidden.remove(at: own)
    }
    return result
  }

  /// The catalogue without any added provider.
  public var withoutAdded: ProviderCatalog {
    addedIDs.reduce(self) { $0.withoutAdded($1) }
  }

  /// The providers whose requests all stay on this machine: the only ones with `--test` and a store
  /// in a file, because a test must not reach the others.
  public var onThisMachine: ProviderCatalog {
    var result = self
    result.entries = entries.filter { $0.provider.isLoopbackOnly }
    result.hidden = hidden.filter { $0.provider.isLoopbackOnly }
    return result
  }

  /// Whether an added provider may not have this id, because it is an id or an alias of the
  /// catalogue itself.
  public func isTaken(_ id: String) -> Bool {
    holdsItself(id) || !holds(id) && self.id(of: id) != nil
  }

  /// Returns the id of the provider with this id or, if there is none, with this alias; `nil`
  /// without either.
  public func id(of name: String) -> String? { entry(name)?.id }

  private func entry(_ name: String) -> CatalogEntry? {
    entries.first { sameBytes($0.id, name) }
      ?? entries.first { entry in
        entry.mayHold(name) && entry.provider.aliases.contains { sameBytes($0, name) }
      }
  }

  /// Returns the provider with this id or alias, compared as bytes. Throws `unknownProvider`.
  public func provider(_ id: String) throws(Problem) -> Provider {
    guard let entry = entry(id) else {
      var hint = Problem.Hint("providers.list")
      hint.lists["nearest"] = nearestNames(to: id, among: entries.map(\.id))
      throw Problem(.unknownProvider, "There is no provider with this id.", hint: hint)
    }
    return entry.provider
  }
}
