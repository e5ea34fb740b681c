internal import EinlassJSON

/// A provider's redirect address. RFC 8252 section 7.
///
///     "redirect": {"host": "localhost", "ports": [8400, 8401], "path": "/callback"}
///     "redirect": {"address": "com.example.app:/callback"}
///
/// All words of the first form are optional. The defaults are 127.0.0.1, any free port, and a new
/// path for each sign-in. The second form is for addresses that only the front end can catch, or
/// that the person copies. The redirect of a registration takes precedence.
enum RedirectDescriptor: Sendable, Equatable {
  /// einlass listens there. `path` is `nil` if the provider accepts any.
  case loopback(host: RedirectPlace.Host, ports: [UInt16], path: String?)
  case address(String)

  /// The default: any port and path on 127.0.0.1.
  static let anywhere = RedirectDescriptor.loopback(host: .literal, ports: [], path: nil)

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard reader.has(name) else {
      self = .anywhere
      return
    }
    let reader = try reader.object(name, members: ["host", "ports", "path", "address"])
    if let address = try reader.optional("address", reader.string) {
      guard let redirect = RedirectDescriptor(address: address), !reader.has("ports"),
        !reader.has("path"), !reader.has("host")
      else {
        throw reader.fault("address", "Expected an address without a query, and no other member.")
      }
      self = redirect
      return
    }
    let host = try reader.optional("host") { name throws(DescriptorReader.Fault) in
      try reader.word(name, RedirectPlace.Host.self)
    }
    let path = try reader.optional("path", reader.string)
    guard path?.hasPrefix("/") ?? true else {
      throw reader.fault("path", "Expected a path, such as /callback.")
    }
    self = .loopback(host: host ?? .literal, ports: try reader.ports("ports"), path: path)
  }

  /// Reads a registered address. einlass listens at a loopback address, at any free port if it has
  /// none (RFC 8252 section 7.3). `nil` if the address is not one for a browser.
  init?(address text: String) {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), text.utf8.count <= 2048,
      let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex,
      !text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
    else { return nil }
    if let address = try? WebAddress.parse(text), address.scheme == .http,
      let host = RedirectPlace.Host(rawValue: address.host)
    {
      self = .loopback(host: host, ports: address.port.map { [$0] } ?? [], path: address.path)
    } else {
      self = .address(text)
    }
  }
}

extension DescriptorReader {
  fileprivate func ports(_ name: String) throws(Fault) -> [UInt16] {
    guard has(name) else { return [] }
    var ports: [UInt16] = []
    for element in try list(name) {
      guard let port = element.value.int64.flatMap({ UInt16(exactly: $0) }), port > 0 else {
        throw Fault(
          provider: provider, pointer: element.pointer, explanation: "Expected a port.")
      }
      ports.append(port)
    }
    return ports
  }
}
