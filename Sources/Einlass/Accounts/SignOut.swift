/// What became of an account's credentials at its provider when they were forgotten here.
public struct Revocation: Sendable, Equatable {
  /// A credential that is still good there.
  public struct Remainder: Sendable, Equatable {
    /// Which one: `system`, or `application` and a client id.
    public var what: String
    /// One English sentence.
    public var reason: String

    public init(what: String, reason: String) {
      self.what = what
      self.reason = reason
    }
  }

  public var revoked: [String] = []
  public var notRevoked: [Remainder] = []
  /// The store's, after the credentials were forgotten.
  public var revision: Int64

  public init(revision: Int64) { self.revision = revision }
}

/// Forgets an account's credentials, or the account itself, and tells the provider. `accounts.signOut`, `.remove`.
struct SignOut {
  /// What is forgotten.
  enum Scope { case credentials, account }

  let account: Account
  /// `nil` for a provider that the catalogue does not hold any more.
  let provider: Provider?
  let store: AccountStore
  let effects: Effects

  /// Forgets first, so that nothing the provider does or fails to do keeps it here; then revokes what it can.
  func run(_ scope: Scope, revokes: Bool) async throws(Problem) -> Revocation {
    // Under the lease, because a renewal on its way would leave a token that nobody revokes; but not at any price.
    var lease: Lease?
    do { lease = try await store.lease(account.id, waiting: effects) } catch {
      guard error.reason == .accountStoreFailure else { throw error }
    }
    defer { lease?.keep() }
    // Credentials that do not open are forgotten all the same.
    let credentials = Result { () throws(Problem) in
      revokes ? try store.credentials(account.id) : []
    }
    var revocation: Revocation
    switch scope {
    case .credentials: revocation = Revocation(revision: try store.forgetCredentials(account.id))
    case .account:
      revocation = Revocation(revision: try store.remove(account.id, .usual))
      lease?.forget()
    }
    switch credentials {
    case .failure(let problem): revocation.leave("credentials", problem.message)
    case .success where !revokes: revocation.leave("credentials", "Nobody asked to revoke them.")
    case .success(let credentials):
      // What is the account's own goes last: it may be what the others hang on.
      for stored in credentials.sorted(by: { $0.role == .application && $1.role == .system }) {
        await revoke(stored, &revocation)
      }
    }
    return revocation
  }

  private func revoke(_ stored: StoredCredential, _ revocation: inout Revocation) async {
    let what =
      stored.role == .system ? "system" : "application \(stored.registration.clientID)"
    guard let provider, let recipe = provider.revocation,
      case .oauth2(let token) = stored.credential
    else {
      return revocation.leave(
        what, "\(provider?.name ?? account.provider) offers no way to revoke it.")
    }
    guard provider.isBound(stored) else {
      return revocation.leave(what, "It belongs to another server than this provider's.")
    }
    let exchange = Exchange(
      provider: provider, effects: effects, remaining: [], secrets: [token.accessToken])
    do throws(Setback) {
      _ = try await exchange.send(
        recipe.filled(.init(texts: [.token: revealedText(token.accessToken)])).request, at: .revoke)
      revocation.revoked.append(what)
    } catch {
      guard case .failed(let failure) = error else { return }
      revocation.leave(what, failure.problem.message)
    }
  }
}

extension Revocation {
  fileprivate mutating func leave(_ what: String, _ reason: String) {
    notRevoked.append(Remainder(what: what, reason: reason))
  }
}
