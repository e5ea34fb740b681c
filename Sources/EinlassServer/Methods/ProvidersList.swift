internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// `providers.list`: returns the providers of the catalogue and their abilities.
func providersList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "providers.list", .immediate,
      "The built-in providers and the added ones, with their abilities and setup; retired ones come last.",
      params: fields(.limit, .cursor),
      result: .object([
        .required(
          "providers", .array(.reference("Provider"), max: nil), "The providers."), .nextCursor,
      ]),
      reasons: ["invalidCursor"]),
    // Answered at once even while other requests wait for the store.
    .taskUnlessReady(
      { params, _ throws(RPCError) in try server.providers(params, .none) },
      { params, _ async throws(RPCError) in
        let deadline = Deadline(milliseconds: Limits.immediateWaitMilliseconds)
        return try server.providers(params, .init(until: deadline)) ?? .null
      }))
}

extension Server {
  /// Returns a page of the catalogue; `nil` if the store is locked and `patience` allows no wait.
  fileprivate func providers(
    _ params: JSONObject, _ patience: AccountStore.Patience
  ) throws(RPCError) -> JSONValue? {
    let catalog = catalog
    let known = catalog.providers
    let all = known.filter { !$0.isRetired } + known.filter(\.isRetired)
    var rest = all[...]
    if let cursor = params[.cursor] {
      guard let index = all.firstIndex(where: { sameBytes($0.id, cursor) }) else {
        throw RPCError(.invalidCursor)
      }
      rest = all[(index + 1)...]
    }
    let stored: [StoredRegistration.Known]
    do throws(Problem) {
      stored = try store.read(patience) { reader throws(Problem) in try reader.registrations }
    } catch {
      if error.isLockedStore, patience == .none { return nil }
      // The catalogue is available without the store. Only stored registrations are missing.
      stored = []
    }
    let frontEnd = session.frontEnd
    return .object(
      Pages.page("providers", rest, limit: params[.limit], log: log, cursor: \.id) {
        provider in
        let own = registration(for: frontEnd, at: provider.id)
        return JSONValue(
          provider, isConfigured: provider.isConfigured(by: own, or: stored),
          problem: provider.problem(with: own, or: stored),
          registeredFlows: provider.registeredFlows(by: own, or: stored),
          isAdded: !catalog.holdsItself(provider.id))
      })
  }
}
