internal import Einlass

/// The changes of the store since a front end was last told, each account and grant once.
struct StoreChanges: Equatable {
  /// One account and what happened to it.
  struct OfAccount: Equatable {
    var account: Account.ID
    var change: StoreChange.Kind
  }

  var accounts: [OfAccount] = []
  var grants: [AccessGrant.Place] = []
  /// It is not known what was there before.
  var isEverything = false

  /// More of one kind than this are not told one by one.
  static let limit = 100
}

extension StoreChanges {
  /// Sums up changes in order; `nil`: they are not known.
  init(_ changes: [StoreChange]?) {
    guard let changes else {
      isEverything = true
      return
    }
    var kinds: [Account.ID: StoreChange.Kind?] = [:]
    var order: [Account.ID] = []
    for change in changes {
      switch change {
      case .account(let id, let kind):
        if let former = kinds[id] {
          kinds[id] = .some(kind.following(former))
        } else {
          kinds[id] = .some(kind)
          order.append(id)
        }
      case .credential: break
      case .grant(let place):
        if !grants.contains(place) { grants.append(place) }
      }
    }
    accounts = order.compactMap { id in
      kinds[id]?.map { OfAccount(account: id, change: $0) }
    }
  }
}

extension StoreChange.Kind {
  /// This change after an earlier one of the same account; `nil` for an account that came and went.
  fileprivate func following(_ former: Self?) -> Self? {
    switch (former, self) {
    case (.added, .removed): nil
    case (.added, _): .added
    case (.health, .updated): .health
    default: self
    }
  }
}
