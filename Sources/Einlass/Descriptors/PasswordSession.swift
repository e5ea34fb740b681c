internal import EinlassJSON

/// A login with a user name and a password at a server of the person's own, which answers with a
/// session.
///
///     {"kind": "passwordSession", "port": 8443, "plainPort": 8080,
///      "login": {"method": "POST", "url": "https://server.invalid", "path": "/login",
///                "json": {"username": "{username}", "password": "{password}"}},
///      "antiForgery": {"request": {"method": "GET", "url": "https://server.invalid/login"},
///                      "token": "/csrf_token"},
///      "session": {"id": "/sessionid", "values": {"domain": "/voiceDomain"}},
///      "cookies": "always",
///      "check": {"method": "GET", "url": "https://server.invalid/me"}, "checkSeconds": 300}
///
/// The host `server.invalid` in every address stands for the server of the account. `antiForgery`:
/// the request for the token in the place `{csrf}` of `login`, `check` and the provider's `revoke`.
/// `session.id`: the place of the session's id in the answer to `login`; without it, cookies hold
/// the session. `session.values`: further members for the application. `cookies`: `always`,
/// `asked` if the sign-in decides, `never` by default. `check`: succeeds while the session lives;
/// its place `{token}` is the session's id. `checkSeconds`: the age from which a session is checked
/// before it is handed out, since its start or its last check; 300 by default. A rule of the provider's `errors` with the step `login`
/// and the outcome `wrongCredentials` names the answer to a wrong user name or password.
struct PasswordSession: Sendable, Equatable {
  /// The host of every address of such a provider, in place of the account's server.
  static let placeholderHost = "server.invalid"

  enum Cookies: String, CaseIterable { case always, asked, never }

  /// The request for a token against forged requests.
  struct AntiForgery: Sendable, Equatable {
    var request: RequestTemplate
    /// A JSON pointer.
    var token: String
  }

  /// A further member of the session.
  struct Value: Sendable, Equatable {
    var name: String
    /// A JSON pointer.
    var pointer: String
  }

  /// The ports of a server that is named without one, for https and for plain http.
  var port: UInt16
  var plainPort: UInt16
  @Indirect var login: RequestTemplate
  @Indirect var antiForgery: AntiForgery?
  /// A JSON pointer; `nil` if cookies hold the session.
  var id: String?
  var values: [Value]
  var cookies: Cookies
  @Indirect var check: RequestTemplate?
  var checkSeconds: Int64

  /// All requests. Each carries a secret.
  var requests: [RequestTemplate] { [login, antiForgery?.request, check].compactMap(\.self) }

  init(
    _ value: JSONValue, at pointer: String, provider: String
  ) throws(DescriptorReader.Fault) {
    let reader = try DescriptorReader(
      value, at: pointer, provider: provider,
      members: [
        "kind", "port", "plainPort", "login", "antiForgery", "session", "cookies", "check",
        "checkSeconds",
      ])
    port = try reader.port("port") ?? 443
    plainPort = try reader.port("plainPort") ?? 80
    login = try RequestTemplate("login", in: reader, allowing: [.username, .password, .csrf])
    antiForgery = try reader.optional("antiForgery") { name throws(DescriptorReader.Fault) in
      let part = try reader.object(name, members: ["request", "token"])
      return AntiForgery(
        request: try RequestTemplate("request", in: part, allowing: []),
        token: try part.pointer("token"))
    }
    let session = try reader.object("session", members: ["id", "values"])
    id = try session.optional("id", session.pointer)
    values = []
    if session.has("values") {
      let names = try session.value("values").object?.members.map(\.name) ?? []
      let members = try session.object("values", members: names)
      for name in names { values.append(Value(name: name, pointer: try members.pointer(name))) }
    }
    cookies =
      try reader.optional("cookies") { name throws(DescriptorReader.Fault) in
        try reader.word(name, Cookies.self)
      } ?? .never
    guard id != nil || cookies == .always else {
      throw reader.fault("session", "A session without an id needs cookies: always.")
    }
    check = try reader.optional("check") { name throws(DescriptorReader.Fault) in
      try RequestTemplate(name, in: reader, allowing: [.token, .csrf])
    }
    checkSeconds = try reader.seconds("checkSeconds", default: 300)
    guard check != nil || !reader.has("checkSeconds") else {
      throw reader.fault("checkSeconds", "checkSeconds needs check.")
    }
  }

  func relocated(_ move: (WebAddress) -> WebAddress) -> PasswordSession {
    var flow = self
    flow.login = login.relocated(move)
    if let antiForgery { flow.antiForgery?.request = antiForgery.request.relocated(move) }
    flow.check = check?.relocated(move)
    return flow
  }
}

extension DescriptorReader {
  /// Returns a port; `nil` without this word.
  fileprivate func port(_ name: String) throws(Fault) -> UInt16? {
    try optional(name) { name throws(Fault) in
      guard let port = try value(name).int64.flatMap({ UInt16(exactly: $0) }), port > 0 else {
        throw fault(name, "Expected a port from 1 to 65535.")
      }
      return port
    }
  }
}
