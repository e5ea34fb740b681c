internal import Einlass

/// The changes of the store since the last announcement, with each account and grant once.
struct StoreChanges: Equatable {
  /// The change of one account.
  struct OfAccount: Equatable {
    var account: Account.ID
    var change: StoreChange.Kind
  }

  /// A change of one user.
  struct OfUser: Equatable {
    var user: User.ID
    var change: StoreChange.UserKind
    /// The user's directory; for a sign-in or sign-out the application.
    var scope: String
  }

  var accounts: [OfAccount] = []
  var grants: [AccessGrant.Place] = []
  var users: [OfUser] = []
  /// The providers with a changed registration.
  var registrations: [String] = []
  /// Whether everything may have changed, because the changes are not known.
  var isEverything = false

  /// The limit of accounts or grants to announce one by one.
  static let limit = 100
}

extension StoreChanges {
  /// Combines changes in order; `nil` if they are not known.
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
      case .user(let id, let kind, let scope):
        let change = OfUser(user: id, change: kind, scope: scope)
        if !users.contains(change) { users.append(change) }
      case .registration(let provider):
        if !registrations.contains(provider) { registrations.append(provider) }
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
  /// Returns the combination with an earlier change of the account; `nil` for an account that was
  /// added and removed.
  fileprivate func following(_ former: Self?) -> Self? {
    switch (former, self) {
    case (.added, .removed): nil
    case (.added, _): .added
    case (.health, .updated): .health
    default: self
    }
  }
}
