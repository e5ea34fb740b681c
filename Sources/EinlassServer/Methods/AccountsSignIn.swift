internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.signIn`: the person signs in at the provider. Protocol section 3.
func accountsSignIn(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.signIn", .interactive,
      "Signs a person in at a provider: adds an account, or makes one usable again.",
      params: [
        .provider,
        .optional("account", .identifier, "Who is to sign in; another person fails."),
        .optional("flowKind", Schema(FlowKind.self), "This kind of flow and no other."),
        .detached, .deadlineSeconds,
      ] + pageParams,
      result: .object([
        .required("flow", .identifier, "The flow's id."),
        .optional("account", .identifier, "The account's id; missing when detached."),
      ]),
      reasons: ["unknownAccount", "invalidChoice", "bindingMismatch"] + flowReasons + signInReasons),
    .task { params, call async throws(RPCError) in
      try await server.perform(params, call) { wish, asker async throws(Problem) in
        guard let request = wish.signIn else { throw Problem(.internal, "Nothing was asked for.") }
        let account = try await server.einlass.signIn(request, asking: asker)
        return ["account": .string(account.id.rawValue)]
      }
    })
}

/// What the provider's page is asked for.
let pageParams: [Field] = [
  .optional("scopes", .array(.identifier, max: 256), "Instead of the provider's usual ones."),
  .optional(
    "customParameters", .map(.string(maxBytes: 4096)), "For the provider's page, as they are.",
    isSecret: true),
  .optional("loginHint", .string(maxBytes: 1024), "Who is expected: an address or a name."),
  .optional("prompt", .string(maxBytes: 256), "login, consent, select_account, none."),
  .optional(
    "maxAgeSeconds", .integer(0...31_536_000), "How long ago the person may have signed in there."),
  .optional("acrValues", .string(maxBytes: 1024), "How the person is to be known, best first."),
  .optional("claims", .any, "What is wanted of the person: OpenID Connect Core 5.5."),
]

/// What a sign-in may fail with besides.
let signInReasons = [
  "userCanceled", "accessDenied", "stateMismatch", "verificationFailed", "reservedParameter",
  "accountExists",
]

extension SignInRequest {
  /// What a front end asks for with these parameters, as part of a wish.
  init(_ params: JSONObject, of frontEnd: Session.FrontEnd, for wish: PerformRequest) {
    self.init(
      application: wish.application, registration: wish.registration, provider: wish.provider)
    applicationTitle = frontEnd.title
    account = wish.account
    flowKind = wish.flowKind
    scopes = params["scopes"]?.strings
    customParameters = (params["customParameters"]?.object?.members ?? []).map {
      Parameter($0.name, $0.value.string ?? "")
    }
    loginHint = params["loginHint"]?.string
    prompt = params["prompt"]?.string
    maxAgeSeconds = params["maxAgeSeconds"]?.int64
    acrValues = params["acrValues"]?.string
    claims = params["claims"].map { String(decoding: $0.bytes(), as: UTF8.self) }
  }
}
