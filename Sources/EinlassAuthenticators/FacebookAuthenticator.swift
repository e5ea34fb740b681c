public import Einlass

/// Signs the person in with the Facebook account of the system.
///
/// ```swift
/// let credentials = try await FacebookAuthenticator(application).perform(
///   grantAccess: { permissions in true }, confirmAccount: { username in true })
/// ```
public struct FacebookAuthenticator: Sendable {
  public var application: Application
  /// Empty for `user_birthday`, `user_location`, `user_friends`, `email` and `public_profile`.
  public var permissions: [String] = []
  /// The audience of posts in the person's name.
  public var audience = AccessGrant.Audience.onlyMe
  /// Not retained.
  public weak var delegate: (any FacebookAuthenticatorDelegate)?

  public init(
    _ application: Application, delegate: (any FacebookAuthenticatorDelegate)? = nil
  ) {
    self.application = application
    self.delegate = delegate
  }

  /// Starts a sign-in and returns at once. It ends in exactly one final call of the delegate. No
  /// call follows after the delegate is gone.
  @discardableResult
  public func perform() -> Task<Void, Never> {
    Task { [weak delegate] in
      do throws(FacebookAuthenticatorProblem) {
        let credentials = try await signIn(
          grantAccess: { [weak delegate] permissions in
            await delegate?.facebookAuthenticator(mayAccessAccountWith: permissions)
          },
          confirmAccount: { [weak delegate] username in
            await delegate?.facebookAuthenticator(confirmAccount: username) ?? false
          })
        await delegate?.facebookAuthenticator(didSignIn: credentials)
      } catch {
        await delegate?.facebookAuthenticator(didFail: error)
      }
    }
  }

  /// Signs the person in.
  ///
  /// - Parameters:
  ///   - grantAccess: Returns whether the application may use the Facebook account with these
  ///     permissions. Asked before the first decision, which is stored, and again if the person has
  ///     removed the application at Facebook.
  ///   - confirmAccount: Returns whether the account with this user name is meant, an e-mail address
  ///     or a telephone number.
  public func perform(
    grantAccess: @escaping @Sendable (_ permissions: [String]) async -> Bool,
    confirmAccount: @escaping @Sendable (_ username: String) async -> Bool
  ) async throws(FacebookAuthenticatorProblem) -> FacebookCredentials {
    try await signIn(grantAccess: grantAccess, confirmAccount: confirmAccount)
  }

  /// `grantAccess` returns `nil` if nobody decides.
  private func signIn(
    grantAccess: @escaping @Sendable (_ permissions: [String]) async -> Bool?,
    confirmAccount: @escaping @Sendable (_ username: String) async -> Bool
  ) async throws(FacebookAuthenticatorProblem) -> FacebookCredentials {
    let asker = Asker(kinds: [.grantAccess, .confirmAccount]) { prompt in
      switch prompt {
      case .grantAccess(let permissions, _, _, _):
        .success(Answer(decision: await grantAccess(permissions)))
      case .confirmAccount(let account):
        .success(await confirmAccount(account.username) ? .accept() : .cancel)
      default: .success(.cancel)
      }
    }
    var authenticator = Authenticator(application, provider: "facebook")
    authenticator.permissions = permissions
    authenticator.audience = audience
    authenticator.signsInIfNeeded = false
    do throws(Problem) {
      return try FacebookCredentials(await authenticator.perform(asking: asker))
    } catch {
      throw FacebookAuthenticatorProblem(error)
    }
  }
}

/// The person's decisions and the outcome of `FacebookAuthenticator.perform()`.
///
/// The calls come on no particular thread. A delegate that belongs to the main actor gets them
/// there.
public protocol FacebookAuthenticatorDelegate: AnyObject, Sendable {
  /// Returns whether the application may use the Facebook account with these permissions.
  func facebookAuthenticator(mayAccessAccountWith permissions: [String]) async -> Bool
  /// Returns whether the account with this user name is meant.
  func facebookAuthenticator(confirmAccount username: String) async -> Bool
  func facebookAuthenticator(didSignIn credentials: FacebookCredentials) async
  func facebookAuthenticator(didFail problem: FacebookAuthenticatorProblem) async
}

/// The person at Facebook, and the application's token.
public struct FacebookCredentials: Sendable, Equatable {
  public var id: String
  public var name: String
  public var token: Secret
  /// `nil` if the person has none, or has not permitted it.
  public var email: String?
  /// The address of the person's picture.
  public var avatar: String?

  init(_ result: PerformResult) throws(Problem) {
    guard case .oauth2(let token)? = result.credential, let person = result.identity else {
      throw Problem(.providerFailure, "Facebook has given no token and no identity.")
    }
    id = person.id
    name = person.name ?? ""
    self.token = token.accessToken
    email = person.email
    avatar = person.avatar
  }
}

/// The reason why a sign-in with the Facebook account failed.
public enum FacebookAuthenticatorProblem: Error, Sendable, Equatable {
  /// There is no Facebook account in the store.
  case noSystemFacebookAccount
  case facebookAccountAccessNotGranted
  case userCanceledAccountSelection
  /// Facebook refuses the account's own token, so the person must sign in to the account again.
  case systemAccountReloginNeeded
  /// The application has no registration for `facebook`.
  case facebookAuthenticatorUnconfigured
  /// A number of NSURLErrorDomain (-999 for a cancelled task), and its text.
  case networkFailure(Int, String)
  case facebookFailure(String)
  case accountStoreFailure(String)

  init(_ problem: Problem) {
    switch problem.reason {
    case .noSystemAccount: self = .noSystemFacebookAccount
    case .accessNotGranted: self = .facebookAccountAccessNotGranted
    case .userCanceledAccountSelection: self = .userCanceledAccountSelection
    case .reloginNeeded: self = .systemAccountReloginNeeded
    case .authenticatorUnconfigured: self = .facebookAuthenticatorUnconfigured
    case .networkFailure: self = .networkFailure(problem.networkCode ?? -1, problem.message)
    case .cancelled: self = .networkFailure(-999, problem.message)
    case .accountStoreFailure, .tokenNotSaved: self = .accountStoreFailure(problem.message)
    default: self = .facebookFailure(problem.message)
    }
  }
}
