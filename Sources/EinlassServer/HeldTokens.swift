internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The tokens that the front end has received, by their places in the store. The front end is
/// notified once of each token that replaces one of them, in this process or another.
final class HeldTokens: Sendable {
  struct Key: Hashable {
    var account: Account.ID
    var place: AccountStore.Place
  }

  private enum Held {
    /// The generation that the front end last received or was notified of.
    case generation(Int64)
    /// A token that was not found in the store: it has been replaced, or the store was locked.
    case token(Secret)
  }

  private let tokens = Lock([Key: Held]())

  /// Records that the front end received this token. Returns `false` if the token was not found in
  /// the store, so that it has to be looked for.
  @discardableResult
  func hold(_ token: OAuth2Credential, at key: Key, in store: AccountStore) -> Bool {
    guard tokens.withLock({ $0[key] == nil }) else { return true }
    let stored = try? store.credentials(key.account, key.place, .none).first
    let isStored = stored?.isToken(token.accessToken) ?? false
    let held: Held =
      if isStored, let stored { .generation(stored.generation) } else { .token(token.accessToken) }
    tokens.withLock { $0[key] = held }
    return isStored
  }

  /// Records a generation and returns whether the front end must still be notified of it. For a
  /// place without a held token it returns `true`.
  func isNews(_ generation: Int64, at key: Key) -> Bool {
    tokens.withLock { tokens in
      guard let held = tokens[key] else { return true }
      if case .generation(let former) = held, former >= generation { return false }
      tokens[key] = .generation(generation)
      return true
    }
  }

  /// Announces the replacement of every held token among these changes. `nil` means that the
  /// changes are not known, so every held token is checked. `revision` is the store's, which the
  /// last written credential has as its generation.
  func look(
    in store: AccountStore, after changes: [StoreChange]?, at revision: Int64,
    _ patience: AccountStore.Patience,
    _ tell: (OAuth2Credential, Account.ID) -> Void
  ) throws(Problem) {
    let changed = changes.map { Set($0.compactMap(\.replacedCredential)) }
    let held = tokens.withLock { tokens in
      tokens.filter { key, held in
        guard let changed, case .generation(let generation) = held else { return true }
        return changed.contains(key.account) && generation < revision
      }
    }
    for (key, held) in held {
      let stored: StoredCredential?
      do throws(Problem) {
        stored = try store.credentials(key.account, key.place, patience).first
      } catch {
        if error.isLockedStore { throw error }
        if error.reason == .unknownAccount { tokens.withLock { $0[key] = nil } }
        continue
      }
      guard let stored, case .oauth2(let token) = stored.credential,
        isNews(stored.generation, at: key)
      else { continue }
      if case .token(let former) = held, stored.isToken(former) { continue }
      tell(token, key.account)
    }
  }
}

extension StoredCredential {
  fileprivate func isToken(_ accessToken: Secret) -> Bool {
    if case .oauth2(let token) = credential { token.accessToken == accessToken } else { false }
  }
}

extension StoreChange {
  /// The account whose credential was replaced, or removed with the account.
  fileprivate var replacedCredential: Account.ID? {
    switch self {
    case .credential(let id), .account(let id, .removed): id
    case .account, .registration, .grant, .user: nil
    }
  }
}
