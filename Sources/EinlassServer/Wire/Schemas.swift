internal import Einlass
internal import EinlassRPC

extension Field {
  static let provider = required("provider", .identifier, "A provider's id, from providers.list.")
  static let account = required("account", .identifier, "An account's id, from accounts.list.")
  static let revision = required(
    "revision", .integer(0...Int64.max), "The store's revision; grows with every change.")
  static let resource = optional(
    "resource", .string(maxBytes: 2048),
    "The protected resource that the credential is for, by the name that accounts.signIn answers.")
  static let limit = optional("limit", .integer(1...1000), "At most so many entries.")
  static let cursor = optional(
    "cursor", .string(maxBytes: 1024), "Where to go on: nextCursor of the page before.")
  static let nextCursor = optional(
    "nextCursor", .string(maxBytes: 1024), "There are more; pass it as cursor.")
  static let permissions = optional(
    "permissions", .array(.identifier, max: 64), "What the application may do.")
  static let includes = optional(
    "includes", .array(Schema(AccessGrant.Inclusion.self), max: 8),
    "What the application gets besides; refreshToken: the one of includeRefreshToken.")
  static let audience = optional(
    "audience", Schema(AccessGrant.Audience.self), "Who sees what is posted.")
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
      + registrationParts)

  /// The optional parts of a registration.
  static let registrationParts: [Field] = [
    .optional(
      "clientSecret", .string(maxBytes: 4096), "Consumer secret, application secret.",
      isSecret: true),
    .optional(
      "privateKey", .string(maxBytes: 16384), "A private key as PEM text, to sign with.",
      isSecret: true),
    .optional(
      "authentication", .oneOf(ClientRegistration.authentications),
      "How it proves itself, where the provider knows it by one way alone."),
    .optional("keyId", .string(maxBytes: 1024), "What the provider calls that key."),
    .optional(
      "redirect", .string(maxBytes: 2048),
      "The redirect address, where one of its own is registered."),
  ]
}

/// The shared types of the document.
let components: Components = [
  "Provider":
    .object([
      .required("id", .identifier, "The id that parameters name."),
      .required("name", .string(maxBytes: nil), "The name for people."),
      .required("flowKinds", .array(Schema(FlowKind.self), max: nil), "In order of preference."),
      .required(
        "configured", .boolean, "Whether a registration is there, the caller's or a stored one."),
      .optional(
        "problem",
        .object([
          .required("code", .integer(), "As that of an error."),
          .required("reason", .identifier, "As that of an error."),
          .optional("detail", .identifier, "What is wrong with it."),
          .required("message", .string(maxBytes: nil), "For people."),
        ]), "Why that registration cannot be used, where that is known without asking anybody."),
      .optional(
        "added", .boolean, "True where providers.add brought it, which providers.remove undoes."),
      .required("oneAccount", .boolean, "Its only account is confirmed instead of selected."),
      .required("retired", .boolean, "No longer in service."),
      .required(
        "can",
        .object(
          ["reverseAuth", "refresh", "email", "revoke", "verify"].map { word in
            .required(word, .boolean, "Whether it can.")
          }), "What works there."),
      .required(
        "setup",
        .object([
          .required("documentation", .string(maxBytes: nil), "Where to register."),
          .required(
            "needs", .array(Schema(Provider.RegistrationPart.self), max: nil),
            "What a registration must hold."),
          .optional("redirect", .string(maxBytes: nil), "The redirect address to register."),
          .optional("notes", .string(maxBytes: nil), "What else it takes."),
        ]), "How to get a registration."),
    ]),
  "Account":
    .object([
      .account, .provider,
      .required("username", .string(maxBytes: 2048), "What the person is called there."),
      .optional("displayName", .string(maxBytes: 2048), "The name to show."),
      .optional("subject", .string(maxBytes: 2048), "The provider's stable id of the person."),
      .optional("email", .string(maxBytes: 2048), "Not verified."),
      .optional("avatar", .string(maxBytes: 8192), "The address of a picture."),
      .required("health", Schema(Account.Health.self), "What the provider last said."),
      .required("signedIn", .boolean, "Whether a credential is stored."),
      .required("preferred", .boolean, "Whether this application prefers it."),
      .optional(
        "resources", .array(.string(maxBytes: nil), max: nil),
        "The protected resources that it has credentials for."),
      .required("addedAt", .unixTime, "When it was added."),
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
              "Bearer; DPoP: bound to a key, credentials.sign makes its headers."),
            .required("scopes", .array(.string(maxBytes: nil), max: nil), "What was granted."),
            .optional("expiresAt", .unixTime, "When it ends; missing: not known."),
            .optional("idToken", .string(maxBytes: nil), "OpenID Connect.", isSecret: true),
            .optional(
              "idTokenOf", .oneOf(IDTokenOrigin.AccessToken.allCases.map(\.rawValue)),
              "The id_token came with the current access token, or with a former one."),
            .optional("idTokenExpiresAt", .unixTime, "When the id_token ends."),
            .optional(
              "refreshToken", .string(maxBytes: nil), "Only with includeRefreshToken.",
              isSecret: true),
          ]
        ),
      ]),
  "Identity":
    .object([
      .required("id", .string(maxBytes: nil), "The provider's id of the person."),
      .optional("name", .string(maxBytes: nil), "Full name."),
      .optional("username", .string(maxBytes: nil), "Handle."),
      .optional("email", .string(maxBytes: nil), "Not verified."),
      .optional("avatar", .string(maxBytes: nil), "The address of a picture."),
    ]),
  "Grant":
    .object([
      .required("application", .identifier, "The application it is about."), .provider,
      .required("state", Schema(AccessGrant.State.self), "What the person decided."),
      .required("permissions", .array(.identifier, max: nil), "What was granted."),
      .audience, .includes,
      .required("changedAt", .unixTime, "When it was decided."),
    ]),
  "AuditEntry":
    .object([
      .required("at", .unixTime, "When."),
      .required("application", .identifier, "Who, as it called itself."),
      .required("method", .identifier, "By which method."),
      .optional("provider", .identifier, "Whose accounts it is about."),
      .optional("account", .identifier, "The account."),
      .optional("clientId", .string(maxBytes: nil), "The registration it was issued to."),
      .optional("credential", .string(maxBytes: nil), "The type of what was handed out."),
      .optional(
        "tokenDigest", .string(maxBytes: nil),
        "A keyed digest: the same for the same token, while the store has the same key."),
      .includes,
      .optional("subject", .identifier, "The application that a decision is about."),
      .optional("state", Schema(AccessGrant.State.self), "The decision; missing: forgotten."),
      .optional("count", .integer(0...Int64.max), "How many entries or accounts it is about."),
      .required("process", .integer(), "The process of einlass that wrote it."),
      .required(
        "parent", .string(maxBytes: nil), "The program that had started it; empty: not known."),
    ]),
  "Prompt": .object(promptFields),
]

private let issued: [Field] = [
  .optional("id", .string(maxBytes: nil), "The provider's id of the person."),
  .optional("name", .string(maxBytes: nil), "Full name."),
  .optional("email", .string(maxBytes: nil), "Not verified."),
  .optional("avatar", .string(maxBytes: nil), "The address of a picture."),
]

/// The members of a prompt in `prompt.opened` and `prompt.list`.
let promptFields: [Field] = [
  .required("prompt", .identifier, "The prompt's id."),
  .required("flows", .array(.identifier, max: nil), "The flows that wait for it."),
  .optional("requests", .array(.any, max: nil), "The ids of the requests that wait for it."),
  .required("kind", Schema(Prompt.Kind.self), "What is asked."),
  .required("application", .identifier, "Who asks."),
  .optional("applicationTitle", .string(maxBytes: nil), "Who asks, for people."),
  .optional("provider", .identifier, "Whose accounts it is about; missing for a passphrase."),
  .optional("providerName", .string(maxBytes: nil), "The provider, for people."),
  .optional("resource", .string(maxBytes: nil), "The protected resource that a sign-in is for."),
  .required("expiresAt", .unixTime, "When the last waiter gives up."),
  .optional("accounts", .array(.reference("Account"), max: 100), "Which account, or the one."),
  .optional("more", .boolean, "Any other account of the provider is a valid answer too."),
  .permissions, .audience, .includes,
  .optional("url", .string(maxBytes: nil), "Where the person's browser goes."),
  .optional("host", .string(maxBytes: nil), "The host of the page, to be shown."),
  .optional("verificationUri", .string(maxBytes: nil), "Where the code is entered."),
  .optional("verificationUriComplete", .string(maxBytes: nil), "The same with the code in it."),
  .optional("userCode", .string(maxBytes: nil), "What is entered there."),
  .optional(
    "returningTo", .string(maxBytes: nil),
    "The front end catches this address, or has it copied, and answers with redirectURL."),
  .optional("expects", Schema(Prompt.Verifier.self), "What the person brings as text."),
  .optional("added", .array(.identifier, max: nil), "What goes beyond an existing grant."),
  .optional("purpose", Schema(Prompt.Passphrase.Purpose.self), "What the passphrase is for."),
  .optional("path", .string(maxBytes: nil), "The file that it is for."),
  .optional("new", .boolean, "It is to be chosen now: let it be typed twice."),
  .optional("again", .boolean, "What was entered before does not fit."),
]
