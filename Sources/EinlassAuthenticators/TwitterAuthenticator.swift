public import Einlass

/// Signs the person in with a Twitter account of the system, by reverse auth.
///
/// ```swift
/// let credentials = try await TwitterAuthenticator(application).perform(
///   grantAccess: { true }, chooseAccount: { usernames in usernames.first })
/// ```
public struct TwitterAuthenticator: Sendable {
  public var application: Application
  /// Not retained.
  public weak var delegate: (any TwitterAuthenticatorDelegate)?

  public init(
    _ application: Application, delegate: (any TwitterAuthenticatorDelegate)? = nil
  ) {
    self.application = application
    self.delegate = delegate
  }

  /// Starts a sign-in and returns at once. It ends in exactly one final call of the delegate. No
  /// call follows after the delegate is gone.
  @discardableResult
  public func perform() -> Task<Void, Never> {
    Task { [weak delegate] in
      do throws(TwitterAuthenticatorProblem) {
        let credentials = try await signIn(
          grantAccess: { [weak delegate] in
            await delegate?.twitterAuthenticatorMayAccessAccounts()
          },
          chooseAccount: { [weak delegate] usernames in
            await delegate?.twitterAuthenticator(chooseAccountFrom: usernames)
          })
        await delegate?.twitterAuthenticator(didSignIn: credentials)
      } catch {
        await delegate?.twitterAuthenticator(didFail: error)
      }
    }
  }

  /// Signs the person in.
  ///
  /// - Parameters:
  ///   - grantAccess: Returns whether the application may use the Twitter accounts. Only asked
  ///     before the first decision, which is stored.
  ///   - chooseAccount: Returns one of the user names, or `nil` if the person does not choose. Also
  ///     asked with a single account.
  public func perform(
    grantAccess: @escaping @Sendable () async -> Bool,
    chooseAccount: @escaping @Sendable (_ usernames: [String]) async -> String?
  ) async throws(TwitterAuthenticatorProblem) -> TwitterCredentials {
    try await signIn(grantAccess: grantAccess, chooseAccount: chooseAccount)
  }

  /// `grantAccess` returns `nil` if nobody decides.
  private func signIn(
    grantAccess: @escaping @Sendable () async -> Bool?,
    chooseAccount: @escaping @Sendable (_ usernames: [String]) async -> String?
  ) async throws(TwitterAuthenticatorProblem) -> TwitterCredentials {
    let asker = Asker(kinds: [.grantAccess, .selectAccount]) { prompt in
      guard case .selectAccount(let accounts, _) = prompt else {
        return .success(Answer(decision: await grantAccess()))
      }
      guard let name = await chooseAccount(accounts.map(\.username)) else {
        return .success(.cancel)
      }
      guard let account = accounts.first(where: { $0.username == name }) else {
        return .failure(
          Problem(.accountStoreFailure, "There is no Twitter account named \(name)."))
      }
      return .success(.accept(account: account.id))
    }
    var authenticator = Authenticator(application, provider: "twitter")
    authenticator.signsInIfNeeded = false
    do throws(Problem) {
      return try TwitterCredentials(await authenticator.perform(asking: asker))
    } catch {
      throw TwitterAuthenticatorProblem(error)
    }
  }
}

/// The person's decisions and the outcome of `TwitterAuthenticator.perform()`.
///
/// The calls come on no particular thread. A delegate that belongs to the main actor gets them
/// there.
public protocol TwitterAuthenticatorDelegate: AnyObject, Sendable {
  /// Returns whether the application may use the Twitter accounts of the system.
  func twitterAuthenticatorMayAccessAccounts() async -> Bool
  /// Returns one of the user names, or `nil` if the person does not choose.
  func twitterAuthenticator(chooseAccountFrom usernames: [String]) async -> String?
  func twitterAuthenticator(didSignIn credentials: TwitterCredentials) async
  func twitterAuthenticator(didFail problem: TwitterAuthenticatorProblem) async
}

/// The person at Twitter, and the application's token.
public struct TwitterCredentials: Sendable, Equatable {
  public var id: String
  public var name: String
  public var screenName: String
  /// The OAuth 1.0a token.
  public var key: Secret
  public var secret: Secret
  /// `nil` if the application may not see it.
  public var email: String?
  /// The address of the person's picture, over https.
  public var avatar: String?

  init(_ result: PerformResult) throws(Problem) {
    guard case .oauth1(let token)? = result.credential, let person = result.identity else {
      throw Problem(.providerFailure, "Twitter has given no token and no identity.")
    }
    id = person.id
    name = person.name ?? ""
    screenName = person.username ?? result.account.username
    key = token.token
    secret = token.tokenSecret
    email = person.email
    avatar = person.avatar
  }
}

/// The reason why a sign-in with a Twitter account failed.
public enum TwitterAuthenticatorProblem: Error, Sendable, Equatable {
  /// There is no Twitter account in the store.
  case noSystemTwitterAccount
  case twitterAccountAccessNotGranted
  case userCanceledAccountSelection
  case twitterAccountBanned
  /// The application has no registration for `twitter`, or an incomplete one.
  case twitterAuthenticatorUnconfigured
  /// A number of NSURLErrorDomain (-999 for a cancelled task), and its text.
  case networkFailure(Int, String)
  case twitterFailure(String)
  case accountStoreFailure(String)

  init(_ problem: Problem) {
    switch problem.reason {
    case .noSystemAccount: self = .noSystemTwitterAccount
    case .accessNotGranted: self = .twitterAccountAccessNotGranted
    case .userCanceledAccountSelection: self = .userCanceledAccountSelection
    case .accountBanned: self = .twitterAccountBanned
    case .authenticatorUnconfigured: self = .twitterAuthenticatorUnconfigured
    case .networkFailure: self = .networkFailure(problem.networkCode ?? -1, problem.message)
    case .cancelled: self = .networkFailure(-999, problem.message)
    case .accountStoreFailure, .tokenNotSaved: self = .accountStoreFailure(problem.message)
    default: self = .twitterFailure(problem.message)
    }
  }
}
