internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

// The methods that take a person's proof: a sign-in at a provider, an account, a credential from
// outside, a pending credential, or a password.

/// `users.signIn`: signs in the user of a proof, and makes one if there is none.
func usersSignIn(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.signIn", .interactive,
      "Signs a user in by a provider, an account, a credential or a pending credential. Makes the user if there is none.",
      params: ProofParams.all + fields(ProofParams.includeCredential),
      result: .object(
        .signedInUser + [
          .optional("flow", .identifier, "After a sign-in at a provider: the flow's id."),
          .optional(
            "credential", .reference("Credential"),
            "With includeCredential: the application's credential of the account."),
        ]),
      reasons: proofReasons + [
        "accountExistsWithDifferentCredential", "notIssuedToThisClient",
      ]),
    .task { params, call async throws(RPCError) in
      let includes = params[ProofParams.includeCredential]
      try params.requireAbsent(
        includes ? [ProofParams.credential, ProofParams.pending] : [], with: "includeCredential")
      return try await server.prove(params, call, by: "users.signIn", includesCredential: includes)
      {
        proof async throws(Problem) in try await server.users.signIn(proof)
      }
    })
}

/// `users.link`: adds a way to sign in to a user.
func usersLink(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.link", .interactive,
      "Links a provider's identity, or a password, to the current user.",
      params: ProofParams.all + fields(ProofParams.email, ProofParams.password, .user),
      result: .object(
        .signedInUser + [
          .optional("flow", .identifier, "After a sign-in at a provider: the flow's id.")
        ]),
      reasons: proofReasons + [
        "nullUser", "userNotFound", "providerAlreadyLinked", "credentialAlreadyInUse",
        "emailAlreadyInUse", "invalidEmail", "missingEmail", "weakPassword", "requiresRecentLogin",
      ]),
    .task { params, call async throws(RPCError) in
      let user = params[.user]
      if let password = params[ProofParams.password] {
        try params.requireAbsent(ProofParams.names, with: "password")
        return try await server.answer { () async throws(Problem) in
          try await server.inTurn { () throws(Problem) in
            try server.users.link(
              email: params[ProofParams.email], password: Secret(password), to: user)
          }
        }
      }
      guard params[ProofParams.email] == nil else {
        throw .invalidParams(
          path: "/password", expected: "the password for the address", isMissing: true)
      }
      do throws(Problem) {
        try server.users.check(linking: params[ProofParams.provider], to: user)
      } catch { throw RPCError(error) }
      return try await server.prove(params, call, by: "users.link") { proof async throws(Problem) in
        try await server.users.link(proof, to: user)
      }
    })
}

/// `users.reauthenticate`: proves that the person is still the current user.
func usersReauthenticate(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.reauthenticate", .interactive,
      "Proves that the person is the current user, for changes that need a recent sign-in.",
      params: ProofParams.ofPerson + fields(ProofParams.password),
      result: .object(
        .signedInUser + [
          .optional("flow", .identifier, "After a sign-in at a provider: the flow's id.")
        ]),
      reasons: proofReasons + [
        "nullUser", "userMismatch", "userNotFound", "noSuchProvider", "wrongPassword",
        "tooManyRequests",
      ]),
    .task { params, call async throws(RPCError) in
      if let password = params[ProofParams.password] {
        try params.requireAbsent(ProofParams.names, with: "password")
        return try await server.answer { () async throws(Problem) in
          try await server.inTurn { () async throws(Problem) in
            try await server.users.reauthenticate(password: Secret(password))
          }
        }
      }
      do throws(Problem) { try server.users.check() } catch { throw RPCError(error) }
      return try await server.prove(params, call, by: "users.reauthenticate") {
        proof async throws(Problem) in
        try await server.users.reauthenticate(proof)
      }
    })
}

private enum ProofParams {
  static let provider = TypedField.optional(
    "provider", .identifier,
    "Signs in at this provider first; with credential: the provider that issued it.")
  static let account = TypedField.optional(
    "account", .account, "Instead: an account that the application has access to.")
  static let pendingCredential = TypedField.optional(
    "pendingCredential", .string(maxBytes: 256),
    "Instead: the pending credential of an earlier error.", isSecret: true)
  static let email = TypedField.optional(
    "email", .string(maxBytes: 256), "With password: its address; the user's when missing.")
  static let password = TypedField.optional(
    "password", .string(maxBytes: 1024), "Instead: the user's password.", isSecret: true)
  static let includeCredential = TypedField.optional(
    "includeCredential", .boolean, default: false,
    "Whether to return the application's credential of the account too; needs granted access.")

  private static let others =
    fields(.checkedCredential, pendingCredential, .flowKind, .deadlineSeconds) + SignInParams.page
  static let all = fields(provider, account) + others
  /// The proofs that need the person.
  static let ofPerson = fields(provider) + others

  static let credential = "credential"
  static let pending = "pendingCredential"
  static let names = ["provider", "account", credential, pending]
}

extension JSONObject {
  /// Whether the request signs in at a provider.
  var signsInAtProvider: Bool {
    self[ProofParams.provider] != nil && self[.checkedCredential] == nil
  }

  /// Throws if one of these parameters is there too.
  fileprivate func requireAbsent(_ names: [String], with name: String) throws(RPCError) {
    guard let other = names.first(where: { self[$0] != nil }) else { return }
    throw .invalidParams(either: name, or: other)
  }

  /// Returns the proof in the parameters; `nil` for a sign-in at a provider.
  fileprivate func proof(for server: Server) throws(RPCError) -> UserProof? {
    let provider = self[ProofParams.provider]
    switch (
      self[ProofParams.account], self[.checkedCredential], self[ProofParams.pendingCredential]
    )
    {
    case (let account?, nil, nil) where provider == nil: return .account(account)
    case (nil, nil, let pending?) where provider == nil: return .pending(pending)
    case (nil, let credential?, nil):
      guard let provider, let subject = VerifyRequest.Subject(credential) else {
        throw .invalidParams(
          path: "/provider", expected: "the provider of the credential", isMissing: true)
      }
      let frontEnd = server.session.frontEnd
      return .credential(
        VerifyRequest(
          application: frontEnd.application,
          registration: server.registration(for: frontEnd, at: provider), provider: provider,
          subject: subject))
    case (nil, nil, nil) where provider != nil: return nil
    default:
      throw RPCError(
        .invalidParams, "Give exactly one proof, such as provider or pendingCredential.",
        data: ["path": "/provider", "expected": "the only proof"])
    }
  }
}

extension Server {
  /// Answers with the user.
  func answer(
    _ body: () async throws(Problem) -> SignedInUser
  ) async throws(RPCError) -> JSONValue {
    do throws(Problem) { return .object(try json(await body())) } catch { throw RPCError(error) }
  }

  /// Runs `body` with the proof in the parameters, after a sign-in at the provider if they name
  /// one, and answers with the user.
  fileprivate func prove(
    _ params: JSONObject, _ call: Call, by method: String, includesCredential: Bool = false,
    _ body: @escaping @Sendable (UserProof) async throws(Problem) -> SignedInUser
  ) async throws(RPCError) -> JSONValue {
    if let proof = try params.proof(for: self) {
      var account: Account.ID?
      if case .account(let id) = proof { account = id }
      do throws(Problem) {
        return .object(
          try await answer(body(proof), includesCredential ? account : nil))
      } catch { throw RPCError(error) }
    }
    let provider = params[ProofParams.provider] ?? ""
    let request = signInRequest(params, of: session.frontEnd, at: provider, by: method)
    return try await perform(params, call, .signIn(request)) { [self] _, asker throws(Problem) in
      if includesCredential, !(try einlass.grantsAccess(request)) {
        try einlass.requireAccess(of: request.application, to: provider, account: nil)
      }
      let signedIn = try await einlass.signIn(request, asking: asker)
      guard let person = signedIn.person else {
        throw .unidentified(try catalog.provider(provider))
      }
      let user = try await body(.signedIn(person, profile: signedIn.identity?.profile))
      return try await answer(user, includesCredential ? signedIn.account.id : nil)
    }
  }

  /// Makes the answer, with the application's credential of an account.
  private func answer(
    _ user: SignedInUser, _ account: Account.ID?
  ) async throws(Problem) -> JSONObject {
    var answer = try json(user)
    guard let account else { return answer }
    let request = credentialRequest(of: account, for: nil)
    answer["credential"] = try await handOut(
      budgetedEinlass.credential(request), request, by: "users.signIn", .usual)
    return answer
  }
}

/// The reasons of the errors of every proof.
private let proofReasons =
  flowReasons + signInReasons + [
    "unknownAccount", "accessNotGranted", "reloginNeeded", "accountBanned", "invalidCredential",
    "tokenNotSaved", "invalidChoice", "unsafeURL", "bindingMismatch",
  ]
