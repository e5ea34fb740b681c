internal import Einlass
internal import EinlassSystem

/// The list of the last changes that front ends are told of, so that no process has to compare two states of the store.
///
/// Numbers have no gaps and are never used again: the newest row always stays.
extension SQLiteConnection {
  /// In the column of the kinds of change of an account, because every change of a credential has an account.
  private static let credentialKind = "credential"

  /// How many changes are kept at least.
  static var keptChanges: Int64 { 256 }

  /// Writes a change down, within the transaction that makes it.
  func note(_ change: StoreChange) throws(Problem) {
    let insert = "INSERT INTO change (account, kind, application, provider) VALUES (?1, ?2, ?3, ?4)"
    switch change {
    case .account(let id, let kind):
      try run(insert, .text(id.rawValue), .text(kind.rawValue), .null, .null)
    case .credential(let id):
      try run(insert, .text(id.rawValue), .text(Self.credentialKind), .null, .null)
    case .grant(let place):
      try run(insert, .null, .null, .text(place.application), .text(place.provider))
    }
    let last = try lastChange()
    // Not at each change: it touches other pages.
    if last % 64 == 0 {
      try run("DELETE FROM change WHERE number <= ?1", .integer(last - Self.keptChanges))
    }
  }

  /// Its number; 0 when there was none.
  func lastChange() throws(Problem) -> Int64 {
    try first("SELECT max(number) FROM change") { row throws(Problem) in
      try row.optionalInteger(0)
    }.flatMap(\.self) ?? 0
  }

  /// Those behind this number, in order; `nil` where some are not in the list any more.
  func changes(after number: Int64) throws(Problem) -> [StoreChange]? {
    let rows = try all(
      "SELECT account, kind, application, provider FROM change WHERE number > ?1 ORDER BY number",
      .integer(number)
    ) { row throws(Problem) -> StoreChange? in
      if let account = try row.optionalText(0).map(Account.ID.init(rawValue:)) {
        if try row.optionalText(1) == Self.credentialKind { return .credential(account) }
        let kind: StoreChange.Kind? = try row.optionalWord(1)
        return kind.map { .account(account, $0) }
      }
      guard let application = try row.optionalText(2), let provider = try row.optionalText(3) else {
        return nil
      }
      return .grant(.init(provider: provider, application: application))
    }
    return try Int64(rows.count) == lastChange() - number ? rows.compactMap(\.self) : nil
  }
}

extension OpenStore {
  /// The changes since a mark, read in one transaction of the caller's.
  func changes(since mark: AccountStore.ChangeMark?) throws(Problem) -> AccountStore.Changes {
    let meta = try connection.meta()
    let here = AccountStore.ChangeMark(
      store: "\(meta.store) \(identity.device) \(identity.inode)",
      number: try connection.lastChange())
    var list: [StoreChange]?
    if let mark, mark == .noStore || mark.store == here.store {
      list = try connection.changes(after: mark.number)
    }
    return .init(mark: here, revision: meta.revision, list: list)
  }

  /// Makes a change of an account, and writes down what front ends see of it.
  func changing<Result>(
    _ id: Account.ID, _ body: (Account?) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let before = try connection.account(id)
    let result = try body(before)
    if let kind = StoreChange.Kind(from: before, to: try connection.account(id)) {
      try connection.note(.account(id, kind))
    }
    return result
  }
}
