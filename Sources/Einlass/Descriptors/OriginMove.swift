internal import EinlassJSON

/// A move of addresses from some origins to others, or to folders there. Other addresses stay.
struct OriginMove: Sendable {
  private var moves: [String: WebAddress] = [:]

  /// Both are exact origins (`https://api.example.com`); a plain-http replacement must be a literal
  /// loopback address.
  ///
  /// - Parameter allowsFolders: Whether a replacement may have a path, which then precedes those of
  ///   the moved addresses.
  init(
    _ origins: [String: String], at pointer: String, provider: String? = nil,
    allowsFolders: Bool = false
  ) throws(ProviderCatalog.Fault) {
    for (old, new) in origins.sorted(by: { $0.key < $1.key }) {
      let place = appending(old, toPointer: pointer)
      let replacement = try Self.server(new, at: place, provider, allowsFolder: allowsFolders)
      moves[try Self.origin(old, at: place, provider).origin] = replacement
    }
  }

  init(from origin: WebAddress, to server: WebAddress) { moves[origin.origin] = server }

  func callAsFunction(_ address: WebAddress) -> WebAddress {
    guard let new = moves[address.origin] else { return address }
    return WebAddress(
      scheme: new.scheme, host: new.host, port: new.port, path: new.path + address.path,
      query: address.query)
  }

  /// The replacements.
  var servers: [WebAddress] { Array(moves.values) }

  /// Returns an origin that secrets may be sent to, or a folder there, without a slash at its end.
  static func server(
    _ text: String, at place: String, _ provider: String?, allowsFolder: Bool = true
  ) throws(ProviderCatalog.Fault) -> WebAddress {
    func fault(_ explanation: String) -> ProviderCatalog.Fault {
      .init(provider: provider, pointer: place, explanation: explanation)
    }
    guard allowsFolder, let address = try? WebAddress.parse(text), !address.path.isEmpty else {
      let server = try origin(text, at: place, provider)
      guard server.isSafe else {
        throw fault("Plain http is allowed only for literal loopback addresses.")
      }
      return server
    }
    let folder: ServiceAddress
    do throws(ServiceAddress.Fault) { folder = try ServiceAddress(text) } catch {
      throw fault("This address \(error.explanation).")
    }
    guard !folder.isAmbiguous else {
      throw fault("This address holds a semicolon or a needless encoding.")
    }
    return folder.place
  }

  private static func origin(
    _ text: String, at place: String, _ provider: String?
  ) throws(ProviderCatalog.Fault) -> WebAddress {
    var address: WebAddress
    do { address = try WebAddress.parse(text) } catch {
      throw .init(
        provider: provider, pointer: place, explanation: "This origin \(error.rawValue).")
    }
    guard address.query == nil, address.path.isEmpty || address.path == "/" else {
      throw .init(
        provider: provider, pointer: place,
        explanation: "Expected an origin without a path, such as https://api.example.com.")
    }
    address.path = ""
    return address
  }
}
