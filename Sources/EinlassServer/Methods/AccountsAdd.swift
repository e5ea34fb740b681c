internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.add`: stores an account with a credential obtained elsewhere.
func accountsAdd(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.add", .immediate,
      "Stores an account with a credential that the front end brings; every secret is sealed.",
      description: accountsAddDescription,
      params: fields(
        .provider, Params.username, Params.displayName, Params.subject, Params.credential,
        Params.replace),
      result: .object([
        .account, .required("created", .boolean, "false: an account was replaced."), .revision,
      ]),
      reasons: ["unknownProvider", "accountExists", "accountStoreFailure", "bindingMismatch"]),
    .immediate { params, _, deadline throws(RPCError) in
      guard let credential = Credential(params[Params.credential]),
        let registration = ClientRegistration(params[Params.credential])
      else { throw RPCError(.internal) }
      let request = AddAccountRequest(
        provider: params[.provider], username: params[Params.username],
        displayName: params[Params.displayName], subject: params[Params.subject],
        credential: credential, registration: registration,
        replacesExisting: params[Params.replace])
      server.prompts.personActed()
      return try server.withStore(by: deadline) { patience throws(Problem) in
        let added = try server.einlass.addAccount(request, patience: patience)
        return [
          "account": .string(added.account.id.rawValue), "created": .bool(added.created),
          "revision": JSONValue(added.revision),
        ]
      }
    })
}

private enum Params {
  static let username = TypedField.required(
    "username", .identifier, "The user name at the provider.")
  static let displayName = TypedField.optional(
    "displayName", .name, "The name for people.")
  static let subject = TypedField.optional(
    "subject", .identifier, "The provider's stable id of the person.")
  static let credential = TypedField.required(
    "credential", .json(addedCredential), "The account's own credential.", isSecret: true)
  static let replace = TypedField.optional(
    "replace", .boolean, default: false,
    "Overwrite the existing account and its credential of this client id.")
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

private let accountsAddDescription = """
  - An account that is there is `accountExists`, unless `replace: true`. An account that is signed out is added again
    without `replace`.
  - `replace` overwrites the names of the account and the credential of the same `clientId`. The credentials of other
    client ids stay, unless they belong to another person, at a provider with room for one account.
  - An OAuth 1.0a token for reverse auth takes the place of the former one under any `clientId`.
  """
