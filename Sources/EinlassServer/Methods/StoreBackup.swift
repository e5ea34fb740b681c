internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.backup`: writes a consistent copy of the store, without its key.
func storeBackup(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.backup", .network,
      "Copies the store while it is in use. The secrets in the copy do not open without one of its key slots.",
      description: storeBackupDescription,
      params: fields(path),
      result: .object([
        .required("path", .string(maxBytes: nil), "The copy."),
        .required("bytes", .count, "The size of the copy in bytes."),
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

private let storeBackupDescription = """
  - The path is absolute and free, in a directory that only this user can write to.
  - The name appears when the copy is complete, checked and durable. A process that is killed before leaves a hidden
    `.NAME.` with sixteen digits there, as private and as sealed as the copy, which may be removed.
  - The copy does not have the key. Keep the key file too, in another place.
  """
