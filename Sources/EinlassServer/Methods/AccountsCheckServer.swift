internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.checkServer`: connects to the server of an account, and returns its certificate.
func accountsCheckServer(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.checkServer", .network,
      "Connects to the person's own server of an account, and returns its certificate.",
      description: accountsCheckServerDescription,
      params: fields(.account),
      result: .object([
        .required("server", .string(maxBytes: nil), "The origin of the server."),
        .optional(
          "publicKey", .string(maxBytes: nil),
          "The public key of the certificate, sha256// and base64; missing for plain http."),
        .optional(
          "fault", Schema(ServerCertificate.Fault.self),
          "The reason why the certificate is not trusted; missing for a trusted one."),
        .optional("certificateEndsAt", .unixTime, "The end of the certificate's validity."),
        .optional("expired", .boolean, "Whether the validity has ended."),
        .optional(
          "accepted", .boolean,
          "Whether a request would be sent: the certificate is trusted, or its key was accepted for the account."
        ),
      ]),
      reasons: [
        "unknownAccount", "unknownProvider", "networkFailure", "bindingMismatch",
        "accountStoreFailure", "cancelled",
      ]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        let check = try await server.budgetedEinlass.checkServer(of: params[.account])
        return .object(
          JSONObject(present: [
            "server": .string(check.server),
            "publicKey": check.certificate.map { .string($0.publicKey) },
            "fault": check.certificate?.fault.map { .string($0.rawValue) },
            "certificateEndsAt": check.certificate.map { JSONValue($0.endsAt) },
            "expired": check.certificate.map { .bool($0.endsAt < server.effects.now()) },
            "accepted": check.certificate == nil ? nil : .bool(check.isAccepted),
          ]))
      } catch { throw RPCError(error) }
    })
}

private let accountsCheckServerDescription = """
  - No request is sent to the server, and nothing is changed.
  - An account that has no server of its own, or is signed out, is `-32602`.
  """
