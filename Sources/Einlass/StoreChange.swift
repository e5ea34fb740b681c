/// A change of the store that front ends are told of.
public enum StoreChange: Sendable, Equatable {
  /// The kinds of change of an account, in the words of the protocol.
  public enum Kind: String, Sendable, CaseIterable {
    case added, removed, updated, health
  }

  case account(Account.ID, Kind)
  /// A credential of the account was replaced or added. Front ends see it as `credentials.refreshed`, if they hold it.
  case credential(Account.ID)
  /// A grant was made, changed or forgotten.
  case grant(AccessGrant.Place)
}

extension StoreChange.Kind {
  /// The change of an account between these two states; `nil` where front ends see none.
  public init?(from before: Account?, to after: Account?) {
    switch (before, after) {
    case (nil, nil): return nil
    case (nil, _): self = .added
    case (_, nil): self = .removed
    case (var before?, let after?):
      if before.health != after.health {
        self = .health
        return
      }
      before.lastUsedAt = after.lastUsedAt
      if before == after { return nil }
      self = .updated
    }
  }
}

extension AccountStore {
  /// How far somebody has been told of the store's changes.
  public struct ChangeMark: Sendable, Equatable {
    /// Tells one store's file from any other; empty while there is none.
    public var store: String
    /// The number of the last change; they count from 1.
    public var number: Int64

    public init(store: String, number: Int64) {
      self.store = store
      self.number = number
    }

    /// There is no store yet.
    public static let noStore = ChangeMark(store: "", number: 0)
  }

  /// The changes since a mark.
  public struct Changes: Sendable, Equatable {
    /// Where to go on from.
    public var mark: ChangeMark
    /// The store's, after all of them.
    public var revision: Int64
    /// In order; `nil` where they are not known: without a mark, in another store, or after too many.
    public var list: [StoreChange]?

    public init(mark: ChangeMark, revision: Int64, list: [StoreChange]?) {
      self.mark = mark
      self.revision = revision
      self.list = list
    }
  }
}
