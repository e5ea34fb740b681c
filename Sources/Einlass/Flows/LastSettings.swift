/// The last settings of an application's login at a server of the person's own.
extension Einlass {
  /// Returns an application's last settings at a provider. Throws `unknownProvider`.
  public func serverSettings(
    of application: String, at provider: String, patience: AccountStore.Patience
  ) throws(Problem) -> ServerSettings? {
    try store.ownServers.settings(application, try catalog.provider(provider).id, patience)
  }

  /// Returns the request with the last settings for all that it does not give, unless it names a
  /// server or an account, because the settings may be another server's then.
  func withLastSettings(_ request: SignInRequest) throws(Problem) -> SignInRequest {
    guard request.login.server == nil, request.account == nil,
      case let provider = try catalog.provider(request.provider),
      provider.passwordSession != nil,
      let settings = try store.ownServers.settings(request.application, provider.id, .usual)
    else { return request }
    var request = request
    request.login.server = SignInRequest.Server(
      settings.server, port: settings.port, isSecure: settings.isSecure)
    request.login.username = request.login.username ?? settings.username
    request.login.usesCookies = request.login.usesCookies ?? settings.usesCookies
    request.login.acceptsUntrustedCertificates =
      request.login.acceptsUntrustedCertificates ?? settings.acceptsUntrustedCertificates
    return request
  }
}

extension InteractiveFlow {
  /// Saves the settings of this login, even if it fails. A store that cannot be written only makes
  /// the next sign-in name the server again.
  func saveSettings(of login: EnteredLogin, at origin: String) {
    let settings = ServerSettings(
      server: request.login.server?.name ?? origin, port: request.login.server?.port,
      isSecure: request.login.server.map(\.isSecure) ?? (origin.hasPrefix("http:") ? false : nil),
      usesCookies: request.login.usesCookies ?? false,
      acceptsUntrustedCertificates: request.login.acceptsUntrustedCertificates ?? false,
      username: login.username)
    let last = try? store.ownServers.settings(request.application, provider.id, .usual)
    guard last != settings else { return }
    try? store.ownServers.setSettings(settings, request.application, provider.id)
  }
}
