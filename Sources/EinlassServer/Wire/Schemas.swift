internal import Einlass
internal import EinlassRPC

extension Field {
  static let provider = TypedField<String>.provider.field
  static let account = TypedField<Account.ID>.account.field
  static let permissions = TypedField<[String]?>.permissions.field
  static let includes = TypedField<[AccessGrant.Inclusion]>.includes.field
  static let audience = TypedField<AccessGrant.Audience?>.audience.field
  static let revision = required(
    "revision", .integer(0...Int64.max), "The store's revision; grows with every change.")
  static let username = optional(
    "username", .string(maxBytes: nil),
    "The user name to send with the token, if a protocol needs one.")
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
      + registrationParts)

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
      "The client authentication method, if the provider accepts several."),
    .optional(
      "keyId", .string(maxBytes: 1024), "The key id (kid) of the private key at the provider."),
    .optional(
      "redirect", .string(maxBytes: 2048),
      "The redirect address, if another one than the default is registered."),
    .optional(
      "certificate", .string(maxBytes: 16384),
      "The client's certificate as PEM text, for mutual TLS with privateKey (RFC 8705)."),
    .optional("dpop", .boolean, "Whether tokens are to be bound to a key (RFC 9449)."),
    .optional(
      "idTokenAlgorithm", .oneOf(ClientRegistration.idTokenAlgorithms),
      "The algorithm of id_tokens that the client registered for."),
    .optional(
      "resourceParameter", .oneOf(["omit"]),
      "Leaves out the parameter resource, for providers that refuse it (RFC 8707)."),
  ]
}

/// The shared types of the document.
let components: Components = [
  "User": .user,
  "Provider":
    .object([
      .required("id", .identifier, "The id that parameters name."),
      .required("name", .string(maxBytes: nil), "The name for people."),
      .optional(
        "aliases", .array(.identifier, max: nil),
        "Other ids that parameters may name."),
      .optional("homepage", .string(maxBytes: nil), "The page of the service for people."),
      .required("flowKinds", .array(Schema(FlowKind.self), max: nil), "In order of preference."),
      .required(
        "configured", .boolean, "Whether there is a registration, the caller's or a stored one."),
      .optional(
        "problem",
        .object([
          .required("code", .integer(), "The code of the error."),
          .required("reason", .identifier, "The reason of the error."),
          .optional("detail", .identifier, "The detail of the error."),
          .required("message", .string(maxBytes: nil), "For people."),
        ]), "The problem with that registration, if it is known without a request."),
      .optional(
        "added", .boolean, "True for a provider of providers.add; providers.remove removes it."),
      .optional(
        "hosts",
        .array(
          .object([
            .required("host", .string(maxBytes: nil), "The name, and the port if it has one."),
            .username, .scheme,
          ]), max: nil),
        "The hosts that take its tokens, besides the origins of its own requests."),
      .optional(
        "scopeNames", .map(.array(.identifier, max: nil)),
        "Short names for lists of scopes; scopes of requests may be such names."),
      .required(
        "oneAccount", .boolean, "Whether its only account is confirmed instead of selected."),
      .required("retired", .boolean, "No longer in service."),
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
          .optional("redirect", .string(maxBytes: nil), "The redirect address to register."),
          .optional("notes", .string(maxBytes: nil), "Further requirements."),
        ]), "The instructions for a registration."),
    ]),
  "Account":
    .object([
      .account, .provider,
      .required("username", .string(maxBytes: 2048), "The user name at the provider."),
      .optional("displayName", .string(maxBytes: 2048), "The name to show."),
      .optional("subject", .string(maxBytes: 2048), "The provider's stable id of the person."),
      .optional("email", .string(maxBytes: 2048), "Not verified."),
      .optional("avatar", .string(maxBytes: 8192), "The address of a picture."),
      .required("health", Schema(Account.Health.self), "The state last reported by the provider."),
      .required("signedIn", .boolean, "Whether a credential is stored."),
      .required("preferred", .boolean, "Whether this application prefers it."),
      .optional(
        "resources", .array(.string(maxBytes: nil), max: nil),
        "The protected resources that it has credentials for."),
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
            .optional("idToken", .string(maxBytes: nil), "OpenID Connect.", isSecret: true),
            .optional(
              "idTokenOf", .oneOf(IDTokenOrigin.AccessToken.allCases.map(\.rawValue)),
              "The id_token came with the current access token, or with a former one."),
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
              "values", .map(.string(maxBytes: nil)), "Further members of the server's answer.",
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
      .optional("name", .string(maxBytes: nil), "Full name."),
      .optional("username", .string(maxBytes: nil), "Handle."),
      .optional("email", .string(maxBytes: nil), "Not verified."),
      .optional("avatar", .string(maxBytes: nil), "The address of a picture."),
    ]),
  "Grant":
    .object([
      .required("application", .identifier, "The application of the decision."), .provider,
      .required("state", Schema(AccessGrant.State.self), "The decision."),
      .required("permissions", .array(.identifier, max: nil), "The granted permissions."),
      .audience, .includes,
      .required("changedAt", .unixTime, "The time of the decision."),
    ]),
  "AuditEntry":
    .object([
      .required("at", .unixTime, "When."),
      .required("application", .identifier, "The application, by its own name."),
      .required("method", .identifier, "The method of the request."),
      .optional("provider", .identifier, "The provider of the accounts."),
      .optional("account", .identifier, "The account."),
      .optional(
        "clientId", .string(maxBytes: nil),
        "The client id of the registration that it was issued to."),
      .optional("credential", .string(maxBytes: nil), "The type of the credential."),
      .optional(
        "tokenDigest", .string(maxBytes: nil),
        "A keyed digest: equal for equal tokens while the store has the same key."),
      .includes,
      .optional("subject", .identifier, "The application of a decision."),
      .optional("state", Schema(AccessGrant.State.self), "The decision; missing after a reset."),
      .optional("count", .integer(0...Int64.max), "The number of entries or accounts."),
      .required("process", .integer(), "The process of einlass that wrote it."),
      .required(
        "parent", .string(maxBytes: nil), "The program that started it; empty if unknown."),
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
  .required("kind", Schema(Prompt.Kind.self), "The kind of prompt."),
  .required("application", .identifier, "The requesting application."),
  .optional("applicationTitle", .string(maxBytes: nil), "The requesting application, for people."),
  .optional(
    "provider", .identifier,
    "The provider of the accounts; missing for a passphrase that no flow needs."),
  .optional("providerName", .string(maxBytes: nil), "The provider, for people."),
  .optional("resource", .string(maxBytes: nil), "The protected resource that a sign-in is for."),
  .required("expiresAt", .unixTime, "The time at which the last waiting request gives up."),
  .optional("accounts", .array(.reference("Account"), max: 100), "The offered accounts."),
  .optional("more", .boolean, "Any other account of the provider is a valid answer too."),
  .permissions, .audience, .includes,
  .optional("url", .string(maxBytes: nil), "The page for the person's browser."),
  .optional("host", .string(maxBytes: nil), "The host of the page, to be shown."),
  .optional("verificationUri", .string(maxBytes: nil), "The page for the code."),
  .optional("verificationUriComplete", .string(maxBytes: nil), "The same with the code in it."),
  .optional("userCode", .string(maxBytes: nil), "The code to enter there."),
  .optional(
    "returningTo", .string(maxBytes: nil),
    "The redirect address: the front end intercepts it, or asks the person to paste it, and answers with redirectURL."
  ),
  .optional("expects", Schema(Prompt.Verifier.self), "The kind of text to enter."),
  .optional("added", .array(.identifier, max: nil), "The permissions beyond an existing grant."),
  .optional("server", .string(maxBytes: nil), "The origin that gets the password."),
  .optional("secure", .boolean, "false: others on the way can read the password."),
  .optional("port", .integer(1...65535), "The port of the server."),
  .optional(
    "publicKey", .string(maxBytes: nil), "The public key of the certificate: sha256// and base64."),
  .optional(
    "fault", Schema(ServerCertificate.Fault.self),
    "The reason why the certificate is not trusted; missing for a trusted one."),
  .optional("certificateEndsAt", .unixTime, "The end of the certificate's validity."),
  .optional(
    "formerPublicKey", .string(maxBytes: nil), "The accepted public key that has changed."),
  .optional(
    "username", .string(maxBytes: nil), "The user name to use; the person enters it when missing."),
  .optional("purpose", Schema(Prompt.Passphrase.Purpose.self), "The purpose of the passphrase."),
  .optional("path", .string(maxBytes: nil), "The file of the passphrase."),
  .optional("new", .boolean, "A new passphrase: have it entered twice."),
  .optional("again", .boolean, "The previous entry was wrong."),
  .optional(
    "mayRemember", .boolean, "The password may be kept for new sessions without the person."),
]
