internal import EinlassCrypto
internal import EinlassJSON

/// Runs the three steps of OAuth 1.0a: gets a request token, lets the person approve it, and
/// exchanges it with the verifier for an access token. RFC 5849 section 2.
///
/// The verifier comes back with the browser. If the descriptor says so, the person reads it off the
/// provider's page instead.
func threeLegged(
  _ descriptor: FlowDescriptor.ThreeLegged, _ flow: InteractiveFlow
) async throws(FlowFailure) -> AccountStore.Added {
  var exchange = flow.exchange(hiding: [])
  var signer = Signer(method: descriptor.signature, registration: flow.registration)
  let place = descriptor.isPIN ? nil : try await flow.open(descriptor.redirect)
  defer { place?.close() }

  flow.asker.report(.requesting)
  let first = try await exchange.send(
    signer.request(
      descriptor.requestToken, adding: [Parameter("oauth_callback", place?.address ?? "oob")],
      effects: flow.effects), at: .requestToken)
  // Without the confirmation the callback is not bound to the token. This allowed the session
  // fixation attack that OAuth 1.0a prevents.
  guard let temporary = oauth1Credential(in: first.body, &exchange),
    temporary.token.count <= WebAddress.limitBytes,
    value("oauth_callback_confirmed", in: first.body) == "true"
  else { throw exchange.unusable(.requestToken) }
  let token = revealedText(temporary.token)
  let page = flow.page(descriptor, token: token)

  func credential(
    for verifier: String, _ exchange: inout Exchange
  ) async throws(FlowFailure) -> OAuth1Credential {
    exchange.hide(Secret(verifier))
    flow.asker.report(.exchanging)
    signer.token = temporary
    let second = try await exchange.send(
      signer.request(
        descriptor.accessToken, adding: [Parameter("oauth_verifier", verifier)],
        effects: flow.effects), at: .accessToken)
    guard let credential = oauth1Credential(in: second.body, &exchange) else {
      throw exchange.unusable(.accessToken)
    }
    return credential
  }

  guard let place else {
    var attempt = 1
    while true {
      let pin = try await flow.pin(shownAt: page, isAgain: attempt > 1)
      let token: OAuth1Credential
      do throws(FlowFailure) { token = try await credential(for: pin, &exchange) } catch {
        guard let said = error.pinRefusal else { throw error }
        guard attempt < InteractiveFlow.entriesLimit else {
          throw FlowFailure(.wrongPIN(flow.provider, said))
        }
        attempt += 1
        continue
      }
      return try await flow.verifyAndSave(token, of: descriptor, signer, exchange)
    }
  }
  let pending = PendingThreeLegged(token: token)
  let arrival = try await flow.sendBrowser(to: page, returningTo: place) {
    pending.response($0)
  }
  return try await arrival.showing(flow) { response, flow throws(FlowFailure) in
    switch response {
    case .verifier(let verifier):
      let token = try await credential(for: revealedText(verifier), &exchange)
      return try await flow.verifyAndSave(token, of: descriptor, signer, exchange)
    case .denied: throw FlowFailure(.accessDenied(flow.provider, nil))
    case .unusable(let flaw): throw FlowFailure(.unusableResponse(flow.provider, flaw))
    }
  }
}

/// A request token waiting for its callback. RFC 5849 section 2.2.
struct PendingThreeLegged {
  /// The content of a callback.
  enum Response: Equatable {
    case verifier(Secret)
    case denied
    /// A callback with this flaw, a predicate.
    case unusable(String)
  }

  let token: String

  /// Reads a callback; `nil` if it is for another token. Providers report a refusal as `denied` with
  /// the token, or as `oauth_problem`.
  func response(_ returned: RedirectParameters) -> Response? {
    let parameters = ReturnedParameters(returned)
    if parameters.has("denied", token) { return .denied }
    guard parameters.has("oauth_token", token) else { return nil }
    if let flaw = parameters.flaw(in: ["oauth_verifier"]) { return .unusable(flaw) }
    if parameters["oauth_problem"] != nil { return .denied }
    guard let verifier = parameters["oauth_verifier"], TokenResponse.isToken(verifier) else {
      return .unusable("has no usable oauth_verifier")
    }
    return .verifier(Secret(verifier))
  }
}

extension InteractiveFlow {
  /// Returns the address at which the person approves the request token.
  fileprivate func page(_ descriptor: FlowDescriptor.ThreeLegged, token: String) -> WebAddress {
    var page = descriptor.authorize.filled(.init(texts: [.clientID: registration.clientID]))
      .request.address
    page.query = FormEncoding.encode(
      (page.query.flatMap { FormEncoding.decode($0.utf8, plus: .space) } ?? [])
        + [Parameter("oauth_token", token)] + pageParameters)
    return page
  }

  /// Asks for the token's owner and stores the token for their account.
  fileprivate func verifyAndSave(
    _ credential: OAuth1Credential, of descriptor: FlowDescriptor.ThreeLegged, _ signer: Signer,
    _ exchange: Exchange
  ) async throws(FlowFailure) -> AccountStore.Added {
    asker.report(.verifying)
    var signer = signer
    signer.token = credential
    let identity =
      provider.identity == nil
      ? nil : try await exchange.identity { signer.request($0, effects: effects) }
    asker.report(.saving)
    do { return try await save(.oauth1(descriptor), .oauth1(credential), identity, asker) } catch {
      throw FlowFailure(error)
    }
  }

  /// Asks the person for the PIN shown on the provider's page.
  fileprivate func pin(
    shownAt page: WebAddress, isAgain: Bool
  ) async throws(FlowFailure) -> String {
    asker.report(.awaitingPerson)
    let question = Prompt.enterVerifier(.pin, isAgain: isAgain)
    let questions = isAgain ? [question] : [.openURL(page, returningTo: nil), question]
    let text = try await first(
      of: questions.map { question in
        {
          await outcome { () throws(Problem) -> Secret? in
            guard case .accept(_, let text, _, _) = try await asker.ask(question) else {
              throw .userCanceled(provider)
            }
            return text
          }
        }
      }, or: .userCanceled(provider))
    // People copy the blanks of a displayed PIN. A hyphen stays, because it may be part of the PIN.
    let pin = revealedText(text).filter { !$0.isWhitespace }
    guard TokenResponse.isToken(pin) else { throw FlowFailure(.userCanceled(provider)) }
    return pin
  }
}

extension FlowFailure {
  /// The provider's error for a PIN refused with 400 or 401, most likely a misread one.
  fileprivate var pinRefusal: Problem.ServerError? {
    problem.serverError.flatMap { [400, 401].contains($0.status) ? $0 : nil }
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
