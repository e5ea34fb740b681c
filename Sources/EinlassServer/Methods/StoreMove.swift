internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.move`: moves the store to another file or database.
func storeMove(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.move", .network,
      "Moves the store to another file or into a database, and compares the two. The old store gets another name, so that no token is used from both.",
      description: storeMoveDescription,
      params: fields(place),
      result: .object([
        .required("path", .string(maxBytes: nil), "The path or address of the store now."),
        .required("former", .string(maxBytes: nil), "The name of the old store now."),
        .required("rows", .count, "The number of rows that were moved and compared."),
      ]),
      reasons: ["accountStoreFailure", "cancelled"]),
    .task { params, call async throws(RPCError) in
      let moved = try server.maintain("store.move", for: call) { store, progress throws(Problem) in
        try store.move(params[place], progress)
      }
      return [
        "path": .string(moved.path), "former": .string(moved.former),
        "rows": JSONValue(Int64(moved.countRows)),
      ]
    })
}

private let place = TypedField.required(
  "to", .string(maxBytes: 4096),
  "An absolute path or a postgresql:// address without a store.")

private let storeMoveDescription = """
  - Accounts, credentials, grants, registrations, users, added providers and the audit trail move as they are. No key is
    needed, and each key slot opens the new store too.
  - A place with a store is refused. Nothing is changed then.
  - The old store is locked meanwhile. When the new one is complete it is renamed, because the same refresh token must not
    be used from two stores: a file gets the ending `.moved`, a schema the ending `.moved`.
  - During a renewal the move is refused with 1009 `locked`, because the new token would be stored in the old place. So it
    is during the sign-in of a named account. Another sign-in that ends after the move stores its account in the old place.
  - Of the audit trail the newest 16 MiB move.
  - If the end of the move is unknown, because a connection was lost, the message names both places and the next step.
  - This process keeps the old place, and so do others, until they start again with the new one.
  """
