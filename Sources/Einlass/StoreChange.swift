/// A change of the store, as reported to front ends.
public enum StoreChange: Sendable, Equatable {
  /// The kinds of change of an account, by their names in the protocol.
  public enum Kind: String, Sendable, CaseIterable {
    case added, removed, updated, health
  }

  /// The kinds of change of a user, by their names in the protocol.
  public enum UserKind: String, Sendable, CaseIterable {
    case added, removed, updated
    /// The user became an application's current one.
    case signedIn
    /// The user is no longer an application's current one.
    case signedOut
  }

  case account(Account.ID, Kind)
  /// A credential of the account was replaced or added. Reported as `credentials.refreshed` to
  /// front ends that hold it.
  case credential(Account.ID)
  /// A grant was added, changed or removed.
  case grant(AccessGrant.Place)
  /// The stored registration for this provider was added, replaced or removed.
  case registration(provider: String)
  /// A user was changed.
  ///
  /// - Parameter scope: the user's directory; for a sign-in or sign-out the application.
  case user(User.ID, UserKind, scope: String)
}

extension StoreChange.Kind {
  /// Derives the change from two states of an account; `nil` if front ends see no difference.
  public init?(from before: Account?, to after: Account?) {
    switch (before, after) {
    case (nil, nil): return nil
    case (nil, _): self = .added
    case (_, nil): self = .removed
    case (var before?, let after?):
      if before.health != after.health || before.hasRefusedRefresh != after.hasRefusedRefresh {
        self = .health
        return
      }
      before.lastUsedAt = after.lastUsedAt
      // A new credential is a change of its own.
      before.scopes = after.scopes
      before.isEmailVerified = after.isEmailVerified
      before.reportedBy = after.reportedBy
      if before == after { return nil }
      self = .updated
    }
  }
}

extension AccountStore {
  /// The position of a reader in the store's list of changes.
  public struct ChangeMark: Sendable, Equatable {
    /// The id of the store's file; empty while there is none.
    public var store: String
    /// The number of the last change. Changes are numbered from 1.
    public var number: Int64

    public init(store: String, number: Int64) {
      self.store = store
      self.number = number
    }

    /// The mark before the store's file exists.
    public static let noStore = ChangeMark(store: "", number: 0)
  }

  /// The changes since a mark.
  public struct Changes: Sendable, Equatable {
    /// The mark for the next call.
    public var mark: ChangeMark
    /// The store's revision after these changes.
    public var revision: Int64
    /// The changes in order; `nil` if they are not known: without a mark, in another store, or
    /// after too many changes.
    public var list: [StoreChange]?

    public init(mark: ChangeMark, revision: Int64, list: [StoreChange]?) {
      self.mark = mark
      self.revision = revision
      self.list = list
    }
  }
}
