internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.signOut`: removes the credentials of an account and keeps the account.
func accountsSignOut(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.signOut", .network,
      "Removes the account's credentials from the store and revokes them at the provider; the account stays.",
      description: accountsSignOutDescription,
      params: fields(.account, .revoke, .requireRevocation),
      result: revocationSchema, reasons: leavingReasons),
    .task { params, _ async throws(RPCError) in
      let frontEnd = server.session.frontEnd
      do throws(Problem) {
        return JSONValue(
          try await server.budgetedEinlass.signOut(
            params[.account], revokes: params[.revoke],
            requiringRevocation: params[.requireRevocation],
            registration: { server.registration(for: frontEnd, at: $0) }))
      } catch { throw RPCError(error) }
    })
}

extension TypedField where Value == Bool {
  static let revoke = optional(
    "revoke", .boolean, default: true,
    "Whether the credentials are revoked at the provider.")

  /// Whether the sign-out is refused if this process cannot ask the provider to revoke a
  /// credential.
  static let requireRevocation = optional(
    "requireRevocation", .boolean, default: false,
    "true: nothing is forgotten if a credential cannot be revoked from here, because the registration is missing (1006), the provider has other addresses (1027) or the credential does not decrypt (1009)."
  ).refusingNull
}

/// The reasons of errors of a sign-out or removal.
let leavingReasons = [
  "unknownAccount", "authenticatorUnconfigured", "bindingMismatch", "accountStoreFailure",
  "cancelled",
]

/// The report on revoked credentials and those that stay valid.
let revocationSchema = Schema.object([
  .required(
    "revoked", .array(.string(maxBytes: nil), max: nil),
    "The revoked credentials: system, or application and a client id; then refreshToken or accessToken if each is revoked by itself."
  ),
  .required(
    "notRevoked",
    .array(
      .object([
        .required("what", .string(maxBytes: nil), "A credential."),
        .required(
          "reason", .string(maxBytes: nil), "The reason why it stays valid at the provider."),
        .optional("next", .nextSteps, "The next step, if there is one."),
      ]), max: nil), "The credentials that stay valid at the provider."),
  .optional(
    "endSessionURL", .string(maxBytes: nil),
    "The page that signs the browser out at the provider, if the front end opens it."),
  .revision,
])

extension JSONValue {
  /// Makes the report on the wire.
  init(_ revocation: Revocation) {
    self = .object(
      JSONObject(present: [
        "revoked": JSONValue(revocation.revoked),
        "notRevoked": .array(
          revocation.notRevoked.map { entry in
            .object(
              JSONObject(present: [
                "what": .string(entry.what), "reason": .string(entry.reason),
                "next": entry.nextSteps.map { .array($0.map(\.json)) },
              ]))
          }),
        "endSessionURL": revocation.endSession.map { .string($0.text) },
        "revision": JSONValue(revocation.revision),
      ]))
  }
}

private let accountsSignOutDescription = """
  - An entry of `revoked`, and the `what` of `notRevoked`, is `system`, or `application` and a client id. `refreshToken`
    or `accessToken` follows if each is revoked by a request of its own.
  - If the front end opens `endSessionURL` in the person's browser, the session at the provider ends too.
  - With `requireRevocation`, nothing is forgotten if the provider cannot be asked from here: its registration is not
    known (1006), the provider lives elsewhere (1027), or its credential does not open (1009).
  """
