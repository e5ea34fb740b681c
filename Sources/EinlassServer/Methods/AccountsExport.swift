internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.export`: writes all accounts with their credentials to a file sealed with a
/// passphrase.
func accountsExport(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.export", .network,
      "Writes all accounts with their credentials to a file that only a passphrase opens.",
      description: accountsExportDescription,
      params: fields(Params.path, Params.replace, Params.weak),
      result: .object([
        .required("path", .string(maxBytes: nil), "The path of the file."),
        .required("accounts", .count, "The number of accounts in the file."),
        .required("users", .count, "The number of users in the file."),
        .required("bytes", .count, "The size of the file in bytes."),
      ]),
      reasons: ["accountStoreFailure", "bindingMismatch"]),
    .task { params, call async throws(RPCError) in
      let path = params[Params.path]
      let replaces = params[Params.replace]
      do throws(Problem) {
        try server.files.prepare(path, replaces)
        var wanted = Prompt.Passphrase(.export, path: path, isNew: true)
        wanted.isLong = !params[Params.weak]
        let passphrase = try await server.passphrase(wanted, for: call)
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
  static let path = TypedField.required("path", .path, "The absolute path of the new file.")
  static let replace = TypedField.optional(
    "replace", .boolean, default: false, "Overwrite an existing file of this user.")
  static let weak = TypedField.optional(
    "weak", .boolean, default: false, "Take a passphrase of fewer than twelve characters too.")
}

private let accountsExportDescription = """
  - The path is absolute. The file gets mode 0600, in a folder that only this user can write to. An existing file is
    refused unless `replace: true`.
  - The passphrase is that of `--file-passphrase-fd`, else that of `--passphrase-fd`, else one that the person chooses
    (`enterPassphrase` with `new: true`). One of fewer than twelve characters is `invalidParams` with the path `/weak`,
    because a thief of the file tries as many as there is time for.
  - The file has the stored registrations, because tokens are refreshed with them, the [users](README.md#users) with their
    passwords, and the added providers of an account, a registration or a user. It has no ids of accounts, grants and
    preferences. A provider of `--providers FILE` is not in it: take that file along.
  - A process that is killed leaves a hidden file `.NAME.` with sixteen digits there, as private and as encrypted, which
    may be removed.
  - The format: `Sources/Einlass/Moving/AccountsFile.swift`.
  """
