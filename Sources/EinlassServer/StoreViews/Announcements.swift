internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// Sends notifications while a peer is attached.
final class Announcer: Sendable {
  private let peer = Lock<Peer?>(nil)
  private let session: Session
  private let sharesUsers: Bool
  /// Called after decisions about access have changed; `nil` for any decision.
  private let decided = Lock<(@Sendable ([AccessGrant.Place]?) -> Void)?>(nil)

  /// - Parameter sharesUsers: whether all applications share one directory of users.
  init(session: Session, sharesUsers: Bool = false) {
    self.session = session
    self.sharesUsers = sharesUsers
  }

  /// Sets the peer of the next notifications. `nil` releases the peer and everything its methods
  /// hold.
  func attach(_ peer: Peer?) { self.peer.withLock { $0 = peer } }

  /// Sets the function to call after decisions about access have changed, by any process. It gets
  /// `nil` if any decision may have changed.
  func afterDecisions(_ decided: @escaping @Sendable ([AccessGrant.Place]?) -> Void) {
    self.decided.withLock { $0 = decided }
  }

  /// The executor for work that ends in a notification; `nil` if no peer is attached or no thread
  /// is left.
  var executor: (any TaskExecutor)? { peer.withLock { $0?.startedExecutor } }

  /// Sends a notification about a flow of this process. Every front end receives it.
  func announce(_ method: String, _ params: JSONObject) {
    peer.withLock { $0 }?.notify(method, params)
  }

  /// Sends a notification about the store. Only a front end that has called `initialize` receives
  /// it.
  func announceChange(_ method: String, _ params: JSONObject) {
    if session.frontEnd.isInitialized { announce(method, params) }
  }

  /// Announces that a new token has replaced the previous one.
  func announceRefresh(_ token: OAuth2Credential, of account: Account.ID) {
    announceChange(
      "credentials.refreshed",
      JSONObject(present: [
        "account": .string(account.rawValue), "tokenType": .string(token.tokenType),
        "scopes": JSONValue(token.scopes), "expiresAt": token.expiresAt.map { JSONValue($0) },
      ]))
  }

  /// Announces that a credential is no longer refreshed in advance.
  func announceRefreshFailure(_ request: CredentialRequest, _ problem: Problem) {
    announceChange(
      "credentials.refreshFailed",
      JSONObject(present: [
        "account": .string(request.account.rawValue),
        "resource": request.resource.map(JSONValue.string), "error": RPCError(problem).json,
      ]))
  }

  /// Starts work that keeps the process alive without output until it ends.
  func outlive(_ work: @escaping @Sendable () async -> Void) async {
    guard let peer = peer.withLock({ $0 }) else { return await work() }
    await withCheckedContinuation { begun in
      Task(executorPreference: peer.executor) {
        await peer.keepingAlive {
          begun.resume()
          await work()
        }
      }
    }
  }

  /// Announces the changes of the store up to this revision.
  func announce(_ changes: StoreChanges, _ revision: Int64) {
    let accounts = changes.accounts
    if changes.isEverything || accounts.count > StoreChanges.limit {
      announceChange(
        "accounts.changed", ["revision": JSONValue(revision), "changes": [], "reload": true])
    } else if !accounts.isEmpty {
      announceChange(
        "accounts.changed",
        ["revision": JSONValue(revision), "changes": .array(accounts.map { JSONValue($0) })])
    }
    announceUsers(changes, revision)
    if changes.isEverything || changes.registrations.count > StoreChanges.limit {
      announceProviders(nil)
    } else {
      announceProviders(changes.registrations.map { ($0, .configured) })
    }
    if changes.isEverything || !changes.grants.isEmpty {
      decided.withLock { $0 }?(changes.isEverything ? nil : changes.grants)
    }
    if changes.isEverything || changes.grants.count > StoreChanges.limit {
      return announceChange(
        "access.changed", ["revision": JSONValue(revision), "reload": true])
    }
    for grant in changes.grants {
      announceChange(
        "access.changed",
        [
          "revision": JSONValue(revision), "application": .string(grant.application),
          "provider": .string(grant.provider),
        ])
    }
  }
}

extension Announcer {
  /// Announces the changes in the front end's directory.
  private func announceUsers(_ changes: StoreChanges, _ revision: Int64) {
    guard session.frontEnd.wantsUserNotifications else { return }
    let application = session.application
    let own = changes.users.filter { change in
      sameBytes(change.scope, application) || (sharesUsers && change.scope.isEmpty)
    }
    if changes.isEverything || own.count > StoreChanges.limit {
      announceChange(
        "users.changed", ["revision": JSONValue(revision), "changes": [], "reload": true])
    } else if !own.isEmpty {
      announceUsers(own, revision)
    }
  }

  /// Announces changes of providers; `nil` if any may have changed.
  func announceProviders(_ changes: [AddedProviders.Change]?) {
    guard changes?.isEmpty != true, session.hearsOfChanges else { return }
    let isListed = (changes?.count ?? .max) <= StoreChanges.limit
    let listed = (isListed ? changes ?? [] : []).map { (provider, change) -> JSONValue in
      ["provider": .string(provider), "change": .string(change.rawValue)]
    }
    announceChange(
      "providers.changed",
      JSONObject(present: ["changes": .array(listed), "reload": isListed ? nil : true]))
  }

  /// Announces these changes of users.
  func announceUsers(_ changes: [StoreChanges.OfUser], _ revision: Int64) {
    announceChange(
      "users.changed",
      [
        "revision": JSONValue(revision),
        "changes": .array(
          changes.map { change in
            [
              "user": .string(change.user.rawValue), "change": .string(change.change.rawValue),
            ]
          }),
      ])
  }
}

extension JSONValue {
  fileprivate init(_ change: StoreChanges.OfAccount) {
    self = [
      "account": .string(change.account.rawValue), "change": .string(change.change.rawValue),
    ]
  }
}

extension AccountStore.Settlement {
  /// Returns the token that replaced another one, unless the front end already knows it.
  fileprivate func refreshed(
    at revision: Int64?, of account: Account.ID, unlessToldBy held: HeldTokens
  ) -> OAuth2Credential? {
    guard let revision, let credential, case .oauth2(let token) = credential.credential,
      basis.contains(where: { $0.place == credential.place }),
      held.isNews(revision, at: .init(account: account, place: credential.place))
    else { return nil }
    return token
  }
}

extension AccountStore {
  /// Returns the same store, with the changes of this process announced as they are made.
  func announced(by feed: ChangeFeed, _ announcer: Announcer) -> AccountStore {
    let store = self
    // Not a changed copy: the compiler names a closure that is missing here.
    return AccountStore(
      reading: reading,
      changes: changes,
      add: { new, patience throws(Problem) in
        let added = try store.add(new, patience)
        feed.look()
        return added
      },
      addAll: { new, patience throws(Problem) in
        let results = try store.addAll(new, patience)
        feed.look()
        return results
      },
      update: { id, patience, edit throws(Problem) in
        let revision = try store.update(id, patience, edit)
        feed.look()
        return revision
      },
      remove: { id, patience throws(Problem) in
        let revision = try store.remove(id, patience)
        feed.look()
        return revision
      },
      decide: { place, patience, edit throws(Problem) in
        let revision = try store.decide(place, patience, edit)
        feed.look()
        return revision
      },
      credentials: credentials,
      settle: { id, settlement throws(Problem) in
        let revision = try store.settle(id, settlement)
        let refreshed = settlement.refreshed(at: revision, of: id, unlessToldBy: feed.held)
        feed.look()
        if let refreshed { announcer.announceRefresh(refreshed, of: id) }
        return revision
      },
      forgetCredentials: { id throws(Problem) in
        let revision = try store.forgetCredentials(id)
        feed.look()
        return revision
      },
      setPreferred: { id, application, provider, patience throws(Problem) in
        let revision = try store.setPreferred(id, application, provider, patience)
        feed.look()
        return revision
      },
      isRemote: isRemote,
      lease: lease,
      requireWritable: requireWritable,
      registrations: RegistrationStore(
        get: registrations.get,
        set: { provider, flow, registration, patience throws(Problem) in
          let revision = try store.registrations.set(provider, flow, registration, patience)
          feed.look()
          return revision
        }),
      protection: protection,
      maintenance: maintenance,
      begunRenewals: begunRenewals,
      failedSignIns: failedSignIns,
      avatars: avatars,
      ownServers: ownServers,
      users: users.afterEachChange { feed.look() })
  }
}
