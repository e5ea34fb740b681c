internal import EinlassJSON

extension Provider {
  /// Reads a descriptor, either complete or derived from another provider with `like`, for another
  /// server of the same kind.
  ///
  ///     {"id": "example.org", "name": "Example", "like": "example",
  ///      "origins": {"https://example.com": "https://example.org/git"}}
  ///     {"id": "example.net", "name": "Example", "like": "example",
  ///      "server": "https://example.net/git"}
  ///
  /// With a path, the server is a folder, and a token is for addresses below it alone. `server` is
  /// for a provider with that word, and moves all its addresses.
  static func read(
    _ value: JSONValue, at pointer: String, models: ProviderCatalog
  ) throws(DescriptorReader.Fault) -> Provider {
    guard value["like"] != nil else { return try Provider(value, at: pointer) }
    let unnamed = try DescriptorReader(
      value, at: pointer, provider: nil, members: ["id", "name", "like", "origins", "server"])
    let id = try id(in: unnamed)
    let reader = try unnamed.naming(id)
    let model: Provider
    do { model = try models.provider(reader.string("like")) } catch let fault
      as DescriptorReader.Fault
    {
      throw fault
    } catch { throw reader.fault("like", "Expected the id of a provider of the catalogue.") }
    let move = try reader.move(of: model)
    guard move.servers.allSatisfy(\.path.isEmpty) || model.passwordSession == nil else {
      throw reader.fault("origins", "Expected origins without a path, because of passwordSession.")
    }
    let moved = model.moved(id: id, name: try reader.name("name"), by: move)
    guard !reader.has("server") || moved.isAt(move.servers) else {
      throw reader.fault("server", "\(model.name) is spread over several servers here.")
    }
    return moved
  }

  /// Reads the descriptor of a provider that is added. It may have no aliases, because they could
  /// stand for other providers.
  static func added(
    _ value: JSONValue, at pointer: String, models: ProviderCatalog
  ) throws(DescriptorReader.Fault) -> Provider {
    let provider = try read(value, at: pointer, models: models)
    guard provider.aliases.isEmpty else {
      throw DescriptorReader.Fault(
        provider: provider.id, pointer: pointer + "/aliases",
        explanation: "A provider that is added has no aliases.")
    }
    return provider
  }
}

extension DescriptorReader {
  /// Returns the move of a model's addresses: `origins` or `server`.
  fileprivate func move(of model: Provider) throws(Fault) -> OriginMove {
    guard has("server") else {
      guard let members = try value("origins").object?.members, !members.isEmpty else {
        throw fault("origins", "Expected an object of origins.")
      }
      let origin = try object("origins", members: members.map(\.name))
      var origins: [String: String] = [:]
      for member in members { origins[member.name] = try origin.string(member.name) }
      return try OriginMove(
        origins, at: origin.pointer, provider: provider, allowsFolders: true)
    }
    guard !has("origins") else { throw fault("origins", "Expected either origins or server.") }
    guard let word = model.server else {
      throw fault("server", "\(model.name) has no word server.")
    }
    let place = appending("server", toPointer: pointer)
    return OriginMove(
      from: word.origin, to: try word.server(try string("server"), at: place, provider))
  }
}

extension Provider {
  /// Returns a descriptor with its version in every text.
  static func versioned(
    _ value: JSONValue, at pointer: String
  ) throws(DescriptorReader.Fault) -> JSONValue {
    let written = try DescriptorReader(value, at: pointer, provider: nil, members: members)
    return try written.optional("version", written.segment).map(value.ofVersion) ?? value
  }

  /// Throws for a word of a descriptor that is derived from another one.
  static func requireWhole(_ reader: DescriptorReader) throws(DescriptorReader.Fault) {
    for word in ["like", "origins"] where reader.has(word) {
      throw reader.fault(
        word, "The member like needs origins or server, and allows only id and name besides.")
    }
  }
}

extension JSONValue {
  /// Returns the same value with every `{version}` in its texts filled in.
  fileprivate func ofVersion(_ version: String) -> JSONValue {
    switch self {
    case .string(let text): .string(replacing("{version}", in: text, with: version))
    case .array(let elements): .array(elements.map { $0.ofVersion(version) })
    case .object(let object):
      .object(JSONObject(object.members.map { ($0.name, $0.value.ofVersion(version)) }))
    default: self
    }
  }
}
