internal import EinlassCrypto
internal import EinlassJSON

/// Runs the three steps of OAuth 1.0a: gets a request token, lets the person approve it, and
/// exchanges it with the verifier for an access token. RFC 5849 section 2.
///
/// The verifier comes back with the browser. If the descriptor says so, the person reads it off the
/// provider's page instead.
func threeLegged(
  _ words: FlowDescriptor.ThreeLegged, _ visit: Visit
) async throws(Setback) -> AccountStore.Added {
  var exchange = visit.exchange(hiding: [])
  var signer = Signer(method: words.signature, registration: visit.registration)
  let place = words.isPIN ? nil : try await visit.open(words.redirect)
  defer { place?.close() }

  visit.asker.report(.requesting)
  let first = try await exchange.send(
    signer.request(
      words.requestToken, adding: [Parameter("oauth_callback", place?.address ?? "oob")],
      effects: visit.effects), at: .requestToken)
  // Without the confirmation the callback is not bound to the token. This allowed the session
  // fixation attack that OAuth 1.0a prevents.
  guard let temporary = oauth1Credential(in: first.body, &exchange),
    temporary.token.count <= WebAddress.limitBytes,
    value("oauth_callback_confirmed", in: first.body) == "true"
  else { throw exchange.unusable(.requestToken) }
  let token = revealedText(temporary.token)
  let page = visit.page(words, token: token)

  func credential(
    for verifier: String, _ exchange: inout Exchange
  ) async throws(Setback) -> OAuth1Credential {
    exchange.hide(Secret(verifier))
    visit.asker.report(.exchanging)
    signer.token = temporary
    let second = try await exchange.send(
      signer.request(
        words.accessToken, adding: [Parameter("oauth_verifier", verifier)],
        effects: visit.effects), at: .accessToken)
    guard let credential = oauth1Credential(in: second.body, &exchange) else {
      throw exchange.unusable(.accessToken)
    }
    return credential
  }

  guard let place else {
    var attempt = 1
    while true {
      let pin = try await visit.pin(shownAt: page, isAgain: attempt > 1)
      let token: OAuth1Credential
      do throws(Setback) { token = try await credential(for: pin, &exchange) } catch {
        guard let said = error.refusedWords else { throw error }
        guard attempt < Visit.entriesLimit else {
          throw .failed(Failure(.wrongPIN(visit.provider, said)))
        }
        attempt += 1
        continue
      }
      return try await visit.keep(token, of: words, signer, exchange)
    }
  }
  let pending = PendingThreeLegged(token: token)
  let arrival = try await visit.sendBrowser(to: page, returningTo: place) {
    pending.response(query: $0)
  }
  return try await arrival.showing(visit) { response, visit throws(Setback) in
    switch response {
    case .verifier(let verifier):
      let token = try await credential(for: revealedText(verifier), &exchange)
      return try await visit.keep(token, of: words, signer, exchange)
    case .denied: throw .failed(Failure(.accessDenied(visit.provider, nil)))
    }
  }
}

/// A request token waiting for its callback. RFC 5849 section 2.2.
struct PendingThreeLegged {
  /// The content of a callback.
  enum Response: Equatable {
    case verifier(Secret)
    case denied
  }

  let token: String

  /// Reads a callback's query; `nil` if it is for another token. Providers report a refusal as
  /// `denied` with the token, or as `oauth_problem`.
  func response(query: String) -> Response? {
    guard query.utf8.count <= PendingAuthorization.queryLimitBytes,
      let parameters = FormEncoding.decode(query.utf8, plus: .space)
    else { return nil }
    func single(_ name: String) -> String? {
      let values = parameters.filter { sameBytes($0.name, name) }
      return values.count == 1 ? values[0].value : nil
    }
    func isOurs(_ text: String?) -> Bool {
      text.map { constantTimeEqual(Array($0.utf8), Array(token.utf8)) } ?? false
    }
    if isOurs(single("denied")) { return .denied }
    guard isOurs(single("oauth_token")) else { return nil }
    if single("oauth_problem") != nil { return .denied }
    return single("oauth_verifier").flatMap {
      TokenResponse.isToken($0) ? .verifier(Secret($0)) : nil
    }
  }
}

extension Visit {
  /// Returns the address at which the person approves the request token.
  fileprivate func page(_ words: FlowDescriptor.ThreeLegged, token: String) -> WebAddress {
    var page = words.authorize.filled(.init(texts: [.clientID: registration.clientID]))
      .request.address
    page.query = FormEncoding.encode(
      (page.query.flatMap { FormEncoding.decode($0.utf8, plus: .space) } ?? [])
        + [Parameter("oauth_token", token)] + pageParameters)
    return page
  }

  /// Asks for the token's owner and stores the token for their account.
  fileprivate func keep(
    _ credential: OAuth1Credential, of words: FlowDescriptor.ThreeLegged, _ signer: Signer,
    _ exchange: Exchange
  ) async throws(Setback) -> AccountStore.Added {
    asker.report(.verifying)
    var signer = signer
    signer.token = credential
    let identity =
      provider.identity == nil
      ? nil : try await exchange.identity { signer.request($0, effects: effects) }
    asker.report(.saving)
    do { return try await keep(.oauth1(words), .oauth1(credential), identity, asker) } catch {
      throw .failed(Failure(error))
    }
  }

  /// Asks the person for the PIN shown on the provider's page.
  fileprivate func pin(
    shownAt page: WebAddress, isAgain: Bool
  ) async throws(Setback) -> String {
    asker.report(.awaitingPerson)
    let question = Prompt.enterVerifier(.pin, isAgain: isAgain)
    let questions = isAgain ? [question] : [.openURL(page, returningTo: nil), question]
    let text = try await first(
      of: questions.map { question in
        {
          await outcome { () throws(Problem) -> Secret? in
            guard case .accept(_, let text) = try await asker.ask(question) else {
              throw .userCanceled(provider)
            }
            return text
          }
        }
      }, or: .userCanceled(provider))
    // People copy the blanks of a displayed PIN. A hyphen stays, because it may be part of the PIN.
    let pin = revealedText(text).filter { !$0.isWhitespace }
    guard TokenResponse.isToken(pin) else { throw .failed(Failure(.userCanceled(provider))) }
    return pin
  }
}

extension Setback {
  /// The provider's error for a PIN refused with 400 or 401, most likely a misread one.
  fileprivate var refusedWords: Problem.ServerError? {
    guard case .failed(let failure) = self, let said = failure.problem.serverError,
      [400, 401].contains(said.status)
    else { return nil }
    return said
  }
}

/// Returns the token and its secret from a form, and hides both in later errors.
private func oauth1Credential(in body: [UInt8], _ exchange: inout Exchange) -> OAuth1Credential? {
  guard let token = value("oauth_token", in: body), TokenResponse.isToken(token),
    let secret = value("oauth_token_secret", in: body)
  else { return nil }
  exchange.hide(Secret(token))
  if !secret.isEmpty { exchange.hide(Secret(secret)) }
  return OAuth1Credential(token: Secret(token), tokenSecret: Secret(secret))
}

private func value(_ name: String, in body: [UInt8]) -> String? {
  FormEncoding.decode(body, plus: .plus)?.last { sameBytes($0.name, name) }?.value
}
