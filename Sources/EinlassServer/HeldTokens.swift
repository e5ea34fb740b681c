internal import Einlass
internal import EinlassSystem

/// The tokens that the front end has been given, by their places in the store, so that it hears once of each token that
/// takes the place of one of them, whichever process has stored that.
final class HeldTokens: Sendable {
  struct Key: Hashable {
    var account: Account.ID
    var place: AccountStore.Place
  }

  /// The generation of each that the front end was last told of.
  private let generations = Lock([Key: Int64]())

  /// The front end has this token now.
  func hold(_ token: OAuth2Credential, at key: Key, in store: AccountStore) {
    guard generations.withLock({ $0[key] == nil }) else { return }
    let stored = try? store.credentials(key.account, key.place, .none).first
    var isCurrent = false
    if case .oauth2(let kept)? = stored?.credential {
      isCurrent = kept.accessToken == token.accessToken
    }
    // Of one that has been replaced already the next look tells.
    generations.withLock { $0[key] = isCurrent ? stored?.generation : 0 }
  }

  /// Whether the front end is to be told of this generation: not twice of one.
  func isNews(_ generation: Int64, at key: Key) -> Bool {
    generations.withLock { generations in
      guard let former = generations[key] else { return true }
      guard former < generation else { return false }
      generations[key] = generation
      return true
    }
  }

  /// Tells of every held token that these changes have replaced; `nil` for changes that are not known.
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
  /// The account whose credential is another one now, or none with the account.
  fileprivate var replacedCredential: Account.ID? {
    switch self {
    case .credential(let id), .account(let id, .removed): id
    case .account, .grant: nil
    }
  }
}
