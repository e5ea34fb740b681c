internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.add`: stores an account with a credential obtained elsewhere.
func accountsAdd(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.add", .immediate,
      "Stores an account with its credential; every secret is sealed.",
      params: [
        .provider,
        .required("username", .string(maxBytes: 256), "What the person is called there."),
        .optional("displayName", .string(maxBytes: 256), "The name to show."),
        .optional("subject", .identifier, "The provider's stable id of the person."),
        .required("credential", addedCredential, "The account's own credential.", isSecret: true),
        .optional(
          "replace", .boolean,
          "Overwrite the account that is already there, and its credential of this client id."),
      ],
      result: .object([
        .account, .required("created", .boolean, "False when it replaced one."), .revision,
      ]),
      reasons: ["unknownProvider", "accountExists", "accountStoreFailure", "bindingMismatch"]),
    .immediate { params, _, deadline throws(RPCError) in
      guard let credential = Credential(params["credential"]),
        let registration = ClientRegistration(params["credential"]),
        let provider = params["provider"]?.string, let username = params["username"]?.string
      else { throw RPCError(.internal) }
      let request = AddAccountRequest(
        provider: provider, username: username, displayName: params["displayName"]?.string,
        subject: params["subject"]?.string, credential: credential, registration: registration,
        replacesExisting: params["replace"]?.bool ?? false)
      server.prompts.personActed()
      return try server.read(by: deadline) { patience throws(Problem) in
        let added = try server.einlass.addAccount(request, patience: patience)
        return [
          "account": .string(added.account.id.rawValue), "created": .bool(added.created),
          "revision": JSONValue(added.revision),
        ]
      }
    })
}

private let addedCredential = Schema.tagged(
  by: "type",
  [
    (
      "oauth1",
      [
        .required("key", .string(maxBytes: 8192), "The account's token.", isSecret: true),
        .required("secret", .string(maxBytes: 8192), "The token's secret.", isSecret: true),
        .required(
          "clientId", .identifier, "The consumer under which the token was issued."),
        .required(
          "clientSecret", .string(maxBytes: 4096), "That consumer's secret.", isSecret: true),
      ]
    ),
    (
      "oauth2",
      [
        .required("token", .string(maxBytes: 49152), "The access token.", isSecret: true),
        .optional("refreshToken", .string(maxBytes: 49152), "Its refresh token.", isSecret: true),
        .optional("expiresAt", .unixTime, "When it ends."),
        .optional("scopes", .array(.identifier, max: 256), "What it is good for."),
        .required("clientId", .identifier, "The registration it was issued to."),
      ]
    ),
  ])
