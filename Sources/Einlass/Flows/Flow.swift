internal import EinlassCrypto

/// One running flow: everything that its function reads.
struct Flow {
  /// How a flow ends well.
  struct SignedIn: Equatable {
    var credential: Credential
    var identity: Identity
    /// Whether the credential came with this flow and has to be saved.
    var isNew: Bool
  }

  let provider: Provider
  let descriptor: FlowDescriptor
  /// The application's own; complete, as far as the provider needs it.
  let registration: ClientRegistration
  let account: Account
  /// All that is stored for the account.
  let credentials: [StoredCredential]
  let permissions: [String]
  let audience: AccessGrant.Audience?
  /// Whether access had been granted before this request; if not, a stored token does not prove it.
  let wasGrantedBefore: Bool
  /// A token that the remedy `renew` has brought.
  let renewed: OAuth2Credential?
  /// The remedies that were not tried yet.
  let remaining: Set<Remedy>
  let effects: Effects
  let report: @Sendable (Stage) -> Void

  /// Runs it: the one switch from descriptor to function.
  func run() async -> Result<SignedIn, Setback> {
    do {
      switch descriptor {
      case .reverseAuth(let words): return .success(try await reverseAuth(words, self))
      case .systemToken(let words): return .success(try await systemToken(words, self))
      }
    } catch {
      return .failure(error)
    }
  }

  /// For the requests of this flow.
  func exchange(hiding secrets: [Secret?]) -> Exchange {
    Exchange(
      provider: provider, effects: effects, remaining: remaining,
      secrets: [registration.clientSecret] + secrets)
  }

  /// The account's own credential; throws `reloginNeeded` when there is none.
  func systemCredential() throws(Setback) -> StoredCredential {
    guard let credential = credentials.first(where: { $0.role == .system }) else {
      throw .failed(Failure(.reloginNeeded(provider, account)))
    }
    return try sendable(credential)
  }

  /// Throws `bindingMismatch` for a credential that does not belong where the requests of this flow go.
  func sendable(_ credential: StoredCredential) throws(Setback) -> StoredCredential {
    guard Set(provider.origins(of: descriptor)).isSubset(of: credential.binding.origins) else {
      throw .failed(Failure(.bindingMismatch(provider, account)))
    }
    return credential
  }
}

extension Provider {
  /// The flow of this kind, else the provider's first. Throws `flowNotSupported`.
  func flow(_ kind: FlowKind?) throws(Problem) -> FlowDescriptor {
    guard let flow = flows.first(where: { kind == nil || $0.kind == kind }) else {
      throw .flowNotSupported(self, kind?.rawValue ?? "any flow")
    }
    return flow
  }
}
