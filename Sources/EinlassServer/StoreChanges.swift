internal import Einlass
internal import EinlassJSON

/// What is different between two states of the store, as a front end is told.
struct StoreChanges: Equatable {
  /// A change to an account, in the words of the protocol.
  enum Change: String, CaseIterable {
    case added, removed, updated, health
  }

  /// One account and what happened to it.
  struct OfAccount: Equatable {
    var account: Account.ID
    var change: Change
  }

  /// One grant that was made, changed or forgotten.
  struct OfGrant: Equatable {
    var application: String
    var provider: String
  }

  var accounts: [OfAccount] = []
  var grants: [OfGrant] = []
  /// Nothing is known of what was there before.
  var isEverything = false

  static let unknown = StoreChanges(isEverything: true)
  /// More of one kind than this are not told one by one.
  static let limit = 100
}

extension AccountStore.Snapshot {
  /// What is different here, in order.
  func changes(since former: AccountStore.Snapshot) -> StoreChanges {
    var changes = StoreChanges()
    // Snapshots of an unchanged store are the same arrays, which costs one comparison.
    if accounts != former.accounts { changes.accounts = accountChanges(since: former.accounts) }
    if !grants.elementsEqual(former.grants, by: isSame) {
      changes.grants = grantChanges(since: former.grants)
    }
    return changes
  }

  /// Both lists are in order of adding, and a position is never used again.
  private func accountChanges(since former: [Account]) -> [StoreChanges.OfAccount] {
    var changes: [StoreChanges.OfAccount] = []
    var rest = former[...]
    for account in accounts {
      while let gone = rest.first, gone.position < account.position || isOther(gone, account) {
        changes.append(.init(account: gone.id, change: .removed))
        rest.removeFirst()
      }
      guard let before = rest.first, before.position == account.position else {
        changes.append(.init(account: account.id, change: .added))
        continue
      }
      rest.removeFirst()
      if let change = visibleChange(before, account) {
        changes.append(.init(account: account.id, change: change))
      }
    }
    return changes + rest.map { .init(account: $0.id, change: .removed) }
  }

  /// Another store came in the place of this one.
  private func isOther(_ before: Account, _ after: Account) -> Bool {
    before.position == after.position && !sameBytes(before.id.rawValue, after.id.rawValue)
  }

  private func grantChanges(since former: [AccessGrant]) -> [StoreChanges.OfGrant] {
    // A file that somebody has edited may hold what no einlass wrote.
    var left = Dictionary(former.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
    let changed = grants.filter { left.removeValue(forKey: $0.key) != $0 }
    return (changed + left.values.sorted { $0.key.lexicographicallyPrecedes($1.key) }).map {
      .init(application: $0.application, provider: $0.provider)
    }
  }
}

/// Names that only look the same are different ones.
private func isSame(_ left: AccessGrant, _ right: AccessGrant) -> Bool {
  left == right && sameBytes(left.application, right.application)
}

extension AccessGrant {
  /// By bytes; no provider's id holds a slash.
  fileprivate var key: [UInt8] { provider.utf8 + [UInt8(ascii: "/")] + application.utf8 }
}

/// What a front end sees of an edit: `health`, `updated`, or nothing.
private func visibleChange(_ before: Account, _ after: Account) -> StoreChanges.Change? {
  if before.health != after.health { return .health }
  var before = before
  before.lastUsedAt = after.lastUsedAt
  return before == after ? nil : .updated
}
