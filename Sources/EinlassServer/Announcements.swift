internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// Sends notifications once there is a peer. Protocol section 5.
final class Announcer: Sendable {
  private let peer = Lock<Peer?>(nil)
  private let session: Session

  init(session: Session) { self.session = session }

  /// Announces to this peer until told otherwise; `nil` lets go of it, and of all that its methods hold.
  func attach(_ peer: Peer?) { self.peer.withLock { $0 = peer } }

  /// A notification about this process's own flows: goes to every front end.
  func announce(_ method: String, _ params: JSONObject) {
    peer.withLock { $0 }?.notify(method, params)
  }

  /// A notification about the store: goes to a front end that introduced itself.
  func announceChange(_ method: String, _ params: JSONObject) {
    if session.frontEnd.isInitialized { announce(method, params) }
  }

  func accountChanged(_ account: Account.ID, _ change: String, revision: Int64) {
    announceChange(
      "accounts.changed",
      [
        "revision": JSONValue(revision),
        "changes": [["account": .string(account.rawValue), "change": .string(change)]],
      ])
  }

  func accessChanged(_ application: String, _ provider: String, revision: Int64) {
    announceChange(
      "access.changed",
      [
        "revision": JSONValue(revision), "application": .string(application),
        "provider": .string(provider),
      ])
  }
}

extension AccountStore {
  /// The same store, its changes announced.
  func announced(by announcer: Announcer) -> AccountStore {
    let store = self
    var result = self
    result.add = { new, patience throws(Problem) in
      let added = try store.add(new, patience)
      announcer.accountChanged(
        added.account.id, added.created ? "added" : "updated", revision: added.revision)
      return added
    }
    result.update = { id, patience, edit throws(Problem) in
      let change = Lock<String?>(nil)
      let revision = try store.update(id, patience) { account in
        let before = account
        edit(&account)
        let after = account
        change.withLock { $0 = visibleChange(before, after) }
      }
      if let change = change.withLock({ $0 }) {
        announcer.accountChanged(id, change, revision: revision)
      }
      return revision
    }
    result.remove = { id, patience throws(Problem) in
      let revision = try store.remove(id, patience)
      announcer.accountChanged(id, "removed", revision: revision)
      return revision
    }
    result.setGrant = { grant, patience throws(Problem) in
      let revision = try store.setGrant(grant, patience)
      announcer.accessChanged(grant.application, grant.provider, revision: revision)
      return revision
    }
    result.resetGrant = { application, provider, patience throws(Problem) in
      let revision = try store.resetGrant(application, provider, patience)
      announcer.accessChanged(application, provider, revision: revision)
      return revision
    }
    return result
  }
}

/// What a front end sees of an edit: `health`, `updated`, or nothing.
private func visibleChange(_ before: Account, _ after: Account) -> String? {
  if before.health != after.health { return "health" }
  var before = before
  before.lastUsedAt = after.lastUsedAt
  return before == after ? nil : "updated"
}
