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
      !isExcepted(address.host)
    else { return nil }
    return proxy
  }

  /// Whether `no_proxy` names the host: itself, a domain above it, or a block with its address. `*`
  /// names all.
  private func isExcepted(_ host: String) -> Bool {
    guard let list = variable("no_proxy") ?? variable("NO_PROXY") else { return false }
    if list == "*" { return true }
    let address = AddressBlock.address(host)
    return list.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.contains { entry in
      if let block = AddressBlock(entry) {
        return block.prefix.count == address.count && block.contains(address)
      }
      let name = entry.drop { $0 == "." }
      return address.isEmpty && !name.isEmpty && (host == name || host.hasSuffix("." + name))
    }
  }
}
