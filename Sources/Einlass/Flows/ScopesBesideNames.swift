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
    let usual = flows.lazy.compactMap(\.tokens).first?.scopes ?? []
    return (scopeNames.replaced(in: request.scopes ?? request.resourceScopes) + usual)
      .withoutRepetitions
  }
}
