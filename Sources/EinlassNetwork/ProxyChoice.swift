import Einlass
import EinlassSystem

/// The choice of the proxy for a request, by the rules of libcurl.
///
/// einlass makes it itself, because libcurl does not tell whether it has used a proxy. The address of a
/// proxy says nothing about the server.
struct ProxyChoice {
  private let configured: String?
  private let variable: (String) -> String?

  /// `configured` is the address of a proxy; `nil` follows the variables, "" means none.
  init(_ configured: String?, variable: @escaping (String) -> String? = Environment.value) {
    self.configured = configured
    self.variable = variable
  }

  /// Returns the address of the proxy; `nil` for a direct connection.
  func proxy(for address: WebAddress) -> String? {
    guard !address.isLoopback else { return nil }
    // HTTP_PROXY does not count: in CGI it is a header of the request.
    let names =
      (address.scheme == .https ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"])
      + ["all_proxy", "ALL_PROXY"]
    guard let proxy = configured ?? names.lazy.compactMap(variable).first, !proxy.isEmpty,
      !isExcepted(address)
    else { return nil }
    return proxy
  }

  /// Whether `no_proxy` names the host: itself, a domain above it, or a block with its address. `*`
  /// names all. Other programs than curl read a star before a domain, and a port too.
  private func isExcepted(_ address: WebAddress) -> Bool {
    guard let list = variable("no_proxy") ?? variable("NO_PROXY") else { return false }
    if list == "*" { return true }
    let host = address.host
    let bytes = AddressBlock.address(host)
    return list.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.contains { entry in
      let (place, port) = Self.divided(entry)
      guard port == nil || port == address.usedPort else { return false }
      if let block = AddressBlock(place) {
        return block.prefix.count == bytes.count && block.contains(bytes)
      }
      let name = (place.hasPrefix("*.") ? place.dropFirst() : place).drop { $0 == "." }
      return bytes.isEmpty && !name.isEmpty && (host == name || host.hasSuffix("." + name))
    }
  }

  /// Returns an entry of `no_proxy` without its port. An address of IPv6 has a port only after
  /// brackets.
  private static func divided(_ entry: Substring) -> (place: Substring, port: UInt16?) {
    guard AddressBlock(entry) == nil, let colon = entry.lastIndex(of: ":"),
      let port = UInt16(entry[entry.index(after: colon)...])
    else { return (entry, nil) }
    return (entry[..<colon], port)
  }
}

extension WebAddress {
  /// The port of a connection to the address.
  fileprivate var usedPort: UInt16 { port ?? (scheme == .https ? 443 : 80) }
}
