// The flows of a provider that can sign a person in, and the prompts that they need.

extension FlowDescriptor {
  /// The kinds of prompt of a sign-in by this flow; `nil` for a flow that needs a stored
  /// credential.
  var signInPrompts: Set<Prompt.Kind>? {
    switch self {
    case .authorizationCode(let descriptor):
      descriptor.isPasted ? [.openURL, .enterVerifier] : [.openURL]
    case .deviceCode: [.deviceCode]
    case .oauth1(let descriptor): descriptor.isPIN ? [.openURL, .enterVerifier] : [.openURL]
    case .clientCredentials, .jwtBearer, .tokenExchange: []
    case .passwordSession: [.enterPassword]
    case .reverseAuth, .systemToken: nil
    }
  }
}

extension Set<Prompt.Kind> {
  func sorted() -> [Prompt.Kind] { sorted { $0.rawValue < $1.rawValue } }
}

extension Provider {
  /// Returns the kind of the first flow for a person that needs only these prompts; `nil` if there
  /// is none.
  public func signInKind(asking kinds: Set<Prompt.Kind>) -> FlowKind? {
    signInFlows(nil).first { $0.signInPrompts?.isSubset(of: kinds) ?? false }?.kind
  }

  /// Returns the flows of this kind, or by default the flows for a person. `clientCredentials` is
  /// among the latter only if no other is, and a flow with an assertion never is.
  func signInFlows(_ kind: FlowKind?) -> [FlowDescriptor] {
    if let kind { return flows.filter { $0.kind == kind } }
    let flows = flows.filter { !$0.kind.tradesAssertion }
    return flows.count == 1 ? flows : flows.filter { !$0.kind.isSilent }
  }
}
