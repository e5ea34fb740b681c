internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `services.resolve`: returns the provider and the account for an address.
func servicesResolve(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "services.resolve", .immediate,
      "Finds the account whose token an address or a provider takes. Changes nothing.",
      params: fields(Params.address, Params.provider, Params.account, Params.folder),
      rules: [.either("address", or: "provider")],
      result: .object([
        .required("provider", .identifier, "The provider's id."),
        .optional(
          "service", .string(maxBytes: nil),
          "The address of the configured service; missing for a host of the provider."),
        .optional(
          "resource", .string(maxBytes: nil),
          "The protected resource to name in credentials.get, if the account has a credential for it."
        ),
        .username, .scheme,
        .optional(
          "scopes", .array(.string(maxBytes: nil), max: nil), "The scopes that the token must have."
        ),
        .required("rule", Schema(Explanation.Rule.self), "The rule that selects the account."),
        .optional("account", .identifier, "The account's id; missing if the person decides."),
        .optional("error", .reference("Error"), "The expected error without a prompt."),
      ]),
      reasons: ["unsafeURL", "unknownProvider", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      let frontEnd = server.session.frontEnd
      var request = ServiceRequest(
        try place(params), account: params[Params.account], among: server.configuration.services)
      request.folder = params[Params.folder]
      request.folders = server.configuration.folders
      return try server.withStore(by: deadline) { patience throws(Problem) in
        let resolution = try server.einlass.resolve(
          request, asking: frontEnd.prompts, patience: patience
        ) { provider in
          PerformRequest(
            application: frontEnd.application,
            registration: server.registration(for: frontEnd, at: provider), provider: provider)
        }
        return JSONValue(resolution)
      }
    })
}

private enum Params {
  static let address = TypedField.optional(
    "address", .string(maxBytes: 8192),
    "An https address, or a host name with a port if it is not the usual one.")
  static let provider = TypedField.optional(
    "provider", .identifier, "Instead of an address: a provider's id.")
  static let account = TypedField.optional(
    "account", .identifier, "The account's user name or id; the service's account when missing.")
  static let folder = TypedField.optional(
    "folder", .string(maxBytes: 4096),
    "The absolute path of the folder in which the program works, without symbolic links.")
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
        "scopes": resolution.scopes.isEmpty ? nil : JSONValue(resolution.scopes),
        "rule": .string(explanation.rule.rawValue),
        "account": explanation.account.map { .string($0.id.rawValue) },
        "error": explanation.problem.map { RPCError($0).json },
      ]))
  }
}
