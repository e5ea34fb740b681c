public import Einlass

/// Signs a person in at any provider of the catalogue.
///
/// `perform(asking:)` is the `async` form. `perform()` calls a delegate.
public struct Authenticator: Sendable {
  public var application: Application
  /// The provider's id in the catalogue.
  public var provider: String
  /// `nil` or empty: the provider's defaults.
  public var permissions: [String]?
  /// The audience of posts in the person's name; `nil`: the provider's default.
  public var audience: AccessGrant.Audience?
  /// Whether the person may sign in at the provider when no stored account works.
  public var signsInIfNeeded = true
  /// Not retained.
  public weak var delegate: (any AuthenticatorDelegate)?

  public init(
    _ application: Application, provider: String, delegate: (any AuthenticatorDelegate)? = nil
  ) {
    self.application = application
    self.provider = provider
    self.delegate = delegate
  }

  /// Starts a sign-in and returns at once. It ends in exactly one final call of the delegate. No
  /// call follows after the delegate is gone.
  ///
  /// - Returns: The running sign-in. Cancelling it ends in the problem `cancelled`.
  @discardableResult
  public func perform() -> Task<Void, Never> {
    Task { [weak delegate] in
      let asker = Asker(kinds: await delegate?.promptKinds ?? []) { [weak delegate] prompt in
        .success(await delegate?.authenticator(answerTo: prompt) ?? .cancel)
      }
      do throws(Problem) {
        let result = try await perform(asking: asker)
        await delegate?.authenticator(didSignIn: result)
      } catch {
        await delegate?.authenticator(didFail: error)
      }
    }
  }

  /// Signs the person in and returns the credential, with the person's name, e-mail address and
  /// picture in `PerformResult.identity`.
  ///
  /// - Parameter asker: Shows the prompts.
  public func perform(asking asker: Asker) async throws(Problem) -> PerformResult {
    var request = PerformRequest(
      application: application.name, registration: application.registrations[provider],
      provider: provider, permissions: permissions, audience: audience)
    request.applicationTitle = application.title
    request.signsInIfNeeded = signsInIfNeeded
    request.signIn = SignInRequest(
      application: request.application, registration: request.registration, provider: provider)
    request.signIn?.applicationTitle = application.title
    request.signIn?.permissions = permissions
    request.signIn?.audience = audience
    request.registrations = { [registrations = application.registrations] in registrations[$0] }
    return try await application.engine.perform(request, asking: asker)
  }
}

/// The prompts and the outcome of `Authenticator.perform()`.
///
/// The calls come on no particular thread. A delegate that belongs to the main actor gets them
/// there.
public protocol AuthenticatorDelegate: AnyObject, Sendable {
  /// The kinds of prompt that `authenticator(answerTo:)` can show.
  var promptKinds: Set<Prompt.Kind> { get async }

  /// Shows a prompt and returns the person's answer. A prompt that needs no answer any more is
  /// closed by cancelling the task. An opened page or a shown code is answered with `accept()`.
  func authenticator(answerTo prompt: Prompt) async -> Answer

  func authenticator(didSignIn result: PerformResult) async
  func authenticator(didFail problem: Problem) async
}

extension Answer {
  /// The answer to the question for access. Without a decision nothing is remembered.
  init(decision: Bool?) {
    self =
      switch decision {
      case true?: .accept()
      case false?: .decline
      case nil: .cancel
      }
  }
}

extension Asker {
  /// Shows prompts by a function. An answer after the end of its prompt is dropped, so a function
  /// that ignores the cancellation of its task holds nothing up.
  public init(
    kinds: Set<Prompt.Kind>,
    answer: @escaping @Sendable (Prompt) async -> Result<Answer, Problem>
  ) {
    self.init(
      kinds: kinds,
      ask: { prompt async throws(Problem) in
        let cancelled = Problem(.cancelled, "The sign-in was cancelled.")
        if Task.isCancelled { throw cancelled }
        let (answers, continuation) = AsyncStream<Result<Answer, Problem>>.makeStream()
        let asking = Task {
          if !Task.isCancelled { continuation.yield(await answer(prompt)) }
          continuation.finish()
        }
        defer { asking.cancel() }
        for await answer in answers { return try answer.get() }
        throw cancelled
      },
      report: { _ in })
  }
}
