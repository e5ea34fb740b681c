internal import EinlassJSON

/// A host name that takes a provider's tokens: an element of the descriptor's `hosts`.
///
///     {"host": "git.example.com", "username": "oauth2", "scheme": "basic"}
///
/// Without a scheme the host takes bearer tokens.
public struct ServedHost: Sendable, Equatable {
  /// The way to send a token in an `Authorization` header.
  public enum Scheme: String, Sendable, CaseIterable {
    /// The token as the password of a user name. RFC 7617.
    case basic
    /// RFC 6750 section 2.1.
    case bearer
  }

  /// The origin of the host: `https://git.example.com`. Mail protocols use only its name.
  var address: WebAddress
  /// The user name to send with the token if a protocol needs one; `nil` for the account's own.
  public var username: String?
  public var scheme: Scheme

  /// The host's name, with the port if it is not the default one.
  public var name: String { address.authority }

  /// Returns the moved host; `nil` if it stays.
  func relocated(_ move: (WebAddress) -> WebAddress) -> ServedHost? {
    let moved = move(address)
    return moved == address ? nil : ServedHost(address: moved, username: username, scheme: scheme)
  }
}

extension DescriptorReader {
  /// Returns the hosts of this member; none if it is missing.
  func hosts(_ name: String) throws(Fault) -> [ServedHost] {
    var hosts: [ServedHost] = []
    for element in has(name) ? try list(name) : [] {
      let reader = try DescriptorReader(
        element.value, at: element.pointer, provider: provider,
        members: ["host", "username", "scheme"])
      hosts.append(try reader.servedHost())
    }
    return hosts
  }

  private func servedHost() throws(Fault) -> ServedHost {
    let host = try string("host")
    guard let address = try? WebAddress.parse("https://\(host)"), address.path.isEmpty,
      address.query == nil
    else { throw fault("host", "Expected a host name, such as api.example.com.") }
    let username = try optional("username", string)
    guard username.map(isBasicUsername) ?? true else {
      throw fault("username", "Expected at most 256 bytes without controls and colons.")
    }
    let scheme = try optional("scheme") { name throws(Fault) in
      try word(name, ServedHost.Scheme.self)
    }
    return ServedHost(address: address, username: username, scheme: scheme ?? .bearer)
  }
}

/// Whether a text can be the user name of HTTP Basic authentication: RFC 7617 allows no colon and no
/// control character.
public func isBasicUsername(_ text: String) -> Bool {
  (1...256).contains(text.utf8.count) && !text.utf8.contains(UInt8(ascii: ":"))
    && !text.unicodeScalars.contains(where: isControl)
}
