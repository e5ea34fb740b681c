internal import EinlassCrypto

/// Exchanges the account's own OAuth 1.0a token for one of the application.
///
/// The application signs the first request and gets a text that only the provider understands. The
/// account signs the second, which exchanges this text for a token of the application. The
/// application signs the third with the new token, to learn its owner.
func reverseAuth(
  _ descriptor: FlowDescriptor.ReverseAuth, _ flow: StoredCredentialFlow
) async throws(FlowFailure) -> StoredCredentialFlow.SignedIn {
  var exchange = flow.exchange(hiding: [])
  let token: OAuth1Credential
  var isNew = true
  if let adopted = try flow.adopted.map(flow.sendable),
    case .oauth1(let stored) = adopted.credential
  {
    exchange.hide(stored.token)
    exchange.hide(stored.tokenSecret)
    (token, isNew) = (stored, false)
  } else {
    token = try await exchangedToken(descriptor, flow, &exchange)
  }

  flow.report(.verifying)
  let application = Signer(
    method: descriptor.signature, registration: flow.registration, token: token)
  let identity = try await exchange.identity {
    application.request($0, effects: flow.effects)
  }
  return StoredCredentialFlow.SignedIn(credential: .oauth1(token), identity: identity, isNew: isNew)
}

/// Sends the first two requests. `exchange` hides the secrets learned on the way.
func exchangedToken(
  _ descriptor: FlowDescriptor.ReverseAuth, _ flow: StoredCredentialFlow, _ exchange: inout Exchange
) async throws(FlowFailure) -> OAuth1Credential {
  let system = try flow.systemCredential()
  guard case .oauth1(let systemToken) = system.credential else {
    throw FlowFailure(.reloginNeeded(flow.provider, flow.account))
  }
  for secret in [
    system.registration.clientSecret, systemToken.token, systemToken.tokenSecret,
  ] {
    secret.map { exchange.hide($0) }
  }
  let application = Signer(method: descriptor.signature, registration: flow.registration)
  let account = Signer(
    method: descriptor.signature, registration: system.registration, token: systemToken)
  var values = Template.Values(texts: [.clientID: flow.registration.clientID])

  flow.report(.requesting)
  let requestToken = try await exchange.send(
    application.request(descriptor.requestToken, values, effects: flow.effects), at: .requestToken)
  // The text is used verbatim, because its signature covers it as sent. The prefix keeps out an
  // error page of an overloaded server.
  guard let text = String(validating: requestToken.body, as: UTF8.self), text.hasPrefix("OAuth ")
  else { throw exchange.unusable(.requestToken) }
  values[.requestToken] = text
  exchange.hide(Secret(text))
  for parameter in AuthorizationHeader.parse(text) ?? [] where isSecretParameter(parameter.name) {
    exchange.hide(Secret(parameter.value))
  }

  flow.report(.exchanging)
  let accessToken = try await exchange.send(
    account.request(descriptor.accessToken, values, effects: flow.effects), at: .accessToken)
  guard let token = tokenCredentials(in: accessToken.body) else {
    throw exchange.unusable(.accessToken)
  }
  exchange.hide(token.token)
  exchange.hide(token.tokenSecret)
  return token
}

/// Returns the token of a form. Escapes are decoded, `+` is left alone, and the last of duplicates
/// counts.
private func tokenCredentials(in body: [UInt8]) -> OAuth1Credential? {
  guard let fields = FormEncoding.decode(body, plus: .plus) else { return nil }
  func last(_ name: String) -> Secret? {
    let value = fields.last { $0.name == name }?.value
    return value.flatMap { TokenResponse.isToken($0) ? Secret($0) : nil }
  }
  guard let token = last("oauth_token"), let secret = last("oauth_token_secret") else {
    return nil
  }
  return OAuth1Credential(token: token, tokenSecret: secret)
}

private func isSecretParameter(_ name: String) -> Bool {
  ["oauth_token", "oauth_signature", "oauth_nonce"].contains(name)
}
