internal import EinlassCrypto
internal import EinlassJSON

/// Shows the person a code to enter at the provider on any device, and polls until it was entered.
/// RFC 8628.
func deviceCode(
  _ descriptor: FlowDescriptor.DeviceCode, _ flow: InteractiveFlow
) async throws(FlowFailure) -> AccountStore.Added {
  let tokens = descriptor.tokens
  try flow.requireFree(descriptor.deviceAuthorization)
  flow.asker.report(.requesting)
  var exchange = flow.exchange(hiding: [])
  let scope = flow.scopes(tokens).joined(separator: flow.provider.permissions.separator)
  let granted = try await exchange.ask(
    tokens, descriptor.deviceAuthorization,
    (scope.isEmpty ? [] : [Parameter("scope", scope)])
      + tokens.parameters(for: flow.request.resource)
      + flow.pageParameters,
    by: flow.registration, scope: scope, at: .deviceAuthorization)
  let given = DeviceAuthorization(
    granted.object, descriptor.answer, from: descriptor.deviceAuthorization.address,
    now: flow.effects.now())
  guard let device = given else {
    throw exchange.unusable(
      .deviceAuthorization,
      granted.fault ?? DeviceAuthorization.fault(in: granted.object, descriptor.answer))
  }
  exchange.hide(device.deviceCode)

  flow.asker.report(.awaitingPerson)
  let polling = exchange
  let answer = try await first(
    of: [
      { @Sendable in
        await outcome { () throws(Problem) in
          try await flow.poll(descriptor, for: device, polling)
        }
      },
      { @Sendable in
        await outcome { () throws(Problem) in
          guard case .accept = try await flow.asker.ask(device.prompt) else {
            throw .userCanceled(flow.provider)
          }
          // Accepting the prompt only says that the code was shown. The poll learns the person's
          // decision.
          return nil
        }
      },
    ], or: .userCanceled(flow.provider))
  return try await flow.verifyAndSave(
    answer, of: .deviceCode(descriptor), at: tokens, nonce: nil, &exchange)
}

extension InteractiveFlow {
  /// The limit up to which a failed poll doubles the interval. A longer interval of the server
  /// stays.
  private static let intervalLimitSeconds: Int64 = 60
  private static let requestLimitSeconds: Int64 = 30

  /// Polls for the token at the server's interval until the code is approved, refused or expired.
  /// RFC 8628 section 3.5.
  fileprivate func poll(
    _ descriptor: FlowDescriptor.DeviceCode, for device: DeviceAuthorization, _ exchange: Exchange
  ) async throws(Problem) -> Exchange.Answer {
    var interval = device.intervalSeconds
    // Counted down, not compared with the clock, because the clock may be set during the wait.
    var leftSeconds = device.lifetimeSeconds
    /// The failure of the last poll; `nil` if the provider has answered it.
    var failure: Problem?
    let standard = [
      Parameter("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
      Parameter("device_code", revealedText(device.deviceCode)),
    ]
    let grant =
      (descriptor.question == nil ? standard : [])
      + descriptor.tokens.parameters(for: request.resource)
    while true {
      let wait = min(interval, leftSeconds)
      try await effects.sleepUntil(effects.now() + wait)
      leftSeconds -= wait
      guard leftSeconds > 0 else { throw .codeExpired(provider, failure) }
      let said: Problem.ServerError?
      var problem: Problem?
      var state: DeviceState?
      let askedAt = effects.now()
      // A request takes 30 s at most, so a larger difference means that the clock was set.
      defer { leftSeconds -= min(max(effects.now() - askedAt, 0), Self.requestLimitSeconds) }
      do throws(FlowFailure) {
        let answer = try await exchange.ask(
          descriptor.tokens, descriptor.question ?? descriptor.tokens.request, grant,
          by: registration,
          device: device, at: .deviceToken)
        // Some providers report an error with a success status.
        guard let error = answer.object?["error"]?.string else { return answer }
        // Compared before secrets are cut out, because a short device code may be a part of it.
        state = DeviceState(rawValue: error)
        let shown = exchange.shown(cleaned(error, limitBytes: 16 << 10))
        said = Problem.ServerError(code: cleaned(shown, limitBytes: 64))
      } catch {
        problem = error.problem
        said = problem?.serverError
        state = error.deviceState
      }
      failure = state == nil ? problem : nil
      asker.explain(failure?.message)
      switch state {
      case .pending: continue
      case .slowDown: interval += 5
      case .denied: throw .accessDenied(provider, said)
      case .expired: throw .codeExpired(provider, nil)
      case nil:
        guard let problem, problem.isRetryable else {
          throw problem ?? .unusable(provider, said)
        }
        interval = min(interval * 2, max(interval, Self.intervalLimitSeconds))
      }
    }
  }
}

/// The state of a device code, by the error codes of RFC 8628 section 3.5. A provider's own codes
/// are mapped by its error rules.
enum DeviceState: String, Sendable {
  case pending = "authorization_pending"
  case slowDown = "slow_down"
  case denied = "access_denied"
  case expired = "expired_token"

  /// The state in a refusal; `nil` for any other error. Some servers name it in their text. A server
  /// that fails cannot end the polling.
  init?(_ errorText: ProviderErrorText?, status: Int) {
    let words = [errorText?.code?.string, errorText?.text].compactMap(\.self)
    guard let state = words.compactMap(DeviceState.init).first,
      status < 500 || state == .pending || state == .slowDown
    else { return nil }
    self = state
  }
}

/// The answer to a device authorization request. RFC 8628 section 3.2.
struct DeviceAuthorization {
  var deviceCode: Secret
  var userCode: String
  var page: WebAddress
  /// The page with the user code in its address, for front ends that show it as a QR code.
  var wholePage: WebAddress?
  var expiresAt: UnixTime
  var lifetimeSeconds: Int64
  var intervalSeconds: Int64

  /// The longest lifetime of a code; a longer `expires_in` is cut to it.
  private static let limitSeconds: Int64 = 900

  init?(
    _ answer: JSONValue?, _ descriptor: FlowDescriptor.DeviceCode.Answer = .init(),
    from endpoint: WebAddress, now: UnixTime
  ) {
    func text(_ pointers: [String]) -> String? {
      pointers.lazy.compactMap { answer?.at(pointer: $0)?.string }.first
    }
    func page(_ pointers: [String]) -> WebAddress? {
      text(pointers).flatMap { try? WebAddress.parse($0) }
    }
    func seconds(_ pointers: [String], atLeast least: Double = 1) -> Int64? {
      pointers.lazy.compactMap { answer?.at(pointer: $0) }.first
        .flatMap { TokenResponse.seconds($0, atLeast: least) }
    }
    guard let code = text(descriptor.code), TokenResponse.isCode(code),
      let userCode = text(descriptor.userCode), isIdentifier(userCode),
      let page = page(descriptor.page), endpoint.mayName(page),
      let lifetime = seconds(descriptor.expiresIn)
    else { return nil }
    deviceCode = Secret(code)
    self.userCode = userCode
    self.page = page
    let whole = text(descriptor.wholePage).flatMap { try? WebAddress.parse($0) }
    wholePage = whole?.origin == page.origin ? whole : nil
    lifetimeSeconds = min(lifetime, Self.limitSeconds)
    expiresAt = now + lifetimeSeconds
    intervalSeconds = min(max(seconds(descriptor.interval, atLeast: 0) ?? 5, 1), 300)
  }

  /// Returns the reason why an answer is unusable, as the end of a sentence; `nil` if it has every
  /// member.
  static func fault(
    in answer: JSONValue?, _ descriptor: FlowDescriptor.DeviceCode.Answer = .init()
  ) -> String? {
    func lacks(_ pointers: [String]) -> Bool {
      !pointers.contains { answer?.at(pointer: $0)?.string != nil }
    }
    if lacks(descriptor.code) { return "lacks device_code" }
    if lacks(descriptor.userCode) { return "lacks user_code" }
    if lacks(descriptor.page) { return "lacks verification_uri" }
    let lifetimes = descriptor.expiresIn.compactMap { answer?.at(pointer: $0) }
    guard let lifetime = lifetimes.first else { return "lacks expires_in" }
    guard TokenResponse.seconds(lifetime) == nil else { return nil }
    return "is invalid: expires_in is \(lifetime.int64.map { "\($0)" } ?? "no number of seconds")"
  }

  var prompt: Prompt {
    .deviceCode(page, wholePage: wholePage, userCode: userCode, expiresAt: expiresAt)
  }
}

extension Problem {
  fileprivate static func unusable(_ provider: Provider, _ said: ServerError?) -> Problem {
    Problem(
      .providerFailure, "\(provider.name) refused the code.",
      provider: provider.id, serverError: said)
  }

  /// The end of a code. `failure`: that of the last poll, after which nobody knows whether the code
  /// was entered.
  fileprivate static func codeExpired(_ provider: Provider, _ failure: Problem?) -> Problem {
    let message =
      failure.map { "The code has ended, and the last poll for it has failed: \($0.message)" }
      ?? "The code was not entered at \(provider.name) in time."
    return Problem(
      .flowExpired, message, isRetryable: true, provider: provider.id,
      networkCode: failure?.networkCode, serverError: failure?.serverError)
  }
}
