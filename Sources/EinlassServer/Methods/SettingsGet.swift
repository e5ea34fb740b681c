internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `settings.get`: returns the application's last settings for a server of the person's own.
func settingsGet(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "settings.get", .immediate,
      "The settings of the application's last passwordSession at a provider, for the fields of the next one; never a password, session or cookie.",
      description: settingsGetDescription,
      params: fields(.provider),
      result: .object([
        .required("provider", .identifier, "The provider's id."),
        .optional(
          "server", lastSettings,
          "The last settings, as a sign-in takes them; missing before the first sign-in."),
      ]),
      reasons: ["unknownProvider", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      let provider = params[.provider]
      return try server.withStore(by: deadline) { patience throws(Problem) in
        let settings = try server.einlass.serverSettings(
          of: server.session.application, at: provider, patience: patience)
        return .object(
          JSONObject(present: [
            "provider": .string(provider), "server": settings.map { JSONValue($0) },
          ]))
      }
    })
}

/// The members of `server`. They are open, other than those of the parameter, because a result may
/// get further ones.
private let lastSettings = Schema.object([
  .required("host", .string(maxBytes: nil), "The host name or the address."),
  .optional("port", .integer(1...65535), "The port that the sign-in gave."),
  .optional("secure", .boolean, "The secure that the sign-in gave: whether to use https."),
  .required("useCookies", .boolean, "Whether to keep the cookies of the session."),
  .required(
    "acceptUntrustedCertificates", .boolean,
    "Whether the person is asked about a certificate that is not trusted."),
  .optional("username", .identifier, "The user name."),
])

extension JSONValue {
  fileprivate init(_ settings: ServerSettings) {
    self = .object(
      JSONObject(present: [
        "host": .string(settings.server), "port": settings.port.map { JSONValue(Int64($0)) },
        "secure": settings.isSecure.map(JSONValue.bool),
        "useCookies": .bool(settings.usesCookies),
        "acceptUntrustedCertificates": .bool(settings.acceptsUntrustedCertificates),
        "username": settings.username.map(JSONValue.string),
      ]))
  }
}

private let settingsGetDescription = """
  - `host` is the host or the address as the sign-in named it, otherwise the origin of the account's server. `port` and
    `secure` are missing if the sign-in gave none. `trustedPublicKey` and `caFile` belong to the account, and are never here.
  - A sign-in saves them before it sends the password, even if the login fails. The next one replaces them. Settings that
    were edited without the key of the store do not count.
  - An `accounts.signIn` without `server.host` and without `account` takes the server from here, and `username`,
    `useCookies` and `acceptUntrustedCertificates` unless it gives them. With one of the two it takes nothing from here.
  """
