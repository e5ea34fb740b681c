internal import EinlassCrypto
internal import EinlassJSON

/// Shows the person a code to enter at the provider, on any device, and asks until that was done. RFC 8628.
func deviceCode(
  _ words: FlowDescriptor.DeviceCode, _ visit: Visit
) async throws(Setback) -> Account {
  let tokens = words.tokens
  visit.asker.report(.requesting)
  var exchange = visit.exchange(hiding: [])
  let scope = visit.scopes(tokens).joined(separator: visit.provider.permissions.separator)
  let granted = try await exchange.ask(
    tokens, words.deviceAuthorization, scope.isEmpty ? [] : [Parameter("scope", scope)],
    by: visit.registration, at: .deviceAuthorization)
  guard let device = DeviceAuthorization(granted.object, now: visit.effects.now()) else {
    throw exchange.unusable(.deviceAuthorization)
  }
  exchange.hide(device.deviceCode)

  visit.asker.report(.awaitingPerson)
  let polling = exchange
  let answer = try await first(
    of: [
      { @Sendable in
        await outcome { () throws(Problem) in
          try await visit.poll(tokens, for: device, polling)
        }
      },
      { @Sendable in
        await outcome { () throws(Problem) in
          guard case .accept = try await visit.asker.ask(device.prompt) else {
            throw .userCanceled(visit.provider)
          }
          // The code was shown; what the person does with it, the provider knows.
          return nil
        }
      },
    ], or: .userCanceled(visit.provider))
  return try await visit.keep(
    answer, of: .deviceCode(words), at: tokens, nonce: nil, &exchange)
}

extension Visit {
  /// The longest wait between two questions.
  private static let intervalLimitSeconds: Int64 = 60

  /// Asks for the token as often as the provider wants it, until it is there. RFC 8628 section 3.5.
  fileprivate func poll(
    _ tokens: TokenEndpoint, for device: DeviceAuthorization, _ exchange: Exchange
  ) async throws(Problem) -> Exchange.Answer {
    var interval = device.intervalSeconds
    let grant = [
      Parameter("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
      Parameter("device_code", revealedText(device.deviceCode)),
    ]
    while true {
      try await effects.sleepUntil(effects.now() + interval)
      guard effects.now() < device.expiresAt else { throw .codeExpired(provider) }
      let said: Problem.ServerError?
      var problem: Problem?
      do throws(Setback) {
        let answer = try await exchange.ask(
          tokens, tokens.request, grant, by: registration, at: .token)
        // Some say it with a status of success.
        guard let error = answer.object?["error"]?.string else { return answer }
        said = Problem.ServerError(code: cleaned(error, limitBytes: 64))
      } catch {
        guard case .failed(let failure) = error else { throw .userCanceled(provider) }
        problem = failure.problem
        said = problem?.serverError
      }
      switch said?.code {
      case "authorization_pending": continue
      case "slow_down": interval += 5
      case "access_denied": throw .accessDenied(provider, said)
      case "expired_token": throw .codeExpired(provider)
      default:
        guard let problem, problem.isRetryable else {
          throw problem ?? .unusable(provider, said)
        }
        interval = min(interval * 2, max(interval, Self.intervalLimitSeconds))
      }
    }
  }
}

/// What a device is told to show and to ask with. RFC 8628 section 3.2.
struct DeviceAuthorization {
  var deviceCode: Secret
  var userCode: String
  var page: WebAddress
  /// With the code in it, for machines that can show a picture of it.
  var wholePage: WebAddress?
  var expiresAt: UnixTime
  var intervalSeconds: Int64

  /// No code is waited for any longer, whatever its issuer says. C-60.
  private static let limitSeconds: Int64 = 900

  init?(_ answer: JSONValue?, now: UnixTime) {
    func page(_ names: String...) -> WebAddress? {
      names.lazy.compactMap { answer?[$0]?.string }.first
        .flatMap { try? WebAddress.parse($0) }.flatMap { $0.isSafe ? $0 : nil }
    }
    guard let code = answer?["device_code"]?.string, TokenResponse.isCode(code),
      let userCode = answer?["user_code"]?.string, isIdentifier(userCode),
      // Some issuers still say it as an early draft did.
      let page = page("verification_uri", "verification_url"),
      let seconds = answer?["expires_in"]?.int64, seconds > 0
    else { return nil }
    deviceCode = Secret(code)
    self.userCode = userCode
    self.page = page
    wholePage = answer?["verification_uri_complete"]?.string
      .flatMap { try? WebAddress.parse($0) }.flatMap { $0.origin == page.origin ? $0 : nil }
    expiresAt = now + min(seconds, Self.limitSeconds)
    intervalSeconds = min(max(answer?["interval"]?.int64 ?? 5, 1), 300)
  }

  var prompt: Prompt {
    .deviceCode(page, wholePage: wholePage, userCode: userCode, expiresAt: expiresAt)
  }
}

extension Problem {
  fileprivate static func unusable(_ provider: Provider, _ said: ServerError?) -> Problem {
    Problem(
      .providerFailure, "\(provider.name) refused the code. See its own words.",
      provider: provider.id, serverError: said)
  }

  fileprivate static func codeExpired(_ provider: Provider) -> Problem {
    Problem(
      .flowExpired, "The code was not entered at \(provider.name) in time. Start again.",
      isRetryable: true, provider: provider.id)
  }
}
