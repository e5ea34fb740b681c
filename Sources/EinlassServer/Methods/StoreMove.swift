internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.move`: moves the store to another file or database.
func storeMove(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.move", .network,
      "Moves the store to another file or into a database, and compares the two. The old store gets another name, so that no token is used from both.",
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
