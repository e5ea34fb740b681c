internal import Einlass

extension OpenStore {
  /// Checks every page, every row and every sealed value. Called within `read`.
  func inspect(_ progress: StoreMaintenance.Progress) throws(Problem) -> StoreMaintenance.Check {
    var check = StoreMaintenance.Check()
    do throws(Problem) {
      if let file = connection as? SQLiteConnection { try file.inspectPages(&check) }
      try inspectSeals(&check, progress)
    } catch  where error.detail == Problem.StoreDetail.corrupt.rawValue {
      check.add(.init(.damage, error))
    }
    return check
  }

  private func inspectSeals(
    _ check: inout StoreMaintenance.Check, _ progress: StoreMaintenance.Progress
  ) throws(Problem) {
    check.accounts = Int(try connection.countAccounts())
    for account in try connection.accountsWrittenByOthers() {
      check.add(
        .init(
          .damage,
          "The account \(presentable(account.rawValue, limitBytes: 64)) has a user name or id in an invalid form.",
          advice: .signInOrRemove,
          account: account))
    }
    try inspectAddresses(&check)
    guard let key = try keyOrFinding(&check) else { return }
    var index = 0
    try connection.forEachAccount { account throws(Problem) in
      try progress(index, check.accounts)
      index += 1
      for row in try connection.credentialRows(of: account.id) {
        check.sealedValues += row.cells.count
        do throws(Problem) {
          _ = try row.open(account: account, key: key, path: connection.path)
        } catch {
          let isEdited = error.reason == .bindingMismatch
          check.add(
            .init(
              isEdited ? .bindingMismatch : .undecryptable, error, account: account.id))
        }
      }
    }
    for row in try connection.registrationRows() {
      check.sealedValues += row.cells.count
      do throws(Problem) { _ = try row.open(key: key, path: connection.path) } catch {
        check.add(.init(.undecryptable, error))
      }
    }
    try inspectPasswords(&check, key)
    try progress(check.accounts, check.accounts)
  }

  private func keyOrFinding(_ check: inout StoreMaintenance.Check) throws(Problem) -> StoreKey? {
    do throws(Problem) {
      return try storeKey()
    } catch  where error.detail == Problem.StoreDetail.keyUnavailable.rawValue {
      check.add(.init(.keyUnavailable, error))
      return nil
    }
  }
}

extension SQLiteConnection {
  /// Runs SQLite's own integrity check and looks for rows with a missing parent.
  func inspectPages(_ check: inout StoreMaintenance.Check) throws(Problem) {
    for text in try all(
      "PRAGMA integrity_check", read: { row throws(Problem) in try row.text(0) })
    where text != "ok" {
      check.add(.init(.damage, plain(text)))
    }
    for table in try all(
      "PRAGMA foreign_key_check", read: { row throws(Problem) in try row.text(0) })
    {
      check.add(.init(.orphan, "A row of \(plain(table)) belongs to no account."))
    }
  }

  /// Throws `corrupt` if a finished copy has findings.
  func requireSound() throws(Problem) {
    var check = StoreMaintenance.Check()
    try inspectPages(&check)
    if let finding = check.findings.first {
      throw Problem.damaged(path, finding.message)
    }
  }

  /// Replaces control characters and non-ASCII, because SQLite's messages quote names from the
  /// file.
  private func plain(_ text: String) -> String {
    var kept = ""
    for scalar in text.unicodeScalars.prefix(200) {
      kept.unicodeScalars.append(0x20..<0x7F ~= scalar.value ? scalar : " ")
    }
    return kept
  }
}
