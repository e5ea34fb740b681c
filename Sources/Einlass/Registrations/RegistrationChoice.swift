internal import EinlassJSON

/// The registrations of an application at a provider: its own, otherwise the stored ones.
final class RegistrationChoice: Sendable {
  /// The application's own.
  private let own: ClientRegistration?
  private let provider: Provider
  /// The stored ones.
  let known: [StoredRegistration.Known]
  private let store: AccountStore
  private let patience: AccountStore.Patience
  /// The flows with a registration of their own.
  let flows: [FlowKind]

  fileprivate init(
    _ own: ClientRegistration?, at provider: Provider, in store: AccountStore,
    _ patience: AccountStore.Patience
  ) throws(Problem) {
    (self.own, self.provider, self.store, self.patience) = (own, provider, store, patience)
    known =
      own?.isDocument == false ? [] : try store.knownRegistrations(at: provider, patience)
    flows = provider.registeredFlows(by: own, or: known)
  }

  /// Returns the registration that this flow has of its own; `nil` if the general one serves it.
  func own(of flow: FlowKind) throws(Problem) -> ClientRegistration? {
    if let own, !own.isDocument { return own.flows[flow] }
    guard let known = known.first(where: { $0.flow == flow }) else { return nil }
    return try opened(known)
  }

  /// Returns the registration of the flows without one of their own: the application's own,
  /// otherwise the one of `providers.configure`, otherwise the client ID metadata document,
  /// otherwise the automatic one; `nil` without all.
  ///
  /// - Parameter credentials: those of an account. One that was signed in to by the automatic
  ///   registration stays with it, although there is a document now.
  func general(for credentials: [StoredCredential]? = nil) throws(Problem) -> ClientRegistration? {
    if let own, !own.isDocument { return own }
    guard let known = known.general else { return own }
    if let own, known.isIssued {
      let clients = credentials?.map(\.registration.clientID)
      let isAutomatic =
        clients?.contains { sameBytes($0, known.clientID) } == true
        && clients?.contains { sameBytes($0, own.clientID) } == false
      guard isAutomatic else { return own }
    }
    return try opened(known)
  }

  /// Returns the registration that the credential was issued to: that of its flow, or the general
  /// one. That of another flow may have the same client id with another secret, so it is never used.
  func registration(
    of stored: StoredCredential, _ general: ClientRegistration?
  ) throws(Problem) -> ClientRegistration? {
    try [own(of: stored.binding.flowKind), general].compactMap(\.self).first {
      sameBytes($0.clientID, stored.registration.clientID)
    }
  }

  /// Returns the registration to use; `nil` without one. The newest credential of an account has the
  /// one that it was issued to; otherwise a flow has its own or the general one. Throws
  /// `bindingMismatch` if the stored one was made for another server.
  ///
  /// - Parameters:
  ///   - account: the account of the request; `nil` for none.
  ///   - flow: the flow of the request; `nil` for that of the account's credential.
  ///   - resource: the resource of that credential.
  func registration(
    for account: Account.ID?, by flow: FlowKind?, resource: String? = nil
  ) throws(Problem) -> ClientRegistration? {
    let depends = !flows.isEmpty || own?.isDocument == true && known.general?.isIssued == true
    var credentials: [StoredCredential]?
    if depends, let account { credentials = try store.credentials(account, nil, patience) }
    let general = try general(for: credentials)
    guard !flows.isEmpty else { return general }
    let newestFirst = (credentials ?? []).filter { sameBytes($0.resource ?? "", resource ?? "") }
      .sorted { $0.generation > $1.generation }
    for stored in newestFirst where flow == nil || stored.binding.flowKind == flow {
      if let found = try registration(of: stored, general) { return found }
    }
    let next = flow ?? credentials?.accountsOwn?.binding.flowKind
    var found = general
    if let next, let own = try own(of: next) { found = own }
    if next == nil, general == nil { found = try own(of: flows[0]) }
    guard let found,
      let stored = newestFirst.first(where: {
        sameBytes($0.registration.clientID, found.clientID)
      })
    else { return found }
    // The client id alone would give the token of another flow to this registration.
    return try registration(of: stored, general)
  }

  /// Every registration that can be used, with its only flow; those of flows come first.
  var usable: [(flow: FlowKind?, client: ClientRegistration)] {
    let ofFlows = flows.compactMap { flow in (try? own(of: flow)).map { (Optional(flow), $0) } }
    return ofFlows + ((try? general()).map { [(nil, $0)] } ?? [])
  }

  private func opened(_ known: StoredRegistration.Known) throws(Problem) -> ClientRegistration? {
    guard provider.takes(known) else { throw .foreignRegistration(provider) }
    return try store.registrations.get(provider.id, known.flow, patience)?.registration
  }
}

extension AccountStore {
  /// Returns the registrations to choose from at a provider.
  func choice(
    _ own: ClientRegistration?, at provider: Provider, _ patience: Patience = .usual
  ) throws(Problem) -> RegistrationChoice {
    try RegistrationChoice(own, at: provider, in: self, patience)
  }

  /// Returns the registration to use at a provider; see `RegistrationChoice`.
  func registration(
    _ own: ClientRegistration?, at provider: Provider, for account: Account.ID? = nil,
    by flow: FlowKind? = nil, resource: String? = nil, _ patience: Patience = .usual
  ) throws(Problem) -> ClientRegistration? {
    try choice(own, at: provider, patience).registration(
      for: account, by: flow, resource: resource)
  }
}
