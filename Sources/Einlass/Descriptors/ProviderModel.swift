internal import EinlassJSON

extension Provider {
  /// Reads a descriptor, either complete or derived from another provider with `like`, for another
  /// server of the same kind.
  ///
  ///     {"id": "example.org", "name": "Example", "like": "example",
  ///      "origins": {"https://example.com": "https://example.org"}}
  static func read(
    _ value: JSONValue, at pointer: String, models: ProviderCatalog
  ) throws(DescriptorReader.Fault) -> Provider {
    guard value["like"] != nil else { return try Provider(value, at: pointer) }
    let unnamed = try DescriptorReader(
      value, at: pointer, provider: nil, members: ["id", "name", "like", "origins"])
    let id = try id(in: unnamed)
    let reader = try unnamed.naming(id)
    let model: Provider
    do { model = try models.provider(reader.string("like")) } catch let fault
      as DescriptorReader.Fault
    {
      throw fault
    } catch { throw reader.fault("like", "Expected the id of a provider of the catalogue.") }
    guard let members = try reader.value("origins").object?.members, !members.isEmpty else {
      throw reader.fault("origins", "Expected an object of origins.")
    }
    let origin = try reader.object("origins", members: members.map(\.name))
    var origins: [String: String] = [:]
    for member in members { origins[member.name] = try origin.string(member.name) }
    let move = try OriginMove(origins, at: origin.pointer, provider: id)
    return model.renamed(id: id, name: try reader.name("name")).relocated(move.callAsFunction)
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
