internal import EinlassJSON

/// A service's word that it refused the application's credential: `credentials.reject` of the
/// protocol.
extension CredentialRun {
  /// Marks a credential that can be replaced as refused, so that the next request brings another.
  ///
  /// A credential that only a sign-in replaces is marked if the provider rejects it, because a
  /// service can be wrong. If the provider takes it or cannot be asked, it is refused for the named
  /// service alone, for some minutes.
  func reject() async throws(Problem) {
    let credentials = try store.credentials(account.id)
    guard let former = try own(of: credentials) else {
      throw .nothingStored(
        for: registration, request.resource, among: credentials, provider, account)
    }
    let lease = try await store.lease(account.id, waiting: effects)
    defer { lease.keepAlive() }
    let flow = try flow(under: lease, former)
    guard let own = flow.own, own.generation == former.generation, !own.isRefused else { return }
    let isReplaceable = canAsk(own) && flow.isReplaceable
    guard isReplaceable || !request.rejectsOnlyRenewable else { return }
    var settlement = AccountStore.Settlement(
      basis: [own], isRefusal: isReplaceable || isOnlyForItsServer(own))
    let now = effects.now()
    // Written before the question, so that a process that is killed meanwhile leaves neither a dead
    // account nor a question that the next process repeats at once.
    let isPaused = try isPaused(at: now)
    let asks = flow.hasOwnerToAsk && !isPaused
    if asks {
      settlement.serviceRefusals.append(
        .init(of: own.place, by: "", endsAt: now + ServiceRefusal.pauseSeconds))
    }
    if isReplaceable || !settlement.isRefusal, let service = request.service {
      settlement.serviceRefusals.append(
        .init(of: own.place, by: service, endsAt: now + ServiceRefusal.seconds))
    }
    if settlement.isRefusal || !settlement.serviceRefusals.isEmpty {
      settlement.time = now
      guard try store.settle(account.id, settlement) != nil else { return }
    }
    guard asks, let failure = await flow.identityRefusal(of: own) else { return }
    guard failure.problem.reason != .cancelled else { throw failure.problem }
    guard !isReplaceable, failure.rejectsCredential else {
      return flow.remember(failure, in: store)
    }
    // The token of another application may be good.
    let isOnlyOne = !credentials.contains {
      $0.place != own.place && $0.resource == nil && !$0.isRefused
    }
    _ = try store.settle(
      account.id,
      .init(basis: [own], isRefusal: true) { if isOnlyOne { $0.health = .reloginNeeded } })
  }

  /// Throws `throttled` while the credential is refused by the service that the request is for.
  func requireAccepted(_ stored: StoredCredential) throws(Problem) {
    guard !stored.isRefused, let service = request.service,
      var problem = account.refusal(of: stored, by: service, at: provider, now: effects.now())
    else { return }
    if provider.signInKind(asking: request.promptKinds) != nil {
      problem.hint = .init(
        "accounts.signIn", ["provider": provider.id, "account": account.id.rawValue])
    }
    throw problem
  }

  /// Whether a credential that could not be replaced yet may serve once more: a service has refused
  /// it, and this request is for another one.
  func isLeft(_ stored: StoredCredential) -> Bool {
    let refusals = account.serviceRefusals.filter {
      $0.place == stored.place && !$0.service.isEmpty && $0.isActive(at: effects.now())
    }
    return !refusals.isEmpty
      && !refusals.contains { sameBytes($0.service, request.service ?? "") }
  }

  /// Whether the provider was asked about the account less than a minute ago, by any process.
  private func isPaused(at now: UnixTime) throws(Problem) -> Bool {
    try store.account(account.id).serviceRefusals.contains {
      $0.service.isEmpty && $0.isActive(at: now)
    }
  }

  /// Whether the word of one server is the last one about a credential: the resource's about its own
  /// token, and that of the person's server about a session that cannot be checked.
  private func isOnlyForItsServer(_ stored: StoredCredential) -> Bool {
    var server = stored.resource
    if case .session = stored.credential, provider.passwordSession?.check == nil {
      server = stored.binding.origins.first
    }
    guard let server else { return false }
    return request.service.map { sameBytes($0, ServiceRefusal.service(server) ?? "") } ?? true
  }
}

extension Account {
  /// The problem `throttled` while the service refuses the credential; `nil` while it does not.
  func refusal(
    of stored: StoredCredential, by service: String, at provider: Provider, now: UnixTime
  ) -> Problem? {
    serviceRefusals.first {
      $0.place == stored.place && sameBytes($0.service, service) && $0.isActive(at: now)
    }.map { .refused(by: service, provider, self, seconds: Int($0.endsAt - now)) }
  }
}

extension StoredCredentialFlow {
  /// Whether another credential can take the place of the stored one without a person, once that is
  /// marked as refused.
  fileprivate var isReplaceable: Bool {
    var refused = self
    for index in credentials.indices where credentials[index].place == own?.place {
      refused.credentials[index].isRefused = true
    }
    return refused.canRenew || canIssue && resource == nil
  }

  /// Whether the provider can be asked about the account with the stored credential.
  ///
  /// A resource's token is not accepted by the provider's identity endpoint, a client credentials
  /// token has no person to ask about, and an assertion's token and a session with a remembered
  /// password are replaced without a person.
  fileprivate var hasOwnerToAsk: Bool {
    resource == nil && !descriptor.kind.isSilent && own?.remembersPassword == false
  }
}

extension FlowFailure {
  /// Whether the provider says that the credential itself is invalid. Status 403 may be about the
  /// identity request alone.
  fileprivate var rejectsCredential: Bool {
    health == .reloginNeeded
      || health == nil && refusesCredential && problem.serverError?.status != 403
  }
}

extension Problem {
  /// A service has refused the token, and the provider has not.
  fileprivate static func refused(
    by service: String, _ provider: Provider, _ account: Account, seconds: Int
  ) -> Problem {
    Problem(
      .throttled,
      "\(presentable(service)) has refused the token of the \(provider.name) account, so the token is not returned for it for \(seconds) more second\(seconds == 1 ? "" : "s").",
      advice: .checkRights, detail: "refusedByService", isRetryable: true, provider: provider.id,
      account: account.id,
      retryAfterSeconds: seconds)
  }
}
