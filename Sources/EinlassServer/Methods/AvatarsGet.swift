internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `avatars.get`: fetches the picture of an account and returns the path of its file.
func avatarsGet(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "avatars.get", .network,
      "The picture of an account as a file beside the store.", description: avatarsGetDescription,
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

private let avatarsGetDescription = """
  - The front end shows the file and needs no request of its own.
  - The request goes to the address `avatar` of the account, without a credential, a cookie or the person's language. It
    needs access to the account.
  - The address and those of up to three redirects are https at a domain name and port 443. A server whose address belongs
    to this machine or to its network is refused before the connection. Each of that is `unsafeURL` with the `detail`
    `notPublic`. A proxy looks up the name itself, so behind a proxy its addresses are not checked. `internalHosts` of
    the [configuration file](README.md#configuration-file) excepts hosts.
  - A file has at most 256 KiB and is a picture by its first bytes. SVG is none. An answer that is no picture is
    `providerFailure`, and one over the limit is `networkFailure` with −1103. A fetch takes at most ten seconds.
  - A picture is fetched anew after a day. If that fails, the former one is the result. The path stays the same while
    address and type do.
  - The files lie in a private folder (`store.avatars` of `store.db`). The picture of an address that no account has is
    removed at the next fetch, and when an account is removed.
  - With `--store memory` no file is written: `accountStoreFailure`, `detail` `refused`.
  """
