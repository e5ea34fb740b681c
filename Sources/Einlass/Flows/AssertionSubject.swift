internal import EinlassCrypto
internal import EinlassJSON

/// The token that an application shows in a grant with an assertion: an account's id_token, or the
/// content of a file.
struct AssertionSubject: Sendable {
  /// The account with the id_token, and the registration that the id_token was issued to.
  struct Owner: Sendable {
    @Indirect var account: Account
    var provider: Provider
    @Indirect var registration: ClientRegistration
    /// The only origins that may receive the id_token.
    var origins: [String]
  }

  var source: AssertionSource
  var token: Secret
  /// `nil` for a file.
  var owner: Owner?
}

/// An assertion that may be sent: its source is known, and the server has not refused it before.
struct SendableAssertion: Sendable {
  var source: AssertionSource
  var text: Secret
  /// The subject of the assertion, named after the account that it comes from.
  var identity: Identity
  /// The name under which an assertion for one use is remembered; `nil` for other assertions.
  var useName: Secret?
}

extension Einlass {
  /// Returns the token that the application shows for an account of another flow: an id_token as
  /// `credentials.get` returns it, refreshed first if it has ended.
  ///
  /// The account's lease is free again afterwards, so that the request never holds two leases.
  ///
  /// - Parameters:
  ///   - registration: The application's registration at the provider of the new token.
  ///   - request: Makes the application's request for an account's credential.
  func assertionSubject(
    _ source: AssertionSource, by registration: ClientRegistration, at provider: Provider,
    _ request: (Account.ID) -> CredentialRequest
  ) async throws(Problem) -> AssertionSubject {
    guard case .account(let id, let subject) = source else {
      guard let path = registration.assertionFile else {
        throw .noAssertionSource(provider)
      }
      return AssertionSubject(source: .file, token: try effects.readAssertionFile(path))
    }
    let owners = try store.read { reader throws(Problem) in
      try reader.accounts(of: id, subject: subject, limit: 10)
    }
    guard let owner = owners.first(where: \.isSignedIn) else {
      throw .assertionSourceGone(catalog.name(of: id), subject, owners.first, at: id)
    }
    do throws(Problem) { return try await assertionSubject(of: owner, request(owner.id)) } catch {
      guard error.reason == .reloginNeeded else { throw error }
      guard error.detail == Problem.assertionSource else {
        throw .assertionSourceGone(catalog.name(of: id), subject, owner, at: id)
      }
      // The problem names the source itself. It is about the account that came from there.
      var problem = error
      (problem.provider, problem.account) = (nil, nil)
      throw problem
    }
  }

  /// Returns the subject for another token in place of a stored one that came from an assertion;
  /// `nil` for a credential of another flow.
  func assertionSubject(
    for stored: StoredCredential?, by registration: ClientRegistration, at provider: Provider,
    _ request: (Account.ID) -> CredentialRequest
  ) async -> Result<AssertionSubject, Problem>? {
    guard let source = stored?.assertionSource else { return nil }
    do throws(Problem) {
      return .success(
        try await assertionSubject(source, by: registration, at: provider, request))
    } catch { return .failure(error) }
  }

  /// Returns the application's id_token of an account. Throws the errors of `credential`, and
  /// `reloginNeeded` without an id_token.
  func assertionSubject(
    of account: Account, _ request: CredentialRequest
  ) async throws(Problem) -> AssertionSubject {
    let provider = try catalog.provider(account.provider)
    guard let subject = account.subject else { throw .noSubject(provider, account) }
    guard !request.dependents.contains(account.id) else { throw .assertionCycle(provider, account) }
    var request = request
    request.needsIDToken = true
    let result = try await credential(request)
    guard case .oauth2(let token)? = result.credential else {
      throw .noIDToken(provider, account, scopes: [])
    }
    guard let idToken = token.idToken else {
      throw .noIDToken(provider, account, scopes: token.scopes)
    }
    let registration = try provider.complete(
      store.registration(request.registration(provider.id), at: provider, for: account.id),
      with: provider.registrationNeeds)
    let stored = try store.credentials(account.id).issued(to: registration, for: nil)
    return AssertionSubject(
      source: .account(provider: provider.id, subject: subject), token: idToken,
      owner: .init(
        account: account, provider: provider.registered(as: registration),
        registration: registration, origins: stored?.binding.origins ?? []))
  }
}

extension AssertionSubject {
  /// The person or workload of a token from this source, with the user name of the account.
  private func identity(_ subject: String) -> Identity {
    Identity(id: subject, username: owner?.account.username ?? subject)
  }

  /// Returns the assertion for another server. RFC 7523 section 3.
  ///
  /// An account's issuer makes one if it offers that (Identity Assertion JWT Authorization Grant).
  /// Otherwise the id_token is the assertion if it is for that server too.
  ///
  /// Throws `verificationFailed` for an assertion that the server could not accept, and
  /// `flowNotSupported` if there is none.
  func assertion(
    for endpoint: TokenEndpoint, of target: Provider, scopes: [String], resource: String?,
    _ effects: Effects
  ) async throws(FlowFailure) -> SendableAssertion {
    guard let owner else {
      return try sendable(token, to: endpoint, of: target, effects)
    }
    if let issuing = owner.provider.identityAssertions {
      let issued = try await issuedAssertion(
        for: endpoint, at: issuing, of: owner, scopes: scopes, resource: resource, effects)
      return try sendable(issued, to: endpoint, of: target, effects)
    }
    guard (try? Assertion(token))?.isFor(endpoint.audienceNames) == true else {
      throw FlowFailure(.noAssertion(owner.provider, for: target))
    }
    return try sendable(token, to: endpoint, of: target, effects)
  }

  /// Returns the token to exchange at another server's endpoint. RFC 8693 section 2.1.
  ///
  /// An id_token goes back to its own issuer, and to a server that it is for; to no other, because
  /// that server could present it elsewhere.
  func exchangeable(
    at endpoint: TokenEndpoint, of target: Provider, _ effects: Effects
  ) throws(FlowFailure) -> SendableAssertion {
    guard let owner, sameBytes(owner.provider.id, target.id) else {
      if let owner, (try? Assertion(token))?.isFor(endpoint.exchangeNames) != true {
        throw FlowFailure(.noAssertion(owner.provider, for: target))
      }
      return try sendable(token, to: endpoint, of: target, names: endpoint.exchangeNames, effects)
    }
    try owner.requireBound(endpoint)
    return SendableAssertion(
      source: source, text: token, identity: identity(owner.account.subject ?? ""))
  }

  private func sendable(
    _ text: Secret, to endpoint: TokenEndpoint, of target: Provider, names: [String]? = nil,
    _ effects: Effects
  ) throws(FlowFailure) -> SendableAssertion {
    do throws(Assertion.Fault) {
      let assertion = try Assertion(text)
      try assertion.check(for: names ?? endpoint.audienceNames, now: effects.now())
      // A workload may show the same file again and again.
      let useName = owner == nil ? nil : assertion.id.map { Secret($0) }
      for name in [text, useName].compactMap(\.self) {
        if let wasTaken = effects.memory.spentAssertions.read(endpoint.digest(of: name)) {
          throw wasTaken ? .used : .refused
        }
      }
      return SendableAssertion(
        source: source, text: text, identity: identity(assertion.subject), useName: useName)
    } catch {
      throw FlowFailure(.assertionRejected(error, from: owner?.provider, for: target))
    }
  }

  private func issuedAssertion(
    for endpoint: TokenEndpoint, at issuing: TokenEndpoint, of owner: Owner, scopes: [String],
    resource: String?, _ effects: Effects
  ) async throws(FlowFailure) -> Secret {
    try owner.requireBound(issuing)
    let exchange = Exchange(
      provider: owner.provider, effects: effects, remaining: [],
      secrets: [owner.registration.clientSecret, token])
    let type = AssertionGrant.TokenType.identityAssertion
    let grant =
      [
        Parameter("grant_type", AssertionGrant.tokenExchange),
        Parameter("requested_token_type", type), Parameter("audience", endpoint.issuerName),
      ] + issuing.parameters(for: resource)
      + (scopes.isEmpty ? [] : [Parameter("scope", scopes.joined(separator: " "))]) + [
        Parameter("subject_token", revealedText(token)),
        Parameter("subject_token_type", AssertionGrant.TokenType.idToken),
      ]
    let answer: Exchange.Answer
    do throws(FlowFailure) {
      answer = try await exchange.ask(
        issuing, issuing.request, grant, by: owner.registration, at: .assertion)
    } catch {
      // The refusal is about the account of the source, so it says nothing about the other account.
      throw FlowFailure(error.problem.about(owner.provider, owner.account.id))
    }
    let object = issuing.object(answer)
    guard object?["issued_token_type"]?.string.map({ sameBytes($0, type) }) == true,
      object?["token_type"]?.string.map({ sameBytes($0.lowercased(), "n_a") }) == true,
      let text = object?["access_token"]?.string
    else { throw exchange.unusable(.assertion) }
    return Secret(text)
  }
}

extension AssertionSubject.Owner {
  /// Throws `bindingMismatch` if the exchange uses an origin outside the binding of the id_token. A
  /// descriptor may have changed since the sign-in.
  fileprivate func requireBound(_ endpoint: TokenEndpoint) throws(FlowFailure) {
    guard endpoint.requests.allSatisfy({ origins.contains(provider.origin(of: $0.address)) }) else {
      throw FlowFailure(.bindingMismatch(provider, account))
    }
  }
}

extension TokenEndpoint {
  /// The names under which a token to exchange may address this server: also the audience that the
  /// descriptor adds to each request.
  fileprivate var exchangeNames: [String] {
    audienceNames
      + request.form.filter { $0.name == "audience" }.map { $0.value.filled(Template.Values()) }
  }

  /// The key of an assertion that this server does not accept again.
  func digest(of text: Secret) -> String {
    let digest = Digest.sha256(Array(request.address.text.utf8) + [0] + revealedBytes(text))
    return Base64URL.encode(digest)
  }
}

extension Provider {
  /// The endpoint that makes assertions about its people for other servers; `nil` if the provider
  /// does not offer that.
  fileprivate var identityAssertions: TokenEndpoint? {
    for case .tokenExchange(let flow) in flows
    where flow.issues(AssertionGrant.TokenType.identityAssertion) {
      return flow.tokens
    }
    return nil
  }
}

extension ProviderCatalog {
  /// Returns the name of a provider for people, or its id if the catalogue lacks it.
  fileprivate func name(of id: String) -> String { (try? provider(id))?.name ?? id }
}
