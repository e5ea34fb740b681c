internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.import`: adds the accounts of a file. An error leaves the store unchanged.
func accountsImport(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.import", .network,
      "Adds the content of a file of accounts.export.", description: accountsImportDescription,
      params: fields(Params.path, Params.replace),
      result: .object([
        .required("added", .count, "The number of new accounts."),
        .required("replaced", .count, "The number of overwritten accounts."),
        .required("alreadyThere", .count, "The number of existing accounts that were kept."),
        .required("refused", .count, "The number of accounts that could not be added."),
        .required(
          "accounts",
          .array(
            .object([
              .required("provider", .string(maxBytes: nil), "The provider in the file."),
              .required("username", .string(maxBytes: nil), "The user name in the file."),
              .required("result", .oneOf(results), "The outcome."),
              .optional("account", .identifier, "The id in this store."),
              .optional("error", .reference("Error"), "The error of a refused account."),
            ]), max: shownLimit),
          "The first 50 accounts; those that were not added come first."),
        .required(
          "providers", .array(.identifier, max: shownLimit),
          "The providers that were added from the file, because the catalogue lacks them."),
        .required(
          "registrations", .array(.identifier, max: shownLimit),
          "The providers with a registration from the file."),
        .required("users", .count, "The number of new users."),
        .required(
          "usersAlreadyThere", .count,
          "The number of users that stay out, because the id, an identity or the address is taken."),
        .required("usersRefused", .count, "The number of users that could not be read."),
      ]),
      reasons: ["accountStoreFailure"]),
    .task { params, call async throws(RPCError) in
      do throws(Problem) {
        let (moved, providers) = try await server.importAccounts(
          from: params[Params.path], replaces: params[Params.replace], for: call)
        let counts = results.reversed().map { word in
          (word, JSONValue(Int64(moved.entries.count { $0.outcome.word == word })))
        }
        server.audit.note(
          AuditEvent(
            application: server.session.application, method: "accounts.import",
            count: Int64(moved.entries.count)))
        var result = JSONObject(counts)
        let shown = results.flatMap { word in moved.entries.filter { $0.outcome.word == word } }
        result["accounts"] = .array(shown.prefix(shownLimit).map(JSONValue.init))
        result["providers"] = JSONValue(Array(providers.prefix(shownLimit)))
        result["registrations"] = JSONValue(Array(moved.registrations.prefix(shownLimit)))
        result["users"] = JSONValue(Int64(moved.users))
        result["usersAlreadyThere"] = JSONValue(Int64(moved.usersOfFile - moved.users))
        result["usersRefused"] = JSONValue(Int64(moved.refusedUsers))
        return .object(result)
      } catch { throw RPCError(error) }
    })
}

private enum Params {
  static let path = TypedField.required(
    "path", .path, "The absolute path of a file of accounts.export.")
  static let replace = TypedField.optional(
    "replace", .boolean, default: false, "Overwrite existing accounts.")
}

/// The outcomes in the order of the result: those that need attention come first.
private let results = ["refused", "alreadyThere", "replaced", "added"]

/// The largest number of entries; so many always fit a line.
private let shownLimit = 50

extension Server {
  /// The largest number of questions for the passphrase.
  private static let attempts = 3

  /// Imports the file and returns the outcome of each account and the ids of the added providers.
  fileprivate func importAccounts(
    from path: String, replaces: Bool, for call: Call
  ) async throws(Problem) -> (AccountsImport, providers: [String]) {
    let contents = try await contents(of: path, for: call)
    if Task.isCancelled { throw .nothingDone }
    var new: [JSONValue] = []
    var unknown: [String: Problem] = [:]
    do throws(Problem) {
      for descriptor in contents.providers {
        let id = descriptor["id"]?.string ?? ""
        guard !catalog.holds(id) else { continue }
        do throws(Problem) {
          // Another process may have added this provider in the meantime.
          let checked = try await einlass.descriptor(of: .init(.descriptor(descriptor))).descriptor
          if try added.addIfMissing(checked) { new.append(checked) }
        } catch {
          guard error.reason == .invalidParameter else { throw error }
          unknown[id] = error
        }
      }
      return (
        try einlass.importAccounts(contents, replaces: replaces, unknown: unknown),
        new.compactMap { $0["id"]?.string }
      )
    } catch {
      // Remove the added providers again, because the import is all or nothing.
      for descriptor in new { try? added.withdraw(descriptor) }
      throw error
    }
  }

  private func contents(
    of path: String, for call: Call
  ) async throws(Problem) -> AccountsFileContents {
    let file = try AccountsFile(files.read(path), path: path)
    var wanted = Prompt.Passphrase(.import, path: path)
    var attempt = 1
    while true {
      let passphrase = try await passphrase(wanted, for: call)
      do throws(Problem) {
        return try await inTurn { () throws(Problem) in
          try AccountsFileContents(file, openedWith: passphrase)
        }
      } catch {
        let isGiven = try store.maintenance.passphrase(true) != nil
        guard error.isOtherPassphrase, !isGiven, attempt < Self.attempts else { throw error }
        wanted.isAgain = true
        attempt += 1
      }
    }
  }
}

extension Problem {
  fileprivate var isOtherPassphrase: Bool { detail == StoreDetail.decryptFailed.rawValue }
}

extension AccountsImport.Outcome {
  fileprivate var word: String {
    switch self {
    case .added: "added"
    case .replaced: "replaced"
    case .alreadyThere: "alreadyThere"
    case .refused: "refused"
    }
  }
}

extension JSONValue {
  fileprivate init(_ entry: AccountsImport.Entry) {
    var object: JSONObject = [
      "provider": .string(entry.provider), "username": .string(entry.username),
      "result": .string(entry.outcome.word),
    ]
    switch entry.outcome {
    case .added(let id), .replaced(let id), .alreadyThere(let id?):
      object["account"] = .string(id.rawValue)
    case .alreadyThere(nil): break
    case .refused(let problem): object["error"] = RPCError(problem).json
    }
    self = .object(object)
  }
}

private let accountsImportDescription = """
  - The accounts are added all or not at all, and then the users, all or not at all. After a failure in between, the
    same request again adds the users.
  - The passphrase is that of `--file-passphrase-fd`, else that of `--passphrase-fd`, else one that the person enters.
  - `alreadyThere` is an account of the same provider and subject, else of the same username. It stays as it is, unless
    `replace: true`, which replaces as `accounts.add` does.
  - `refused` is an account of a provider that is not known here, or with content that may not be stored.
  - Each credential keeps the origins that it may be sent to.
  - A provider of the file that is not known here is added as by `providers.add`, without a question. A provider of the
    same id stays, and gets no tokens of the other.
  - `registrations` names the providers with a registration from the file: if there was none, or with `replace: true`,
    unless the person's own is there and that of the file was made by einlass. A registration for another server stays
    out.
  - `accounts` names the first 50, those that were not added before the others.
  - Another passphrase is 1009 `decryptFailed`, a file that was cut or changed `corrupt`, a file of a newer einlass
    `tooNew`. Nothing has changed then.
  """
