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
    .nullUser, "No user is signed in.", hint: .init("users.signIn"))
  static let userNotFound = Problem(
    .userNotFound, "There is no such user.")
  static let userMismatch = Problem(
    .userMismatch,
    "This is another person than the user who is signed in."
  )
  static let emailAlreadyInUse = Problem(
    .emailAlreadyInUse,
    "Another user has this e-mail address.")
  static let invalidEmail = Problem(
    .invalidEmail, "This is no e-mail address.")
  static let missingEmail = Problem(
    .missingEmail,
    "An e-mail address is needed.")
  static let wrongPassword = Problem(
    .wrongPassword, "The password is wrong.")
  static let weakPassword = Problem(
    .weakPassword,
    "The password is shorter than \(PasswordVerifier.leastCharacters) characters."
  )

  /// The pending credential is unknown.
  static let noPendingCredential = Problem(
    .invalidCredential,
    "The pending credential was used or has ended; it lasts ten minutes.",
    detail: "pendingCredential")

  static func requiresRecentLogin(_ user: User, seconds: Int64) -> Problem {
    // A user with a password alone has no provider to name.
    let provider = user.identities.map(\.place.provider).first { $0 != User.password }
    return Problem(
      .requiresRecentLogin,
      "The person has given no proof in the last \(seconds) seconds.",
      hint: .init("users.reauthenticate", provider.map { ["provider": $0] } ?? [:]))
  }

  static func staleProof(of provider: String, seconds: Int64) -> Problem {
    Problem(
      .requiresRecentLogin,
      "The proof shows no sign-in of the last \(seconds) seconds.",
      hint: .init("users.reauthenticate", ["provider": provider]))
  }

  static func providerAlreadyLinked(_ provider: String) -> Problem {
    Problem(
      .providerAlreadyLinked,
      "The user already signs in with \(provider).",
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
    "The user has no way to sign in, so nobody could use the address.", advice: .linkFirst
  )

  /// The provider of a proof has the id of the provider of the user's identity, and is another one.
  static func otherProvider(_ provider: String, of user: User) -> Problem {
    Problem(
      .bindingMismatch,
      "The provider \(provider) is described differently than at the time of linking, so it signs nobody in as this user.",
      advice: .restoreProvider,
      command: "einlassctl users unlink \(user.id.rawValue) \(provider)", provider: provider)
  }

  /// Nobody could sign in as the user any more.
  static func lastIdentity(_ provider: String) -> Problem {
    Problem(
      .invalidChoice,
      "Signing in with \(provider) is the last way in for this user.", advice: .linkAnother,
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
      "The password was wrong \(count) times in a row.",
      isRetryable: true, retryAfterSeconds: Int(seconds))
  }

  /// The identity belongs to somebody else.
  static func accountExists(_ collision: Collision) -> Problem {
    var problem = Problem(
      .accountExistsWithDifferentCredential,
      "Another application has made the user with this e-mail address."
    )
    if let pending = collision.pendingCredential {
      problem.message =
        "Another user has this e-mail address."
      problem.hint = .init("users.link", ["pendingCredential": pending])
    }
    problem.collision = collision
    return problem
  }

  static func credentialAlreadyInUse(_ collision: Collision) -> Problem {
    var problem = Problem(
      .credentialAlreadyInUse,
      "This identity is linked to a user already.",
      hint: .init("users.signIn", ["pendingCredential": collision.pendingCredential ?? ""]))
    problem.collision = collision
    return problem
  }
}
