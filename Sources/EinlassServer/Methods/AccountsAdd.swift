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
        .required("username", .string(maxBytes: 256), "The user name at the provider."),
        .optional("displayName", .string(maxBytes: 256), "The name to show."),
        .optional("subject", .identifier, "The provider's stable id of the person."),
        .required("credential", addedCredential, "The account's own credential.", isSecret: true),
        .optional(
          "replace", .boolean,
          "Overwrite the existing account and its credential of this client id."),
      ],
      result: .object([
        .account, .required("created", .boolean, "False when an account was replaced."), .revision,
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
        .optional("expiresAt", .unixTime, "The expiry time."),
        .optional("scopes", .array(.identifier, max: 256), "The scopes of the token."),
        .required(
          "clientId", .identifier, "The client id of the registration that it was issued to."),
      ]
    ),
  ])
