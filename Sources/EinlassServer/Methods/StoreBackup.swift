internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.backup`: writes a consistent copy of the store, without its key.
func storeBackup(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.backup", .network,
      "Copies the store while it is in use. The secrets in the copy do not open without one of its key slots.",
      params: fields(path),
      result: .object([
        .required("path", .string(maxBytes: nil), "The copy."),
        .required("bytes", .count, "Its size."),
        .required(
          "includesKey", .boolean, "Always false: keep the key file too, in another place."),
      ]),
      reasons: ["accountStoreFailure", "cancelled"]),
    .task { params, call async throws(RPCError) in
      let backup = try server.maintain("store.backup", for: call) {
        store, progress throws(Problem) in
        try store.backup(params[path], progress)
      }
      return [
        "path": .string(backup.path), "bytes": JSONValue(backup.countBytes), "includesKey": false,
      ]
    })
}

private let path = TypedField.required(
  "path", .path, "An absolute, unused path in a directory that only this user can write to.")
