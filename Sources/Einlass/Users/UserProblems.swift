/// The problems that the directory of users decides.
extension Problem {
  /// The user with the identity, or with the address, of a proof.
  public struct Collision: Sendable, Equatable {
    public var email: String?
    /// The providers by which that user signs in.
    public var providers: [String]
    /// Names the proven identity for `users.link` and `users.signIn`; `nil` if the application may not
    /// change that user.
    public var pendingCredential: String?

    public init(email: String?, providers: [String] = [], pendingCredential: String? = nil) {
      self.email = email
      self.providers = providers
      self.pendingCredential = pendingCredential
    }
  }

  static let nullUser = Problem(
    .nullUser, "No user is signed in. Sign one in with users.signIn.", hint: .init("users.signIn"))
  static let userNotFound = Problem(
    .userNotFound, "There is no such user. See users.list, or make one with users.create.")
  static let userMismatch = Problem(
    .userMismatch,
    "This is another person than the user who is signed in. Sign in as that user, or sign out first."
  )
  static let emailAlreadyInUse = Problem(
    .emailAlreadyInUse,
    "Another user has this e-mail address. Sign in as that user, or use another address.")
  static let invalidEmail = Problem(
    .invalidEmail, "This is no e-mail address. Pass one such as ada@example.com.")
  static let missingEmail = Problem(
    .missingEmail,
    "An e-mail address is needed. Pass one such as ada@example.com as the parameter email.")
  static let wrongPassword = Problem(
    .wrongPassword, "The password is wrong. Ask the person for it again.")
  static let weakPassword = Problem(
    .weakPassword,
    "The password is shorter than \(PasswordVerifier.leastCharacters) characters. Choose a longer one."
  )

  /// The pending credential is unknown.
  static let noPendingCredential = Problem(
    .invalidCredential,
    "The pending credential was used or has ended; it lasts ten minutes. Sign in with its provider again.",
    detail: "pendingCredential")

  static func requiresRecentLogin(_ user: User, seconds: Int64) -> Problem {
    // A user with a password alone has no provider to name.
    let provider = user.identities.map(\.place.provider).first { $0 != User.password }
    return Problem(
      .requiresRecentLogin,
      "The person has given no proof in the last \(seconds) seconds. Sign the person in again with users.reauthenticate.",
      hint: .init("users.reauthenticate", provider.map { ["provider": $0] } ?? [:]))
  }

  static func staleProof(of provider: String, seconds: Int64) -> Problem {
    Problem(
      .requiresRecentLogin,
      "The proof shows no sign-in of the last \(seconds) seconds. Call users.reauthenticate with provider alone, or with the password.",
      hint: .init("users.reauthenticate", ["provider": provider]))
  }

  static func providerAlreadyLinked(_ provider: String) -> Problem {
    Problem(
      .providerAlreadyLinked,
      "The user already signs in with \(provider). Unlink that identity with users.unlink first.",
      hint: .init("users.unlink", ["provider": provider]))
  }

  static func noSuchProvider(_ provider: String) -> Problem {
    Problem(
      .noSuchProvider,
      "The user does not sign in with \(provider). The identities of the user name the providers.")
  }

  /// The user has no identity, and would only keep others from the address.
  static let addressWithoutSignIn = Problem(
    .noSuchProvider,
    "The user has no way to sign in, so nobody could use the address. Pass a password with it, or link a provider first."
  )

  /// The provider of a proof has the id of the provider of the user's identity, and is another one.
  static func otherProvider(_ provider: String, of user: User) -> Problem {
    Problem(
      .bindingMismatch,
      "The provider \(provider) is described differently than at the time of linking, so it signs nobody in as this user. Restore the provider, or let the person unlink and link it again (einlassctl users unlink \(user.id.rawValue) \(provider), then users link).",
      provider: provider)
  }

  /// Nobody could sign in as the user any more.
  static func lastIdentity(_ provider: String) -> Problem {
    Problem(
      .invalidChoice,
      "Signing in with \(provider) is the last way in for this user. Link another one first, pass evenTheLast, or delete the user.",
      detail: "lastIdentity")
  }

  /// The user of a shared directory was made by another application.
  static func madeByAnother(_ application: String) -> Problem {
    Problem(
      .accessNotGranted,
      "The application \(application) has made this user, so only that application or the person may change it.",
      detail: "otherApplication")
  }

  static func tooManyRequests(_ count: Int64, seconds: Int64) -> Problem {
    Problem(
      .tooManyRequests,
      "The password was wrong \(count) times in a row. Try again in \(seconds) second\(seconds == 1 ? "" : "s").",
      isRetryable: true, retryAfterSeconds: Int(seconds))
  }

  /// The identity belongs to somebody else.
  static func accountExists(_ collision: Collision) -> Problem {
    var problem = Problem(
      .accountExistsWithDifferentCredential,
      "Another application has made the user with this e-mail address. Sign in as that user with one of the named providers."
    )
    if let pending = collision.pendingCredential {
      problem.message =
        "Another user has this e-mail address. Sign in as that user with one of the named providers, then link the pending credential with users.link."
      problem.hint = .init("users.link", ["pendingCredential": pending])
    }
    problem.collision = collision
    return problem
  }

  static func credentialAlreadyInUse(_ collision: Collision) -> Problem {
    var problem = Problem(
      .credentialAlreadyInUse,
      "This identity is linked to a user already. Sign in as that user with users.signIn.",
      hint: .init("users.signIn", ["pendingCredential": collision.pendingCredential ?? ""]))
    problem.collision = collision
    return problem
  }
}
