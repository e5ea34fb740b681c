internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

// The methods of the users, apart from those that take a person's proof (`UsersSignIn.swift`).

/// `users.create`: makes a user with a password.
func usersCreate(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.create", .network,
      "Makes a user with an e-mail address and a password, and signs the user in.",
      params: fields(Params.address, Params.password, Params.displayName, Params.photo),
      result: .object(.signedInUser),
      reasons: [
        "emailAlreadyInUse", "invalidEmail", "missingEmail", "weakPassword", "accountStoreFailure",
        "cancelled",
      ]),
    .task { params, _ async throws(RPCError) in
      try await server.answer { () async throws(Problem) in
        try await server.inTurn { () throws(Problem) in
          try server.users.create(
            email: params[Params.address], password: Secret(params[Params.password]),
            UserDirectory.Profile(
              displayName: params[Params.displayName], photo: params[Params.photo]))
        }
      }
    })
}

/// `users.signInWithPassword`: signs in the user of an address and a password.
func usersSignInWithPassword(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.signInWithPassword", .network,
      "Signs in the user with this e-mail address and password.",
      description: usersSignInWithPasswordDescription,
      params: fields(Params.address, Params.password), result: .object(.signedInUser),
      reasons: [
        "userNotFound", "wrongPassword", "tooManyRequests", "invalidEmail", "missingEmail",
        "accountStoreFailure", "cancelled",
      ]),
    .task { params, _ async throws(RPCError) in
      try await server.answer { () async throws(Problem) in
        try await server.inTurn { () async throws(Problem) in
          try await server.users.signIn(
            email: params[Params.address], password: Secret(params[Params.password]))
        }
      }
    })
}

/// `users.update`: changes the profile, the address or the password.
func usersUpdate(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.update", .network,
      "Changes the profile, the e-mail address or the password of the current user.",
      description: usersUpdateDescription,
      params: fields(Params.displayName, Params.photo, Params.email, Params.newPassword, .user),
      result: userResult,
      reasons: changeReasons + [
        "requiresRecentLogin", "emailAlreadyInUse", "invalidEmail", "missingEmail", "weakPassword",
        "noSuchProvider", "cancelled",
      ]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        let profile = UserDirectory.Profile(
          displayName: params[Params.displayName], photo: params[Params.photo],
          email: params[Params.email])
        let password = params[Params.newPassword].map { Secret($0) }
        let user =
          if password == nil {
            try server.users.update(profile, of: params[.user])
          } else {
            try await server.inTurn { () throws(Problem) in
              try server.users.update(profile, password: password, of: params[.user])
            }
          }
        return ["user": try server.json(user)]
      } catch { throw RPCError(error) }
    })
}

/// `users.current`: returns the application's current user.
func usersCurrent(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.current", .immediate,
      "The application's current user, who stays signed in after the end of the process.",
      result: .object([
        .optional("user", .reference("User"), "The user; missing if none is signed in.")
      ]),
      reasons: ["accountStoreFailure"]),
    .immediate { _, _, deadline throws(RPCError) in
      try server.withStore(by: deadline) { patience throws(Problem) in
        let user = try server.users.current(patience)
        return .object(
          JSONObject(present: [
            "user": try user.map { user throws(Problem) in try server.json(user, patience) }
          ]))
      }
    })
}

/// `users.list`: returns the users of a directory.
func usersList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.list", .immediate, "The users of the application's directory, in order of making.",
      params: fields(Params.everyDirectory, .limit, .cursor),
      result: .object([
        .required("users", .array(.reference("User"), max: nil), "The users."), .nextCursor,
      ]),
      reasons: ["accountStoreFailure", "invalidCursor"]),
    .immediate { params, _, deadline throws(RPCError) in
      var first = Int64.min
      if let cursor = params[.cursor] {
        guard let position = Int64(cursor) else { throw RPCError(.invalidCursor) }
        first = position
      }
      return try server.withStore(by: deadline) { patience throws(Problem) in
        let directory = params[Params.everyDirectory] ? nil : server.users.directory.name
        var failure: Problem?
        let page = try Pages.page(
          "users", limit: params[.limit], log: server.log, cursor: { String($0.position) },
          encode: { user in
            do throws(Problem) { return try server.json(user, patience) } catch {
              failure = error
              return .null
            }
          },
          piece: { (last: User?, count) throws(Problem) in
            try server.store.users.read(patience) { rows throws(Problem) in
              try rows.users(in: directory, after: last?.position ?? first, limit: count)
            } ?? []
          })
        if let failure { throw failure }
        return .object(page)
      }
    })
}

/// `users.providersForEmail`: returns the ways to sign in as the user of an address.
func usersProvidersForEmail(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.providersForEmail", .immediate,
      "The providers by which the user with an e-mail address signs in, to be shown after 17012.",
      params: fields(Params.address),
      result: .object([
        .required(
          "providers", .array(.identifier, max: nil),
          "The providers' ids, or password; none without such a user.")
      ]),
      reasons: ["invalidEmail", "missingEmail", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      try server.withStore(by: deadline) { patience throws(Problem) in
        [
          "providers": JSONValue(
            try server.users.providers(forEmail: params[Params.address], patience))
        ]
      }
    })
}

/// `users.unlink`: removes a way to sign in from a user.
func usersUnlink(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.unlink", .immediate,
      "Removes a way to sign in from the current user.", description: usersUnlinkDescription,
      params: fields(Params.unlinked, Params.evenTheLast, .user), result: userResult,
      reasons: changeReasons + ["noSuchProvider", "invalidChoice", "requiresRecentLogin"]),
    .immediate { params, _, deadline throws(RPCError) in
      try server.withStore(by: deadline) { patience throws(Problem) in
        let user = try server.users.unlink(
          params[Params.unlinked], from: params[.user], evenTheLast: params[Params.evenTheLast],
          patience)
        return ["user": try server.json(user, patience)]
      }
    })
}

/// `users.signOut`: signs the current user out.
func usersSignOut(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.signOut", .immediate,
      "Signs the current user out; without one nothing happens.",
      result: .object([]), reasons: ["accountStoreFailure"]),
    .immediate { _, _, deadline throws(RPCError) in
      try server.withStore(by: deadline) { patience throws(Problem) in
        try server.users.signOut(patience)
        return [:]
      }
    })
}

/// `users.delete`: removes a user.
func usersDelete(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "users.delete", .immediate,
      "Removes the current user from the directory; the accounts stay.",
      description: usersDeleteDescription,
      params: fields(.user), result: .object([]),
      reasons: changeReasons + ["requiresRecentLogin"]),
    .immediate { params, _, deadline throws(RPCError) in
      try server.withStore(by: deadline) { patience throws(Problem) in
        try server.users.delete(params[.user], patience)
        return [:]
      }
    })
}

private let userResult = Schema.object([.required("user", .reference("User"), "The user.")])

/// The reasons of the errors of every change of a user.
private let changeReasons = [
  "nullUser", "userNotFound", "accessNotGranted", "accountStoreFailure",
]

private enum Params {
  static let address = TypedField.required(
    "email", .string(maxBytes: 256), "The e-mail address.")
  static let email = TypedField.optional(
    "email", .string(maxBytes: 256), "The new e-mail address, also the one of the password.")
  static let password = TypedField.required(
    "password", .string(maxBytes: 1024), "The password, of at least six characters.",
    isSecret: true)
  static let newPassword = TypedField.optional(
    "password", .string(maxBytes: 1024), "The new password, of at least six characters.",
    isSecret: true)
  static let displayName = TypedField.optional(
    "displayName", .string(maxBytes: 256), "The name for people; an empty one removes it.")
  static let photo = TypedField.optional(
    "photo", .string(maxBytes: 2048), "The address of a picture; an empty one removes it.")
  static let everyDirectory = TypedField.optional(
    "everyDirectory", .boolean, default: false,
    "The users of all applications, for the person who manages them.")
  static let unlinked = TypedField.required(
    "provider", .identifier, "The provider's id, or password.")
  static let evenTheLast = TypedField.optional(
    "evenTheLast", .boolean, default: false,
    "true unlinks even the only identity, after a recent sign-in; no sign-in leads to the user then."
  )
}

private let usersSignInWithPasswordDescription = """
  - After five wrong passwords in a row each further sign-in waits 1, 2, 4, … 60 s, for all processes together.
  """

private let usersUpdateDescription = """
  - Another address and another password need a [recent sign-in](README.md#users).
  """

private let usersUnlinkDescription = """
  - An unlinked `password` takes the address along, unless another identity has it. The last identity always does, so that
    the address is free for another user.
  """

private let usersDeleteDescription = """
  - It needs a [recent sign-in](README.md#users).
  """
