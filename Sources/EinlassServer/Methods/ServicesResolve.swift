internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `services.resolve`: returns the provider and the account for an address.
func servicesResolve(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "services.resolve", .immediate,
      "Finds the account whose token an address or a provider takes. Changes nothing.",
      description: servicesResolveDescription,
      params: fields(Params.address, Params.provider, Params.account, Params.folder),
      rules: [.either("address", or: "provider")],
      result: .object([
        .required("provider", .identifier, "The provider's id."),
        .optional(
          "service", .string(maxBytes: nil),
          "The address of the service in the configuration that decided; missing for a host of the provider."
        ),
        .optional(
          "resource", .string(maxBytes: nil),
          "The protected resource to name in credentials.get, if the account has a credential for it."
        ),
        .username, .scheme,
        .optional(
          "headers", .map(.string(maxBytes: nil)),
          "The fields of a request, with {token} in the place of the token, if the host takes others than Authorization with a bearer token; for a provider, if all its hosts take the same."
        ),
        .optional(
          "scopes", .array(.string(maxBytes: nil), max: nil),
          "The scopes that the token must have, for credentials.get."
        ),
        .required(
          "rule", Schema(Explanation.Rule.self),
          "The rule that selects the account, as in accounts.explain."),
        .optional("account", .identifier, "The account's id; missing if the person decides."),
        .optional("error", .reference("Error"), "The error of a request without prompts."),
      ]),
      reasons: ["unsafeURL", "unknownProvider", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      let frontEnd = server.session.frontEnd
      var request = ServiceRequest(
        try place(params), account: params[Params.account], among: server.configuration.services)
      request.folder = params[Params.folder]
      // The folders of the configuration are the person's.
      request.folders = server.door == nil ? server.configuration.folders : []
      return try server.withStore(by: deadline) { patience throws(Problem) in
        let resolve = { () throws(Problem) -> ServiceResolution in
          try server.einlass.resolve(request, asking: frontEnd.prompts, patience: patience) {
            PerformRequest(
              application: frontEnd.application,
              registration: server.registration(for: frontEnd, at: $0), provider: $0)
          }
        }
        return JSONValue(try server.narrowed(patience, resolve))
      }
    })
}

private enum Params {
  static let address = TypedField.optional(
    "address", .string(maxBytes: 8192),
    "An https address, or a host alone, with its port if that is not the usual one: https://git.example.com/group/app.git, imap.example.com or 127.0.0.1:5000."
  )
  static let provider = TypedField.optional(
    "provider", .identifier, "Instead of an address: a provider's id.")
  static let account = TypedField.optional(
    "account", .identifier,
    "The user name or id of the account, or what only one account has: the user name in other letter case, or the e-mail address; without it the account of the service, of the folder, or the usual one of the application."
  )
  static let folder = TypedField.optional(
    "folder", .string(maxBytes: 4096),
    "The absolute path of the folder in which the program works, without symbolic links.")
}

extension Server {
  /// Returns the resolution. Behind a door it is an account of the door or an error: the same one for
  /// an address that no provider serves and for one of a provider without an account of the door.
  fileprivate func narrowed(
    _ patience: AccountStore.Patience, _ resolve: () throws(Problem) -> ServiceResolution
  ) throws(Problem) -> ServiceResolution {
    guard door != nil else { return try resolve() }
    let resolution: ServiceResolution
    do throws(Problem) { resolution = try resolve() } catch {
      throw error.reason == .accountStoreFailure ? error : .outsideDoor
    }
    let accounts = try store.read(patience) { reader throws(Problem) in
      try reader.accounts(of: resolution.provider, after: .min, limit: 1)
    }
    guard !accounts.isEmpty else { throw .outsideDoor }
    if let problem = resolution.explanation.problem { throw problem }
    return resolution
  }
}

/// Returns the address or the provider of the parameters.
private func place(_ params: JSONObject) throws(RPCError) -> ServiceRequest.Place {
  guard let address = params[Params.address] else {
    return .provider(params[Params.provider] ?? "")
  }
  do throws(ServiceAddress.Fault) { return .address(try ServiceAddress(address)) } catch {
    throw RPCError(
      Problem(
        .unsafeURL,
        "The address \(error.explanation).",
        path: "/address"))
  }
}

extension JSONValue {
  fileprivate init(_ resolution: ServiceResolution) {
    let explanation = resolution.explanation
    self = .object(
      JSONObject(present: [
        "provider": .string(resolution.provider),
        "service": (resolution.service?.address.text).map(JSONValue.string),
        "resource": resolution.resource.map(JSONValue.string),
        "username": resolution.username.map(JSONValue.string),
        "scheme": .string(resolution.scheme.rawValue),
        "headers": resolution.headers.isEmpty
          ? nil : .object(JSONObject(resolution.headers.map { ($0.name, .string($0.value)) })),
        "scopes": resolution.scopes.isEmpty ? nil : JSONValue(resolution.scopes),
        "rule": .string(explanation.rule.rawValue),
        "account": explanation.account.map { .string($0.id.rawValue) },
        "error": explanation.problem.map { RPCError($0).json },
      ]))
  }
}

private let servicesResolveDescription = """
  - Either `address` or `provider` is given.

  For an address the first of these decides:

  1. the service of the configuration with the longest path above the address;
  2. an account with a credential for a protected resource above the address;
  3. the provider with this host in its `hosts`, or with an endpoint of this origin.

  The account is that of the request, else of the service, else of the longest [folder](README.md#folders) above `folder` for the
  provider, else the usual one.

  Host and port match exactly, and a path by whole segments. A host alone may be asked for by a program of any protocol, so it
  is served only by a service that is a host alone, or by a host in `hosts`. Plain http is allowed only on this machine. An address
  with a query, a user name, an empty or dot segment, or an encoded slash, dot or control is `unsafeURL`. A path with a
  semicolon or a needless encoding (`..;x`, `%63orp`, `%25`) counts as the host's, and is `unsafeURL` with the `detail`
  `ambiguous` if a service or resource there has a path. An address without a provider, or with several, is `unsafeURL`
  with the `detail` `notServed`.
  """
