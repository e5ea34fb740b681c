internal import EinlassJSON

/// A move of addresses from some origins to others. Other addresses stay.
struct OriginMove: Sendable {
  private var moves: [String: WebAddress] = [:]

  /// Both are exact origins (`https://api.example.com`); a plain-http replacement must be a literal
  /// loopback address.
  init(
    _ origins: [String: String], at pointer: String, provider: String? = nil
  ) throws(ProviderCatalog.Fault) {
    for (old, new) in origins.sorted(by: { $0.key < $1.key }) {
      let place = appending(old, toPointer: pointer)
      let replacement = try Self.origin(new, at: place, provider)
      guard replacement.isSafe else {
        throw .init(
          provider: provider, pointer: place,
          explanation: "Plain http is allowed only for literal loopback addresses.")
      }
      moves[try Self.origin(old, at: place, provider).origin] = replacement
    }
  }

  func callAsFunction(_ address: WebAddress) -> WebAddress {
    guard let new = moves[address.origin] else { return address }
    return WebAddress(
      scheme: new.scheme, host: new.host, port: new.port, path: address.path, query: address.query)
  }

  private static func origin(
    _ text: String, at place: String, _ provider: String?
  ) throws(ProviderCatalog.Fault) -> WebAddress {
    let address: WebAddress
    do { address = try WebAddress.parse(text) } catch {
      throw .init(
        provider: provider, pointer: place, explanation: "This origin \(error.rawValue).")
    }
    guard address.query == nil, address.path.isEmpty || address.path == "/" else {
      throw .init(
        provider: provider, pointer: place,
        explanation: "Expected an origin without a path, such as https://api.example.com.")
    }
    return address
  }
}
