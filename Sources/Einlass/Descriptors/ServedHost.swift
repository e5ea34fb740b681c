internal import EinlassJSON

/// A host name that takes a provider's tokens: an element of the descriptor's `hosts`.
///
///     {"host": "git.example.com", "username": "oauth2", "scheme": "basic"}
///     {"host": "api.example.com", "header": "X-Access-Token", "headers": {"Version": "2022-06-28"}}
///     {"host": "www.example.com", "prefix": "Example-token"}
///
/// Without a scheme the host takes bearer tokens. `header` is the field that has the token alone, in
/// the place of `Authorization`, and `prefix` the word before the token. `headers` are further fields
/// of each request, without a secret. None of these fields may be one of HTTP's own.
public struct ServedHost: Sendable, Equatable {
  /// The way to send a token in an `Authorization` header.
  public enum Scheme: String, Sendable, CaseIterable {
    /// The token as the password of a user name. RFC 7617.
    case basic
    /// RFC 6750 section 2.1.
    case bearer
  }

  /// The origin of the host: `https://git.example.com`, or a folder there. Mail protocols use only
  /// the name of a host without a folder.
  var address: WebAddress
  /// The user name to send with the token if a protocol needs one; `nil` for the account's own.
  public var username: String?
  public var scheme: Scheme
  /// The field with the token, and the word before it; `nil` for `Authorization` and `Bearer`.
  var header: String?
  var prefix: String?
  /// The further fields of a request.
  var headers: [Parameter] = []

  /// The host's name, with the port if it is not the default one, and with the folder.
  public var name: String { address.authority + address.path }

  /// Returns the moved host; `nil` if it stays.
  func relocated(_ move: (WebAddress) -> WebAddress) -> ServedHost? {
    var moved = self
    moved.address = move(address)
    return moved == self ? nil : moved
  }

  /// Returns the fields of a request with a token.
  func fields(for token: String) -> [Parameter] {
    let word = prefix ?? (header == nil ? "Bearer" : "")
    return [Parameter(header ?? "Authorization", word.isEmpty ? token : "\(word) \(token)")]
      + headers
  }

  /// Whether a request has other fields than `Authorization` with a bearer token.
  var hasOwnFields: Bool { header != nil || prefix != nil || !headers.isEmpty }
}

extension DescriptorReader {
  /// Returns the hosts of this member; none if it is missing.
  func hosts(_ name: String) throws(Fault) -> [ServedHost] {
    var hosts: [ServedHost] = []
    for element in has(name) ? try list(name) : [] {
      let reader = try DescriptorReader(
        element.value, at: element.pointer, provider: provider,
        members: ["host", "username", "scheme", "header", "prefix", "headers"])
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
    var served = ServedHost(address: address, username: username, scheme: scheme ?? .bearer)
    served.header = try optional("header", field)
    served.prefix = try optional("prefix") { name throws(Fault) in
      let text = try string(name)
      guard isParameterName(text) else {
        throw fault(name, "Expected one word, such as Example-token.")
      }
      return text
    }
    served.headers = try headers("headers", beside: served.header)
    guard served.scheme == .bearer || !served.hasOwnFields else {
      throw fault("scheme", "A host with header, prefix or headers takes no passwords.")
    }
    return served
  }

  private func headers(_ name: String, beside header: String?) throws(Fault) -> [Parameter] {
    guard has(name) else { return [] }
    let names = try value(name).object?.members.map(\.name) ?? []
    let reader = try object(name, members: names)
    var headers: [Parameter] = []
    for name in names {
      let value = try reader.string(name)
      guard HTTPRequest.Header.isFree(name), headers.count < 8,
        !([header].compactMap(\.self) + headers.map(\.name)).contains(where: {
          sameBytes($0.lowercased(), name.lowercased())
        })
      else { throw reader.fault(name, "Expected at most 8 different fields, none of HTTP's own.") }
      guard value.utf8.count <= 256,
        value.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x7B && $0 != 0x7D })
      else { throw reader.fault(name, "Expected at most 256 visible characters without braces.") }
      headers.append(Parameter(name, value))
    }
    return headers
  }

  private func field(_ name: String) throws(Fault) -> String {
    let text = try string(name)
    guard HTTPRequest.Header.isFree(text) else {
      throw fault(name, "Expected the name of a field that is none of HTTP's own.")
    }
    return text
  }
}

extension HTTPRequest.Header {
  private static let reservedNames: Set<String> = [
    "accept-encoding", "authorization", "connection", "content-encoding", "content-length",
    "content-type", "cookie", "cookie2", "date", "dpop", "expect", "forwarded", "host",
    "keep-alive", "origin", "range", "referer", "set-cookie", "te", "trailer",
    "transfer-encoding", "upgrade", "via", "early-data", "http2-settings", "max-forwards",
    "true-client-ip", "x-host", "x-http-method", "x-http-method-override", "x-method-override",
    "x-original-url", "x-real-ip", "x-rewrite-url",
  ]

  /// Whether a descriptor may name this field: one that neither routes or frames a request nor proves
  /// something else.
  fileprivate static func isFree(_ name: String) -> Bool {
    let lower = name.lowercased()
    return isParameterName(name) && !reservedNames.contains(lower)
      && !["proxy-", "sec-", "access-control-", "x-forwarded-"].contains(where: lower.hasPrefix)
  }
}

/// Whether a text can be the user name of HTTP Basic authentication: RFC 7617 allows no colon and no
/// control character.
public func isBasicUsername(_ text: String) -> Bool {
  (1...256).contains(text.utf8.count) && !text.utf8.contains(UInt8(ascii: ":"))
    && !text.unicodeScalars.contains(where: isControl)
}
