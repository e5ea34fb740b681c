import Einlass

/// The problems of the original Einlass, as its delegate received them on iOS.
enum TwitterAuthenticatorProblem: Error {
  case noSystemTwitterAccount
  case twitterAccountAccessNotGranted
  case userCanceledAccountSelection
  case twitterAccountBanned
  case twitterAuthenticatorUnconfigured
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
    case .accountStoreFailure: self = .accountStoreFailure(problem.message)
    default: self = .twitterFailure(problem.message)
    }
  }
}

/// The credentials that the original Einlass returned on success.
struct TwitterCredentials: Sendable {
  var id: String
  var name: String
  var screenName: String
  var key: String
  var secret: String
  var email: String?
}

/// The delegate of the original Einlass.
protocol TwitterAuthenticatorDelegate: AnyObject, Sendable {
  func twitterAuthenticatorAccess(_ answer: @escaping @Sendable (Bool) -> Void)
  func twitterAuthenticator(
    chooseAccountFrom usernames: [String], _ answer: @escaping @Sendable (String?) -> Void)
  func twitterAuthenticator(didLogin credentials: TwitterCredentials)
  func twitterAuthenticator(didFail problem: TwitterAuthenticatorProblem)
}

/// The authenticator of the original Einlass on top of the engine: `perform()` ends in exactly one
/// final call of its delegate.
struct TwitterAuthenticator: Sendable {
  var engine: Einlass
  var registration: ClientRegistration
  weak var delegate: (any TwitterAuthenticatorDelegate)?

  func perform() async {
    do {
      let result = try await engine.perform(
        PerformRequest(
          application: "downstream", registration: registration, provider: "twitter"),
        asking: asker)
      guard case .oauth1(let credential)? = result.credential, let identity = result.identity
      else { return }
      delegate?.twitterAuthenticator(
        didLogin: TwitterCredentials(
          id: identity.id, name: identity.name ?? "", screenName: identity.username ?? "",
          key: String(decoding: credential.token.reveal(), as: UTF8.self),
          secret: String(decoding: credential.tokenSecret.reveal(), as: UTF8.self),
          email: identity.email))
    } catch {
      delegate?.twitterAuthenticator(didFail: TwitterAuthenticatorProblem(error))
    }
  }

  private var asker: Asker {
    Asker(
      kinds: [.grantAccess, .selectAccount],
      ask: { [weak delegate] prompt in
        switch prompt {
        case .grantAccess:
          let isGranted = await withCheckedContinuation { continuation in
            guard let delegate else { return continuation.resume(returning: false) }
            delegate.twitterAuthenticatorAccess { continuation.resume(returning: $0) }
          }
          return isGranted ? .accept() : .decline
        case .selectAccount(let accounts, _):
          let username = await withCheckedContinuation { continuation in
            guard let delegate else { return continuation.resume(returning: String?.none) }
            delegate.twitterAuthenticator(chooseAccountFrom: accounts.map(\.username)) {
              continuation.resume(returning: $0)
            }
          }
          let account = accounts.first { $0.username == username }
          return account.map { .accept(account: $0.id) } ?? .cancel
        case .confirmAccount, .replaceAccount, .openURL, .deviceCode, .enterVerifier,
          .enterPassphrase, .enterPassword, .trustCertificate:
          return .cancel
        }
      },
      report: { _ in })
  }
}
