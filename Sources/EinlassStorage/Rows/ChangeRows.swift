internal import Einlass
internal import EinlassSystem

/// The list of the last changes for front ends, so that no process has to compare two states of the
/// store.
///
/// Numbers have no gaps and are never reused, because the newest row is never deleted.
extension Database {
  static var lastChangeSelection: String { "SELECT max(number) FROM change" }

  /// A value of the `kind` column, which otherwise holds the kinds of account change. Every
  /// credential change belongs to an account.
  private static var credentialKind: String { "credential" }

  /// A value of the `kind` column for the registration at a provider.
  private static var registrationKind: String { "registration" }

  /// The beginning of a value of the `kind` column for a user, whose id is in `account`.
  private static var userKind: String { "user " }

  /// The list holds at least this many of the newest changes.
  static var keptChanges: Int64 { 256 }

  /// Records a change. Runs in the transaction that makes the change.
  func note(_ change: StoreChange) throws(Problem) {
    let insert = """
      INSERT INTO change (number, account, kind, application, provider)
      VALUES ((SELECT coalesce(max(number), 0) + 1 FROM change), ?1, ?2, ?3, ?4)
      RETURNING number
      """
    let values: [SQLValue] =
      switch change {
      case .account(let id, let kind): [.text(id.rawValue), .text(kind.rawValue), .null, .null]
      case .credential(let id): [.text(id.rawValue), .text(Self.credentialKind), .null, .null]
      case .user(let id, let kind, let scope):
        [.text(id.rawValue), .text(Self.userKind + kind.rawValue), .text(scope), .null]
      case .registration(let provider):
        [.null, .text(Self.registrationKind), .null, .text(provider)]
      case .grant(let place): [.null, .null, .text(place.application), .text(place.provider)]
      }
    let numbers = try all(insert, values: values) { row throws(Problem) in try row.integer(0) }
    // Only every 64th time, because the DELETE writes further pages.
    if let last = numbers.first, last % 64 == 0 {
      try run("DELETE FROM change WHERE number <= ?1", .integer(last &- Self.keptChanges))
    }
  }

  /// Returns the number of the newest change, or 0.
  func lastChange() throws(Problem) -> Int64 {
    try first(Self.lastChangeSelection) { row throws(Problem) in
      try row.optionalInteger(0)
    }.flatMap(\.self) ?? 0
  }

  /// Returns the changes after this number, in order, or `nil` if some of them are no longer in the
  /// list. `last` is the number of the newest change.
  func changes(after number: Int64, upTo last: Int64) throws(Problem) -> [StoreChange]? {
    guard number != last else { return [] }
    let rows = try all(
      "SELECT account, kind, application, provider FROM change WHERE number > ?1 ORDER BY number",
      .integer(number)
    ) { row throws(Problem) -> StoreChange? in
      let scope = try row.optionalText(2)
      if let account = try row.optionalText(0).map(Account.ID.init(rawValue:)) {
        let word = try row.optionalText(1) ?? ""
        if word == Self.credentialKind { return .credential(account) }
        if word.hasPrefix(Self.userKind) {
          return StoreChange.UserKind(rawValue: String(word.dropFirst(Self.userKind.count))).map {
            .user(User.ID(rawValue: account.rawValue), $0, scope: scope ?? "")
          }
        }
        let kind: StoreChange.Kind? = try row.optionalWord(1)
        return kind.map { .account(account, $0) }
      }
      guard let provider = try row.optionalText(3) else { return nil }
      guard let application = scope else {
        return try row.optionalText(1) == Self.registrationKind
          ? .registration(provider: provider) : nil
      }
      return .grant(.init(provider: provider, application: application))
    }
    return Int64(rows.count) == last &- number ? rows.compactMap(\.self) : nil
  }
}

extension OpenStore {
  /// Returns the changes since a mark. The caller has begun the transaction.
  func changes(since mark: AccountStore.ChangeMark?) throws(Problem) -> AccountStore.Changes {
    let meta = try connection.meta()
    let here = AccountStore.ChangeMark(
      store: "\(meta.store) \(place)",
      number: try connection.lastChange())
    var list: [StoreChange]?
    if let mark, mark == .noStore || mark.store == here.store {
      list = try connection.changes(after: mark.number, upTo: here.number)
    }
    return .init(mark: here, revision: meta.revision, list: list)
  }

  /// Records the part of an account's change that front ends see.
  func note(_ id: Account.ID, from before: Account?, to after: Account?) throws(Problem) {
    if let kind = StoreChange.Kind(from: before, to: after) {
      try connection.note(.account(id, kind))
    }
  }
}
