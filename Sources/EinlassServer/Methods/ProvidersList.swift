internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `providers.list`: what this binary can sign in to, and what each provider can do.
func providersList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "providers.list", .immediate,
      "The providers of the catalogue, what each can do and what it takes to set it up.",
      params: [.limit, .cursor],
      result: .object([
        .required(
          "providers", .array(.reference("Provider"), max: nil), "Providers."), .nextCursor,
      ]),
      reasons: ["invalidCursor"]),
    .immediate { params, _, mayWait throws(RPCError) in
      let all = server.catalog.providers
      var rest = all[...]
      if let cursor = params["cursor"]?.string {
        guard let index = all.firstIndex(where: { sameBytes($0.id, cursor) }) else {
          throw RPCError(.invalidCursor)
        }
        rest = all[(index + 1)...]
      }
      let frontEnd = server.session.frontEnd
      let stored: [StoredRegistration.Known]
      do throws(Problem) {
        stored = try server.store.snapshot(mayWait ? .usual : .none).registrations
      } catch {
        if error.isLockedStore, !mayWait { return nil }
        // What can be signed in to is known without the store.
        stored = []
      }
      return .object(
        Pages.page("providers", rest, limit: params["limit"]?.int64, cursor: \.id) { provider in
          JSONValue(
            provider,
            isConfigured: provider.isConfigured(
              by: server.registration(for: frontEnd, at: provider.id), or: stored))
        })
    })
}
