internal import Einlass
internal import EinlassSystem

/// The tokens that the front end has been given, by their places in the store, so that it hears once of each token that
/// takes the place of one of them, whichever process has stored that.
final class HeldTokens: Sendable {
  struct Key: Hashable {
    var account: Account.ID
    var place: AccountStore.Place
  }

  private struct State {
    /// The generation that the front end was last told of.
    var generations: [Key: Int64] = [:]
    /// The store's revision when all of them were last looked at.
    var revision: Int64?
  }

  private let state = Lock(State())

  /// The front end has this token now.
  func hold(_ token: OAuth2Credential, at key: Key, in store: AccountStore) {
    guard state.withLock({ $0.generations[key] == nil }) else { return }
    let stored = try? store.credentials(key.account, key.place, .none).first
    var isCurrent = false
    if case .oauth2(let kept)? = stored?.credential {
      isCurrent = kept.accessToken == token.accessToken
    }
    // Of one that has been replaced already the next look tells.
    state.withLock { $0.generations[key] = isCurrent ? stored?.generation : 0 }
  }

  /// Whether the front end is to be told of this generation: not twice of one.
  func isNews(_ generation: Int64, at key: Key) -> Bool {
    state.withLock { state in
      guard let former = state.generations[key] else { return true }
      guard former < generation else { return false }
      state.generations[key] = generation
      return true
    }
  }

  /// Tells of every held token that has been replaced, when the store is at another revision than at the last look.
  func look(
    in store: AccountStore, at revision: Int64, _ patience: AccountStore.Patience,
    _ tell: (OAuth2Credential, Account.ID) -> Void
  ) throws(Problem) {
    let keys = state.withLock { $0.revision == revision ? [] : Array($0.generations.keys) }
    for key in keys {
      let stored: StoredCredential?
      do throws(Problem) {
        stored = try store.credentials(key.account, key.place, patience).first
      } catch {
        if error.isLockedStore { throw error }
        continue
      }
      guard let stored, case .oauth2(let token) = stored.credential,
        isNews(stored.generation, at: key)
      else { continue }
      tell(token, key.account)
    }
    state.withLock { $0.revision = revision }
  }
}
