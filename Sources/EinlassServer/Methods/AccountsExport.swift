internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.export`: writes all accounts with their credentials to a file sealed with a
/// passphrase.
func accountsExport(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.export", .network,
      "Writes all accounts with their credentials, registrations and added providers to a file encrypted with a passphrase. The passphrase comes from --file-passphrase-fd, --passphrase-fd or a prompt.",
      params: fields(Params.path, Params.replace, Params.weak),
      result: .object([
        .required("path", .string(maxBytes: nil), "The file."),
        .required("accounts", .count, "The number of accounts in the file."),
        .required("users", .count, "The number of users in the file."),
        .required("bytes", .count, "Its size."),
      ]),
      reasons: ["accountStoreFailure", "bindingMismatch"]),
    .task { params, call async throws(RPCError) in
      let path = params[Params.path]
      let replaces = params[Params.replace]
      do throws(Problem) {
        try server.files.prepare(path, replaces)
        let passphrase = try await server.passphrase(
          Prompt.Passphrase(.export, path: path, isNew: true), for: call)
        if !params[Params.weak] { try AccountsFile.requireStrength(of: passphrase) }
        let exported = try await server.inTurn { () throws(Problem) in
          try server.einlass.exportedAccounts(
            sealedWith: passphrase, addedProviders: server.added.descriptors())
        }
        if Task.isCancelled { throw .nothingDone }
        try server.audit.record(
          AuditEvent(
            application: server.session.application, method: "accounts.export",
            count: Int64(exported.accounts)))
        try server.files.write(path, exported.bytes, replaces)
        return [
          "path": .string(path), "accounts": JSONValue(Int64(exported.accounts)),
          "users": JSONValue(Int64(exported.users)),
          "bytes": JSONValue(Int64(exported.bytes.count)),
        ]
      } catch { throw RPCError(error) }
    })
}

private enum Params {
  static let path = TypedField.required("path", .path, "Absolute; the file gets mode 0600.")
  static let replace = TypedField.optional(
    "replace", .boolean, default: false, "Overwrite an existing file of this user.")
  static let weak = TypedField.optional(
    "weak", .boolean, default: false, "Take a passphrase of fewer than twelve characters too.")
}
