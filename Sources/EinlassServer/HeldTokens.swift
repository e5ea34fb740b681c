internal import Einlass
internal import EinlassSystem

/// The tokens that the front end has received, by their places in the store. The front end is
/// notified once of each token that replaces one of them, in this process or another.
final class HeldTokens: Sendable {
  struct Key: Hashable {
    var account: Account.ID
    var place: AccountStore.Place
  }

  /// The generation that the front end last received or was notified of; 0 if the stored token is a
  /// newer one.
  private let generations = Lock([Key: Int64]())

  /// Records that the front end received this token.
  func hold(_ token: OAuth2Credential, at key: Key, in store: AccountStore) {
    guard generations.withLock({ $0[key] == nil }) else { return }
    let stored = try? store.credentials(key.account, key.place, .none).first
    var isCurrent = false
    if case .oauth2(let kept)? = stored?.credential {
      isCurrent = kept.accessToken == token.accessToken
    }
    // A token that is no longer the stored one gets 0, so that the next `look` announces its
    // replacement.
    generations.withLock { $0[key] = isCurrent ? stored?.generation : 0 }
  }

  /// Records a generation and returns whether the front end must still be notified of it. For a
  /// place without a held token it returns `true`.
  func isNews(_ generation: Int64, at key: Key) -> Bool {
    generations.withLock { generations in
      guard let former = generations[key] else { return true }
      guard former < generation else { return false }
      generations[key] = generation
      return true
    }
  }

  /// Announces the replacement of every held token among these changes. `nil` means that the
  /// changes are not known, so every held token is checked.
  func look(
    in store: AccountStore, after changes: [StoreChange]?, _ patience: AccountStore.Patience,
    _ tell: (OAuth2Credential, Account.ID) -> Void
  ) throws(Problem) {
    let changed = changes.map { Set($0.compactMap(\.replacedCredential)) }
    let keys = generations.withLock { generations in
      generations.filter { $1 == 0 || changed?.contains($0.account) ?? true }.keys
    }
    for key in keys {
      let stored: StoredCredential?
      do throws(Problem) {
        stored = try store.credentials(key.account, key.place, patience).first
      } catch {
        if error.isLockedStore { throw error }
        if error.reason == .unknownAccount { generations.withLock { $0[key] = nil } }
        continue
      }
      guard let stored, case .oauth2(let token) = stored.credential,
        isNews(stored.generation, at: key)
      else { continue }
      tell(token, key.account)
    }
  }
}

extension StoreChange {
  /// The account whose credential was replaced, or removed with the account.
  fileprivate var replacedCredential: Account.ID? {
    switch self {
    case .credential(let id), .account(let id, .removed): id
    case .account, .grant: nil
    }
  }
}
