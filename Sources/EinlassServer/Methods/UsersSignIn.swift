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
      "Signs a user in, and makes the user if there is none.", description: usersSignInDescription,
      params: ProofParams.all,
      rules: [ProofParams.rule(with: ["account"])],
      result: .object(.signedInUser + provedResult),
      reasons: proofReasons + ["accountExistsWithDifferentCredential"]),
    .task { params, call async throws(RPCError) in
      try await server.prove(params, call, by: "users.signIn") { proof async throws(Problem) in
        try await server.users.signIn(proof)
      }
    })
}

/// `users.link`: adds a way to sign in to a user.
func usersLink(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.link", .interactive,
      "Adds a way to sign in to the current user: the identity of a proof, or a first password.",
      description: usersLinkDescription,
      params: ProofParams.all + fields(ProofParams.email, ProofParams.password, .user),
      rules: [ProofParams.rule(with: ["account", "password"])],
      result: .object(.signedInUser + provedResult),
      reasons: proofReasons + [
        "nullUser", "userNotFound", "providerAlreadyLinked", "credentialAlreadyInUse",
        "emailAlreadyInUse", "invalidEmail", "missingEmail", "weakPassword", "requiresRecentLogin",
      ]),
    .task { params, call async throws(RPCError) in
      let user = params[.user]
      if let password = params[ProofParams.password] {
        return try await server.answer { () async throws(Problem) in
          try await server.inTurn { () throws(Problem) in
            try server.users.link(
              email: params[ProofParams.email], password: Secret(password), to: user)
          }
        }
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
      "Proves that the person is the current user, for the changes that need a recent sign-in.",
      description: usersReauthenticateDescription,
      params: ProofParams.ofPerson + fields(ProofParams.password),
      rules: [ProofParams.rule(with: ["password"])],
      result: .object(.signedInUser + provedResult),
      reasons: proofReasons + [
        "nullUser", "userMismatch", "userNotFound", "noSuchProvider", "requiresRecentLogin",
        "wrongPassword", "tooManyRequests",
      ]),
    .task { params, call async throws(RPCError) in
      if let password = params[ProofParams.password] {
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
    "email", .string(maxBytes: 256),
    "With password: the address that goes with it; the user's when missing.")
  static let password = TypedField.optional(
    "password", .string(maxBytes: 1024),
    "Instead of a proof: the user's password, of at least six characters.", isSecret: true)
  static let includeCredential = TypedField.optional(
    "includeCredential", .boolean, default: false,
    "With an account or a sign-in: true adds the application's credential of the account to the result; needs granted access, and is in the audit trail."
  )

  private static let others =
    fields(.checkedCredential, pendingCredential, .flowKind, .deadlineSeconds) + SignInParams.all
    + fields(includeCredential)
  static let all = fields(provider, account) + others
  /// The proofs that need the person.
  static let ofPerson = fields(provider) + others

  /// Exactly one proof: a provider alone, a provider with a credential, a pending credential, or one
  /// of these. Only the proofs with an account have a credential to hand out.
  static func rule(with others: [String]) -> Rule {
    let names = ["provider", "credential", "pendingCredential"] + others
    let isLink = others == ["account", "password"]
    func proof(_ required: String...) -> Rule.Choice {
      let hasAccount = required == ["provider"] || required == ["account"]
      return Rule.Choice(
        required: required,
        absent: names.filter { !required.contains($0) }
          + (isLink && required != ["password"] ? ["email"] : []),
        values: hasAccount ? [] : [("includeCredential", [false])])
    }
    return Rule(
      [proof("provider"), proof("provider", "credential"), proof("pendingCredential")]
        + others.map { proof($0) },
      path: "/provider", expected: "the only proof",
      "The request needs exactly one proof: \((["provider", "pendingCredential"] + others).joined(separator: ", ")). With includeCredential it must be \(others.contains("account") ? "an account or " : "")a sign-in."
    )
  }
}

extension JSONObject {
  /// Whether the request signs in at a provider.
  var signsInAtProvider: Bool {
    self[ProofParams.provider] != nil && self[.checkedCredential] == nil
  }

  /// Returns the proof in the parameters; `nil` for a sign-in at a provider.
  fileprivate func proof(for server: Server) -> UserProof? {
    if let account = self[ProofParams.account] { return .account(account) }
    if let pending = self[ProofParams.pendingCredential] { return .pending(pending) }
    guard let provider = self[ProofParams.provider],
      let subject = VerifyRequest.Subject(self[.checkedCredential])
    else { return nil }
    let frontEnd = server.session.frontEnd
    return .credential(
      VerifyRequest(
        application: frontEnd.application,
        registration: server.registration(for: frontEnd, at: provider), provider: provider,
        subject: subject))
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
    _ params: JSONObject, _ call: Call, by method: String,
    _ body: @escaping @Sendable (UserProof) async throws(Problem) -> SignedInUser
  ) async throws(RPCError) -> JSONValue {
    let includesCredential = params[ProofParams.includeCredential]
    if let proof = params.proof(for: self) {
      var account: Account.ID?
      if case .account(let id) = proof { account = id }
      do throws(Problem) {
        return .object(
          try await answer(body(proof), includesCredential ? account : nil, by: method))
      } catch { throw RPCError(error) }
    }
    let provider = params[ProofParams.provider] ?? ""
    let request = signInRequest(params, of: session.frontEnd, at: provider, by: method)
    return try await perform(params, call, .signIn(request)) { [self] _, asker throws(Problem) in
      if includesCredential, try einlass.grant(bySigningIn: request) == nil {
        try einlass.requireAccess(of: request.application, to: provider, account: nil)
      }
      let signedIn = try await einlass.signIn(request, asking: asker)
      guard let person = signedIn.person else {
        throw .unidentified(try catalog.provider(provider))
      }
      let user = try await body(.signedIn(person, profile: signedIn.identity?.profile))
      return try await answer(user, includesCredential ? signedIn.account.id : nil, by: method)
    }
  }

  /// Makes the answer, with the application's credential of an account.
  private func answer(
    _ user: SignedInUser, _ account: Account.ID?, by method: String
  ) async throws(Problem) -> JSONObject {
    var answer = try json(user)
    guard let account else { return answer }
    let request = credentialRequest(of: account, for: nil)
    answer["credential"] = try await handOut(
      budgetedEinlass.credential(request), request, by: method, .usual)
    return answer
  }
}

/// The reasons of the errors of every proof.
private let proofReasons =
  flowReasons + signInReasons + [
    "unknownAccount", "accessNotGranted", "reloginNeeded", "accountBanned", "invalidCredential",
    "tokenNotSaved", "invalidChoice", "unsafeURL", "bindingMismatch", "notIssuedToThisClient",
  ]

/// The members of the result beside the user.
private let provedResult: [Field] = [
  .optional("flow", .identifier, "After a sign-in at a provider: the flow's id."),
  .optional(
    "credential", .reference("Credential"),
    "With includeCredential: the application's credential of the account; if it cannot be had, the request fails, and the proof counts nevertheless."
  ),
]

private let usersSignInDescription = """
  - One of `provider`, `account`, `credential` with `provider`, and `pendingCredential` proves the person. [Users](README.md#users)
    has the rules.
  """

private let usersLinkDescription = """
  - A password needs a [recent sign-in](README.md#users).
  """

private let usersReauthenticateDescription = """
  - [Changes that need a recent sign-in](README.md#users) are accepted afterwards. An account of the store is no such proof, because
    the application can name it without the person.
  """
