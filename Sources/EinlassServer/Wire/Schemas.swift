internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

extension Field {
  static let provider = TypedField<String>.provider.field
  static let account = TypedField<Account.ID>.account.field
  static let permissions = TypedField<[String]?>.permissions.field
  static let includes = TypedField<[AccessGrant.Inclusion]>.includes.field
  static let audience = TypedField<AccessGrant.Audience?>.audience.field
  static let revision = required(
    "revision", .count, "The store's revision; grows with every change.")
  static let username = optional(
    "username", .string(maxBytes: nil),
    "The user name to send with the token, if the service needs one; * if it takes any.")
  static let scheme = required(
    "scheme", Schema(ServedHost.Scheme.self),
    "The form of the token over HTTP: a bearer token, or the password of a user name.")
  static let nextCursor = optional(
    "nextCursor", .string(maxBytes: 1024), "The cursor of the next page; missing on the last one.")
}

extension Schema {
  /// One of the raw values of an enumeration.
  init<Words: RawRepresentable & CaseIterable>(_ words: Words.Type) where Words.RawValue == String {
    self = .oneOf(words.allCases.map(\.rawValue))
  }

  static let unixTime = Schema.integer(0...253_402_300_799)
  static let seconds = Schema.integer(0...86_400)

  /// A registration that the client passes itself.
  static let registration = Schema.object(
    [.required("clientId", .identifier, "Consumer key, application id.")]
      + registrationParts, isClosed: true)

  /// The optional parts of a registration.
  static let registrationParts: [Field] = [
    .optional(
      "clientSecret", .string(maxBytes: 4096), "Consumer secret, application secret.",
      isSecret: true),
    .optional(
      "privateKey", .string(maxBytes: 16384),
      "A private key as PEM text, to sign with or of the certificate.",
      isSecret: true),
    .optional(
      "authentication", .oneOf(ClientRegistration.authentications),
      "The client authentication, if the provider leaves several (RFC 7591, section 2)."),
    .optional(
      "keyId", .string(maxBytes: 1024), "The key id (kid) of the private key at the provider."),
    .optional(
      "redirect", .string(maxBytes: 2048),
      "The redirect address, if another one than the default is registered."),
    .optional(
      "certificate", .string(maxBytes: 16384),
      "The client's certificate as PEM text, for mutual TLS with privateKey (RFC 8705)."),
    .optional(
      "dpop", .boolean, default: false, "Whether tokens are to be bound to a key (RFC 9449)."
    ).refusingNull,
    .optional(
      "idTokenAlgorithm", .oneOf(ClientRegistration.idTokenAlgorithms),
      "The algorithm of id_tokens that the client registered for."
    ).refusingNull,
    .optional(
      "assertionAudience", .oneOf(ClientRegistration.assertionAudiences),
      "The audience of client assertions, if the server takes only this one."),
    .optional(
      "resourceParameter", .oneOf(["omit"]),
      "omit leaves out the parameter resource, for providers that refuse it (RFC 8707)."),
    .optional(
      "teamId", .string(maxBytes: 256),
      "The team in whose name the private key signs a client secret (client_secret_signed)."),
  ]
}

/// The shared types of the document. Its prompts and errors have more detail than a trace needs,
/// and a start does not make them.
var documentedComponents: [String: Schema] {
  components.merging(
    ["Prompt": .prompt, "NeededPrompt": .neededPrompt, "Error": .error], uniquingKeysWith: { $1 })
}

/// The members with names and addresses of people, which a trace replaces by placeholders. The text
/// of a provider's error belongs to them, because it may name a person.
private let personalMembers = [
  "username", "displayName", "screenName", "email", "subject", "avatar", "photo", "profile",
  "loginHint", "claims", "credential.id", "credential.name", "identity.id", "identity.name",
  "expect.id", "text", "show.title", "choices.label", "choices.detail",
]

/// Whether a trace replaces a member by a placeholder, because it has the name or address of a
/// person. An account may be named by either in place of its id.
let isPersonal: MemberTest = { parent, name, value in
  personalMembers.contains { sameBytes($0, name) || sameBytes($0, parent + "." + name) }
    || name == "account" && value.string?.hasPrefix("a_") == false
}

/// The shared types. A trace hides what they do not describe.
let components: [String: Schema] = [
  "User": .user,
  "Provider":
    .object([
      .required("id", .identifier, "The id."),
      .required("name", .string(maxBytes: nil), "The name for people."),
      .optional(
        "aliases", .array(.identifier, max: nil),
        "Other ids that parameters may name; results name the id."),
      .optional("homepage", .string(maxBytes: nil), "The page of the service for people."),
      .optional(
        "server", .string(maxBytes: nil),
        "The server that server.host of accounts.signIn may replace by another; in braces a part that has to be named."
      ),
      .required(
        "flowKinds", .array(Schema(FlowKind.self), max: nil),
        "The kinds of flow in order of preference."),
      .required(
        "configured", .boolean, "Whether there is a registration, the caller's or a stored one."),
      .optional(
        "registeredFlows", .array(Schema(FlowKind.self), max: nil),
        "The kinds of flow with a registration of their own."),
      .optional(
        "problem",
        .reference("Problem"),
        "The fault of the registration, or with the detail selfRegistration the provider's last refusal to register the application."
      ),
      .optional(
        "added", .boolean, "True for a provider of providers.add; providers.remove removes it."),
      .optional(
        "hosts",
        .array(
          .object([
            .required(
              "host", .string(maxBytes: nil),
              "The name, with the port and the folder if it has them."),
            .username, .scheme,
          ]), max: nil),
        "The hosts that take its tokens, besides the origins of its own requests."),
      .optional(
        "scopeNames", .map(.array(.identifier, max: nil), hasAnyNames: true),
        "Short names for lists of scopes, which scopes of requests may have; an empty list stands for the usual scopes."
      ),
      .optional(
        "scopeContents", .map(.array(.identifier, max: nil), hasAnyNames: true),
        "The scopes that a wider scope contains; a token with it lacks none of them."),
      .required(
        "oneAccount", .boolean, "Whether its only account is confirmed instead of selected."),
      .required(
        "retired", .boolean,
        "Whether it is no longer in service; such a provider is last in the list, and belongs in no menu."
      ),
      .required(
        "can",
        .object(
          ["reverseAuth", "refresh", "email", "revoke", "verify"].map { word in
            .required(word, .boolean, "Whether it works.")
          }), "The abilities of the provider."),
      .required(
        "setup",
        .object([
          .required(
            "documentation", .string(maxBytes: nil), "The page with instructions to register."),
          .required(
            "needs", .array(Schema(Provider.RegistrationPart.self), max: nil),
            "The required parts of a registration."),
          .optional(
            "verifyNeeds", .array(Schema(Provider.RegistrationPart.self), max: nil),
            "The parts with which verify checks a token by value; absent if no request does."),
          .optional("form", .string(maxBytes: nil), "The page with the form."),
          .optional(
            "steps", .array(.string(maxBytes: nil), max: nil), "What to do there, in this order."),
          .optional("redirect", .string(maxBytes: nil), "The redirect address to register."),
          .optional("costs", .string(maxBytes: nil), "The money that the provider wants."),
          .optional(
            "approval", .string(maxBytes: nil), "The application that the provider wants first."),
          .optional(
            "ends", .string(maxBytes: nil), "What ends by itself later, although it works at first."
          ),
          .optional("notes", .string(maxBytes: nil), "Further requirements."),
        ]), "The instructions for a registration."),
    ]),
  "Account":
    .object([
      .account, .provider,
      .required("username", .string(maxBytes: 2048), "The user name at the provider."),
      .optional("displayName", .string(maxBytes: 2048), "The name for people."),
      .optional("subject", .string(maxBytes: 2048), "The provider's stable id of the person."),
      .optional("email", .string(maxBytes: 2048), "The e-mail address, not verified."),
      .optional("avatar", .string(maxBytes: 8192), "The address of a picture, for avatars.get."),
      .required(
        "health", .oneOf(Account.Health.allCases.map(\.rawValue) + [Account.refreshRefused]),
        "The last answer of the provider; refreshRefused: it has refused a refresh without saying that the refresh token is dead, and a sign-in helps."
      ),
      .optional(
        "refreshFailsSince", .unixTime,
        "The time of the first failed refresh since the credential was stored, but not of one for a resource."
      ),
      .optional(
        "refreshExpiresAt", .unixTime,
        "The end of its refresh token without a resource, where the provider names one: then a sign-in is needed."
      ),
      .required("signedIn", .boolean, "Whether a credential is stored."),
      .required("preferred", .boolean, "Whether this application prefers it."),
      .optional(
        "scopes", .array(.string(maxBytes: nil), max: nil),
        "The scopes of its newest token without a resource, if the provider has named them or they were asked for; a change of them alone is no accounts.changed."
      ),
      .optional(
        "resources", .array(.string(maxBytes: nil), max: nil),
        "The names of the protected resources that it has credentials for."),
      .optional(
        "refusals",
        .array(
          .object([
            .optional(
              "address", .string(maxBytes: nil),
              "The origin of the service that refused the credential."),
            .optional("endsAt", .unixTime, "The end of the service's refusal."),
            .optional(
              "resource", .string(maxBytes: nil), "The protected resource of the credential."),
          ]), max: nil),
        "Only of accounts.list: the credentials that are not returned, for a service or, without an address, at all because they were refused and cannot be refreshed."
      ),
      .optional(
        "next", .nextSteps,
        "Only of accounts.list: the next steps, if the account needs a sign-in or does not work."),
      .required("addedAt", .unixTime, "The time of adding."),
    ]),
  "Credential":
    .tagged(
      by: "type",
      [
        (
          "oauth1",
          issued + [
            .optional("screenName", .string(maxBytes: nil), "The person's handle."),
            .required("key", .string(maxBytes: nil), "The token.", isSecret: true),
            .required("secret", .string(maxBytes: nil), "The token's secret.", isSecret: true),
          ]
        ),
        (
          "oauth2",
          issued + [
            .required("token", .string(maxBytes: nil), "The access token.", isSecret: true),
            .required(
              "tokenType", .string(maxBytes: nil),
              "Bearer, or DPoP: bound to a key, and credentials.sign makes its headers."),
            .required("scopes", .array(.string(maxBytes: nil), max: nil), "The granted scopes."),
            .optional("expiresAt", .unixTime, "The expiry time; missing if unknown."),
            .optional(
              "idToken", .string(maxBytes: nil),
              "The id_token of OpenID Connect, which may have ended while the access token is valid.",
              isSecret: true),
            .optional(
              "idTokenOf", .oneOf(IDTokenOrigin.AccessToken.allCases.map(\.rawValue)),
              "current: the id_token came with this access token; former: it came with an earlier one, because a refresh has brought no other."
            ),
            .optional("idTokenExpiresAt", .unixTime, "The expiry time of the id_token."),
            .optional(
              "refreshToken", .string(maxBytes: nil), "Only with includeRefreshToken.",
              isSecret: true),
          ]
        ),
        (
          "session",
          [
            .optional("id", .string(maxBytes: nil), "The account's id: ada@pbx.example.com:8443."),
            .required("username", .string(maxBytes: nil), "The user name at the server."),
            .optional(
              "sessionId", .string(maxBytes: nil),
              "The session's id; missing if cookies hold the session.", isSecret: true),
            .required(
              "values", .map(.string(maxBytes: nil), hasAnyNames: true),
              "Further members of the server's answer.",
              isSecret: true),
            .optional(
              "cookies", .string(maxBytes: nil),
              "The cookies of the session, in the format of a Netscape cookie file.", isSecret: true
            ),
          ]
        ),
      ]),
  "Identity":
    .object([
      .required("id", .string(maxBytes: nil), "The provider's id of the person."),
      .optional("name", .string(maxBytes: nil), "The full name."),
      .optional("username", .string(maxBytes: nil), "The user name at the provider."),
      .optional("email", .string(maxBytes: nil), "The e-mail address, not verified."),
      .optional("avatar", .string(maxBytes: nil), "The address of a picture."),
    ]),
  "Grant":
    .object([
      .required("application", .identifier, "The application of the decision."), .provider,
      .required("state", Schema(AccessGrant.State.self), "The decision of the person."),
      .optional(
        "accounts", .array(.identifier, max: AccessGrant.accountsLimit),
        "The only accounts that the decision is for; missing for all accounts of the provider."),
      .required("permissions", .array(.identifier, max: nil), "The granted permissions."),
      .audience, .includes,
      .optional(
        "applicationTitle", .string(maxBytes: nil),
        "The application, for people, as it was shown when they decided."),
      .required("changedAt", .unixTime, "The time of the decision."),
    ]),
  "AuditEntry":
    .object([
      .required("at", .unixTime, "The time."),
      .required("application", .identifier, "The application, as it called itself."),
      .required("method", .identifier, "The method of the request."),
      .optional("provider", .identifier, "The provider of the accounts."),
      .optional("account", .identifier, "The id of the account."),
      .optional(
        "clientId", .string(maxBytes: nil),
        "The client id of the registration that it was issued to."),
      .optional("credential", .string(maxBytes: nil), "The type of the credential."),
      .optional(
        "tokenDigest", .string(maxBytes: nil),
        "A keyed digest of the token: equal for equal tokens while the store has the same key."),
      .includes,
      .optional("subject", .identifier, "The application of a decision."),
      .optional("state", Schema(AccessGrant.State.self), "The decision; missing after a reset."),
      .optional("count", .count, "The number of entries or accounts."),
      .optional(
        "request", .string(maxBytes: nil), "The method, host and path of a signed request."),
      .optional("methods", .array(.identifier), "The methods of a door."),
      .optional("accounts", .array(.identifier, max: nil), "The ids of the accounts of a door."),
      .optional("until", .unixTime, "The end of a door."),
      .required("process", .integer(), "The process of einlass that wrote it."),
      .required(
        "parent", .string(maxBytes: nil), "The program that started it; empty if unknown."),
    ]),
  "Prompt": .object(promptFields),
  "PromptForm": PromptForm.schema,
  "SignInPage": SignInPage.schema, "OwnServer": OwnServer.schema,
  "Error": .any,
  "Problem": .problem, "NextStep": .nextStep,
]

private let issued: [Field] = [
  .optional("id", .string(maxBytes: nil), "The provider's id of the person."),
  .optional("name", .string(maxBytes: nil), "The full name."),
  .optional("email", .string(maxBytes: nil), "The e-mail address, not verified."),
  .optional("avatar", .string(maxBytes: nil), "The address of a picture."),
]
