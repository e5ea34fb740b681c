internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `avatars.get`: fetches the picture of an account and returns the path of its file.
func avatarsGet(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "avatars.get", .network,
      "The picture of an account as a file beside the store, fetched anew once a day. Sends no credential; needs access.",
      params: fields(.account),
      result: .object([
        .optional(
          "path", .string(maxBytes: nil),
          "The absolute path of the file; missing for an account without a picture."),
        .optional(
          "type", .oneOf(AvatarFormat.allCases.map(\.mediaType)),
          "The media type, by the first bytes of the file."),
        .optional("fetchedAt", .unixTime, "The time of the last fetch."),
      ]),
      reasons: [
        "unknownAccount", "unknownProvider", "accessNotGranted", "unsafeURL", "networkFailure",
        "providerFailure", "accountStoreFailure", "cancelled",
      ]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        // Without the locale, because the picture's server is not the provider.
        let einlass = Einlass(
          catalog: server.catalog, store: server.store, effects: server.effects)
        let avatar = try await einlass.avatar(
          of: params[.account], for: server.session.application)
        return .object(
          JSONObject(present: [
            "path": avatar.map { .string($0.path) },
            "type": avatar.map { .string($0.format.mediaType) },
            "fetchedAt": avatar.map { JSONValue($0.fetchedAt) },
          ]))
      } catch { throw RPCError(error) }
    })
}
