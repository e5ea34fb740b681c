internal import EinlassCrypto
internal import EinlassJSON

/// The requests of one flow, and the interpretation of their answers by the provider's error rules.
struct Exchange {
  /// A successful answer: status 200…299, with neither a matching error rule nor a refusal in the
  /// body.
  struct Answer {
    var body: [UInt8]
    /// The body, if it is a JSON object.
    var object: JSONValue?
    /// Whether the body is a signed text. OpenID Connect Core 1.0 section 5.3.2.
    var isSigned = false
    /// The reason why it is none, as the end of a sentence.
    var fault: String?
    /// The cookies after the answer, in libcurl's format; empty if the request asked for none.
    var cookies: [String] = []
    /// The number of cookies that the answer sets.
    var setCookieCount = 0
  }

  let provider: Provider
  let effects: Effects
  /// The remedies not tried yet.
  let remaining: Set<Remedy>
  /// The secrets cut out of every error, because providers quote them in various spellings.
  private(set) var secrets: [Secret]
  /// The key that the flow's tokens are bound to. RFC 9449.
  let proof: ProofOfPossession?
  /// The certificate that the flow's tokens may be bound to. RFC 8705.
  let identity: ClientIdentity?

  init(
    provider: Provider, effects: Effects, remaining: Set<Remedy>, secrets: [Secret?],
    proof: ProofOfPossession? = nil, identity: ClientIdentity? = nil
  ) {
    self.provider = provider
    self.effects = effects
    self.remaining = remaining
    self.secrets = secrets.compactMap(\.self)
    self.proof = proof
    self.identity = identity
  }

  /// Adds a secret to those cut out of errors.
  mutating func hide(_ secret: Secret) { secrets.append(secret) }

  /// Sends one request and returns its answer. A transport error is reported unchanged.
  func send(_ request: HTTPRequest, at step: Step) async throws(FlowFailure) -> Answer {
    try await send(at: step) { () throws(Problem) in request }
  }

  /// Sends a request, and a second one if the server demands a nonce in the DPoP proof (RFC 9449
  /// section 8). `making` is called for each, because a client assertion serves only once.
  func send(
    at step: Step, _ making: () throws(Problem) -> HTTPRequest
  ) async throws(FlowFailure) -> Answer {
    let (request, response): (HTTPRequest, HTTPResponse)
    do {
      let first = try await respond(making(), at: step)
      (request, response) =
        first.wantsAnother ? try await respond(making(), at: step).exchange : first.exchange
    } catch { throw FlowFailure(error.passing(at: step)) }
    do { return try answer(response, at: step) } catch {
      // The clock is far off from the server's, so report it as the cause of this rejection.
      guard error.remedy == nil, [400, 401, 403].contains(response.status),
        let clock = effects.clockError(at: request.address)
      else { throw error }
      var failure = error
      failure.problem.message += " \(clockSentence(clock, provider))"
      failure.problem.advice = .checkClock
      throw failure
    }
  }

  private func respond(
    _ request: HTTPRequest, at step: Step
  ) async throws(Problem) -> (exchange: (HTTPRequest, HTTPResponse), wantsAnother: Bool) {
    let request = provider.addressed(request)
    let isProven = [.token, .deviceToken, .renew].contains(step) || request.isBound
    let proof = isProven ? proof : nil
    let response =
      step == .keySet
      ? try await effects.document(request)
      : try await effects.send(proof?.proving(request, effects: effects) ?? request)
    effects.noteClock(of: response, from: request.address)
    let wantsAnother =
      proof != nil && effects.noteProofNonce(of: response, from: request.address)
    return ((request, response), wantsAnother)
  }

  /// Asks the provider for the token's owner. `making` signs the identity request or adds the
  /// token.
  ///
  /// - Parameter registration: The application that a signed answer must be for; `nil` where none is
  ///   accepted.
  func identity(
    signedFor registration: ClientRegistration? = nil,
    _ making: (RequestTemplate) -> HTTPRequest
  ) async throws(FlowFailure) -> Identity {
    guard let request = provider.identity?.request else {
      throw FlowFailure(.flowNotSupported(provider, "the identity request"))
    }
    let template = identity == nil ? request : provider.presenting(request)
    let answer = try await send(presenting(making(template)), at: .identity)
    var identity = try self.identity(in: await claims(in: answer, signedFor: registration))
    if identity.email == nil, let emails = provider.identity?.emails {
      // A failed request for the email addresses does not fail the sign-in.
      do throws(FlowFailure) {
        let answer = try await send(presenting(making(emails.request)), at: .identity)
        identity.email = (try? JSONReader.read(answer.body)).flatMap(emails.email).map(name)
        identity.isEmailVerified = identity.email != nil
      } catch {
        guard error.remedy == nil, error.problem.reason != .cancelled else { throw error }
      }
    }
    return identity
  }

  /// Returns a request with a token, presenting the certificate that the token may be bound to.
  func presenting(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.identity = identity
    return request
  }

  /// Returns the person described by an answer or by the claims of a verified id_token.
  func identity(in claims: JSONValue?) throws(FlowFailure) -> Identity {
    guard var identity = claims.flatMap({ provider.identity?.identity(in: $0) }),
      sameBytes(name(identity.id), identity.id)
    else {
      throw unusable(.identity, claims.flatMap { provider.identity?.fault(in: $0) })
    }
    identity.name = identity.name.map(name)
    identity.username = identity.username.map(name)
    identity.email = identity.email.map(name)
    identity.avatar = identity.avatar.flatMap { sameBytes(name($0), $0) ? $0 : nil }
    identity.profile = profile(claims)
    return identity
  }

  /// Returns a provider's answer without the flow's secrets; `nil` for one that is no object or is
  /// too long, and for one in which a secret is a part of the syntax.
  private func profile(_ answer: JSONValue?) -> JSONObject? {
    guard let bytes = answer?.bytes(), bytes.count <= Identity.profileLimitBytes else {
      return nil
    }
    let shown = name(String(decoding: bytes, as: UTF8.self))
    return (try? JSONReader.read(Array(shown.utf8)))?.object
  }

  /// Returns a provider's text without the flow's secrets.
  func shown(_ text: String) -> String { hiding(secrets, in: text) }

  /// Returns a name without the flow's secrets. A secret under 8 bytes is ignored, because it may
  /// occur in a name by chance.
  private func name(_ text: String) -> String { hiding(secrets.filter { $0.count >= 8 }, in: text) }

  /// Returns the failure for an answer without the expected content.
  ///
  /// - Parameter fault: The reason, as the end of a sentence about the answer.
  func unusable(
    _ step: Step, _ fault: String? = nil, status: Int? = nil, isRetryable: Bool = false,
    retryAfterSeconds: Int? = nil
  ) -> FlowFailure {
    let isRetryable = isRetryable || status.map { $0 >= 500 || $0 == 429 } ?? false
    return FlowFailure(
      Problem(
        .providerFailure,
        "\(provider.name)'s answer to \(step.phrase) \(fault ?? "is invalid").",
        isRetryable: isRetryable, retryAfterSeconds: retryAfterSeconds,
        serverError: status.map { .init(status: $0) }))
  }

  private func answer(_ response: HTTPResponse, at step: Step) throws(FlowFailure) -> Answer {
    let json = try? response.json()
    let object = json?.object == nil ? nil : json
    let isLimited = response.status == 429
    if provider.errors.readsBodyFirst && object == nil && !isLimited {
      throw unusable(
        step, response.fault, status: response.status,
        isRetryable: step.isRepeated && response.foreignTrait != nil,
        retryAfterSeconds: response.isSuccess ? nil : retryAfterSeconds(response))
    }
    let errorText = provider.errors.shapes.lazy
      .compactMap { $0.errorText(json: object, body: response.body) }.first
    let rule = provider.errors.rule(for: response, errorText, at: step, remaining: remaining)
    // Status 429 outweighs every error code of the body, except while a device code is polled (RFC
    // 8628 section 3.5).
    let state = step == .deviceToken ? DeviceState(errorText, status: response.status) : nil
    if isLimited, rule?.outcome.deviceState == nil {
      var failure = FlowFailure(throttled(problem(response, errorText, at: step), response))
      failure.deviceState = state
      throw failure
    }
    if let rule { throw failure(rule, response, errorText, at: step) }
    guard response.isSuccess, errorText?.isRefusal != true else {
      var failure = refusal(response, errorText, at: step)
      failure.deviceState = state
      throw failure
    }
    let fault = object == nil ? response.fault : nil
    if step.isRepeated, fault != nil, response.foreignTrait != nil {
      throw unusable(step, fault, isRetryable: true)
    }
    return Answer(
      body: response.body, object: object, isSigned: response.isSigned, fault: fault,
      cookies: response.cookies,
      setCookieCount: response.headers.count { $0.name == "set-cookie" })
  }

  /// Applies an error rule of the descriptor to an answer.
  private func failure(
    _ rule: ErrorRule, _ response: HTTPResponse, _ errorText: ProviderErrorText?, at step: Step
  ) -> FlowFailure {
    var failure = FlowFailure(
      problem(response, errorText, at: step), refusesCredential: true)
    failure.problem.advice = rule.advice
    failure.problem.isRetryable =
      rule.outcome == .retryLater
      || rule.outcome == .failed && rule.advice == nil && !rule.suggestsRelogin
        && response.status >= 500
    switch rule.outcome {
    case .regrant, .renew: failure.remedy = rule.outcome.remedy
    case .banned:
      failure.problem.reason = .accountBanned
      failure.problem.message =
        "\(provider.name) has suspended the account."
      failure.problem.page = provider.homepage
      failure.health = .banned
    case .locked:
      failure.problem.message =
        "\(provider.name) has locked the account for now."
      failure.problem.advice = .unlockOnWeb
      failure.problem.page = provider.homepage
      failure.health = .locked
    case .relogin:
      failure.problem.hint = .relogin(provider)
      failure.health = .reloginNeeded
    case .throttled: failure = FlowFailure(throttled(failure.problem, response))
    case .retryLater: failure.refusesCredential = false
    case .refused:
      failure.problem.reason = .accountStoreFailure
      failure.problem.detail = Problem.StoreDetail.refused.rawValue
      failure.problem.message =
        "\(provider.name) does not know the application."
      failure.problem.advice = .changeSettings
      failure.problem.page = provider.setup.documentation
      failure.refusesCredential = false
    case .misconfigured:
      failure.problem.reason = .authenticatorUnconfigured
      failure.problem.message =
        "\(provider.name) does not accept the application's clientId or clientSecret."
      failure.problem.advice = .changeSettings
      failure.refusesCredential = false
    case .wrongCredentials:
      failure.problem.reason = .wrongCredentials
      failure.problem.message = "The server refused the user name or the password."
    case .pending, .slowDown, .denied, .expired:
      failure = FlowFailure(failure.problem)
      failure.deviceState = rule.outcome.deviceState
    case .failed:
      failure.refusesCredential = rule.suggestsRelogin
      if rule.suggestsRelogin { failure.problem.hint = .relogin(provider) }
    }
    return failure
  }

  /// Interprets a refusal to which no error rule applies.
  private func refusal(_ response: HTTPResponse, _ errorText: ProviderErrorText?, at step: Step)
    -> FlowFailure
  {
    var problem = problem(response, errorText, at: step)
    if response.status == 503, problem.retryAfterSeconds != nil {
      return FlowFailure(throttled(problem, response))
    }
    if let trait = response.foreignTrait, !problem.isRetryable {
      problem.message = unusable(step, trait, isRetryable: step.isRepeated).problem.message
      problem.isRetryable = step.isRepeated
    }
    // The remedy was already tried once, so treat this as a rejected credential.
    let spent = provider.errors.rule(
      for: response, errorText, at: step, remaining: [.regrant, .renew])
    var failure = FlowFailure(
      problem, refusesCredential: spent != nil || [401, 403].contains(response.status))
    failure.isWordless = response.status == 400 && response.body.isEmpty
    if step.isRepeated, spent == nil, response.isByProxy(errorText) {
      failure.problem.isRetryable = true
    }
    return failure
  }

  private func throttled(_ problem: Problem, _ response: HTTPResponse) -> Problem {
    var problem = problem
    problem.reason = .throttled
    problem.isRetryable = true
    problem.retryAfterSeconds = retryAfterSeconds(response)
    problem.message = "\(provider.name) received too many requests."
    return problem
  }

  private func problem(
    _ response: HTTPResponse, _ errorText: ProviderErrorText?, at step: Step
  ) -> Problem {
    Problem(
      .providerFailure,
      "\(provider.name) refused \(step.phrase) with status \(response.status).",
      isRetryable: response.status >= 500,
      retryAfterSeconds: [429, 503].contains(response.status) ? retryAfterSeconds(response) : nil,
      serverError: Problem.ServerError(response, errorText, hiding: secrets))
  }

  private func retryAfterSeconds(_ response: HTTPResponse) -> Int? {
    RetryAfter.seconds(
      response, limitResetHeader: provider.errors.limitResetHeader, now: effects.now())
  }
}

extension Step {
  /// Whether einlass repeats the request by itself. Then an answer by another server, or one without
  /// a trusted certificate, does not end the attempts, because a network that wants a sign-in of its
  /// own may stand in the way.
  fileprivate var isRepeated: Bool { self == .renew || self == .deviceToken }

  /// The request as a noun phrase, for error messages.
  fileprivate var phrase: String {
    switch self {
    case .requestToken: "the request for a request token"
    case .accessToken: "the exchange of the account's token"
    case .applicationToken: "the request for the application's token"
    case .deviceToken: "the poll for the device code"
    case .token: "the request for a token"
    case .assertion: "the request for an assertion"
    case .renew: "the renewal of the token"
    case .tokenInfo: "the token check"
    case .deviceAuthorization: "the request for a device code"
    case .keySet: "the request for its keys"
    case .identity: "the identity request"
    case .revoke: "the revocation of the token"
    case .pushedAuthorization: "the pushed authorization request"
    case .login: "the login"
    case .antiForgery: "the request for its token against forged requests"
    case .sessionCheck: "the check of the session"
    }
  }
}

extension Problem {
  /// Returns the problem of a request without an answer. It is retryable for a certificate that is
  /// not trusted, if the step is repeated.
  fileprivate func passing(at step: Step) -> Problem {
    var problem = self
    if step.isRepeated, let networkCode, (-1204 ... -1200).contains(networkCode) {
      problem.isRetryable = true
    }
    return problem
  }
}

extension Exchange.Answer {
  /// Returns the reason why the answer holds no usable token, as the end of a sentence.
  ///
  /// - Parameters:
  ///   - object: The answer as the token endpoint's format has it.
  ///   - places: The places in it; `nil` for those of the standard.
  func fault(in object: JSONValue?, isBound: Bool, at places: TokenAnswer? = nil) -> String {
    guard let object else { return fault ?? "is invalid" }
    return TokenResponse.fault(
      in: places?.standard(object) ?? object, isBound: isBound,
      at: places?.tokenPlace ?? "access_token")
  }
}
