internal import EinlassJSON

extension SignIn {
  /// The registration, with the demand of the request for bound tokens.
  var binding: ClientRegistration {
    var binding = registration
    if request.bindsTokens { binding.bindsTokens = true }
    return binding
  }

  /// Returns the sign-in by the registration of this flow; `nil` without one.
  func registered(for flow: FlowKind) throws(Problem) -> SignIn? {
    let own = try choice.own(of: flow).map { own throws(Problem) in
      try provider.complete(own, with: provider.registrationNeeds, now: effects.now())
    }
    guard let registration = own ?? general else { return nil }
    var signIn = self
    signIn.registration = registration
    signIn.provider = provider.registered(as: signIn.binding)
    try signIn.keepGrantedScopes()
    return signIn
  }
}

extension Einlass {
  /// Signs in with the registration of the request or of the store. A provider that registers
  /// applications on request gives one to the first sign-in.
  func signedIn(
    _ request: SignInRequest, asking asker: Asker
  ) async throws(Problem) -> AccountStore.Added {
    let request = try withLastSettings(request)
    // Do not ask the person if the token could not be stored.
    try store.requireWritable()
    let provider = try await trusting(located(request), for: request, asking: asker)
    let choice = try store.choice(request.registration, at: provider)
    let ownFlows = choice.flows
    func signIn(
      by general: ClientRegistration?
    ) async throws(Problem) -> AccountStore.Added {
      let registration =
        ownFlows.isEmpty
        ? general
        : try choice.registration(
          for: request.account, by: request.flowKind, resource: request.resource) ?? general
      guard let registration else {
        throw .authenticatorUnconfigured(provider, missing: provider.registrationNeeds)
      }
      return try await SignIn(
        request: request, provider: provider, registration: registration, choice: choice,
        general: general, catalog: catalog, store: store, effects: effects, asker: asker,
        grantsAccess: signInsGrantAccess
      ).run()
    }
    if let flow = request.flowKind, ownFlows.contains(flow) {
      return try await signIn(by: nil)
    }
    if let document = request.registration, document.isDocument,
      choice.known.general?.isIssued != false
    {
      let showsPage = request.flowKind == nil || request.flowKind == .authorizationCode
      try await effects.requireFitting(document, at: provider, showingPage: showsPage)
      return try await signIn(by: document)
    }
    if request.registration?.isDocument != false, let offer = provider.dynamicRegistration,
      request.flowKind?.isSilent != true
    {
      return try await AutomaticRegistration(
        provider: provider, applicationName: request.applicationTitle ?? request.application,
        scopes: provider.scopes(of: request), store: store, effects: effects
      ).run(at: offer, signIn)
    }
    let found = try choice.general()
    if found == nil, request.flowKind == nil,
      provider.signInFlows(nil).contains(where: { ownFlows.contains($0.kind) })
    {
      return try await signIn(by: nil)
    }
    // Dynamic registration does not cover client credentials, so the registration must be
    // configured.
    if found == nil, request.flowKind == .clientCredentials {
      try provider.requireFlow(.clientCredentials)
      throw .authenticatorUnconfigured(provider, missing: [.clientID, .clientSecret])
    }
    if found == nil, let kind = request.flowKind, kind.tradesAssertion {
      try provider.requireFlow(kind)
      throw .authenticatorUnconfigured(provider, missing: [.clientID])
    }
    return try await signIn(
      by: provider.complete(found, with: provider.registrationNeeds, now: effects.now()))
  }
}
