extension SignIn {
  /// Returns the scopes of the request and, with a name of `scopeNames` among them, those that the
  /// account has already, because a name adds scopes.
  func scopesBesideNames() throws(Problem) -> [String]? {
    guard let id = request.account, let scopes = request.scopes,
      provider.scopeNames.isUsed(in: scopes),
      case .oauth2(let token)? = try formerCredential(of: id)?.credential
    else { return request.scopes }
    return (scopes + token.scopes).withoutRepetitions
  }
}

extension Provider {
  /// Returns every scope that a sign-in may ask for.
  func scopes(of request: SignInRequest) -> [String] {
    (scopeNames.replaced(in: request.scopes ?? request.resourceScopes) + registeredScopes)
      .withoutRepetitions
  }

  /// Returns the scopes with each usual one replaced by the narrowest that contains it, because an
  /// older version of a server lacks it.
  func widened(_ scopes: [String]) -> [String] {
    let usual = registeredScopes
    return scopes.map { usual.contains($0) ? scopeContents.widened($0) ?? $0 : $0 }
      .withoutRepetitions
  }

  /// Returns the scopes as an application with these registered ones may ask for them; `nil` if it
  /// lacks one.
  func scopes(_ scopes: [String], within registered: [String]?) -> [String]? {
    guard let registered else { return scopes }
    return [scopes, widened(scopes)].first { Set($0).isSubset(of: registered) }
  }

  /// The usual scopes of the flow by which the application registers itself.
  private var registeredScopes: [String] { flows.lazy.compactMap(\.tokens).first?.scopes ?? [] }
}
