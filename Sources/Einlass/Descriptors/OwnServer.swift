internal import EinlassJSON

/// A provider at a server of the person's own: its descriptor names the server `server.invalid`.
extension Provider {
  /// The login of such a provider; `nil` for any other provider.
  var passwordSession: PasswordSession? {
    for case .passwordSession(let flow) in flows { return flow }
    return nil
  }

  /// Throws for a login whose provider has another address than `server.invalid`, because the only
  /// origin in the binding of a session is its server.
  func requireOneServer(in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    let origin = "https://\(PasswordSession.placeholderHost)"
    guard passwordSession == nil || origins == [origin] else {
      throw reader.fault("flows", "With passwordSession, every address must be at \(origin).")
    }
  }

  /// Returns the provider at this server.
  ///
  /// Throws `invalidParameter` for a name that is no server, `unsafeURL` for plain http to another
  /// machine that the request does not allow, and `flowNotSupported` for a provider without such a flow.
  func at(_ server: SignInRequest.Server) throws(Problem) -> Provider {
    guard let login = passwordSession else {
      throw .flowNotSupported(self, "a server of one's own")
    }
    let isAddress = server.name.utf8.contains(UInt8(ascii: "/"))
    let text = isAddress ? server.name : "https://" + server.name
    guard var place = try? WebAddress.parse(text), place.query == nil,
      place.path.isEmpty || place.path == "/"
    else {
      throw .invalidParameter(
        "/server/host",
        "The server must be a host name or an address such as https://pbx.example.com:8443."
      )
    }
    guard !isAddress || place.scheme == .http || server.isSecure != false else {
      throw .invalidParameter(
        "/server/secure",
        "The parameter /server/secure contradicts the https of the server's address."
      )
    }
    if let isSecure = server.isSecure { place.scheme = isSecure ? .https : .http }
    let usual = place.scheme == .https ? login.port : login.plainPort
    place.port = server.port ?? place.port ?? (isAddress ? nil : usual)
    // An origin has no usual port, so that the stored one reads the same.
    if place.port == (place.scheme == .https ? 443 : 80) { place.port = nil }
    guard place.isSafe || server.isSecure == false else {
      throw Problem(
        .unsafeURL,
        "Anyone on the way reads a password that is sent by plain http.", advice: .nameWithHTTPS,
        provider: id, path: "/server/host")
    }
    return located(at: place, ServerTrust(allowsPlainHTTP: !place.isSafe))
  }

  /// Returns the provider at the server of a stored session; unchanged without one.
  func located(for credentials: [StoredCredential]) -> Provider {
    guard passwordSession != nil,
      let binding = credentials.first(where: { $0.binding.flowKind == .passwordSession })?.binding,
      let place = binding.origins.first.flatMap({ try? WebAddress.parse($0) })
    else { return self }
    return located(at: place, binding.trust)
  }

  private func located(at place: WebAddress, _ trust: ServerTrust) -> Provider {
    relocated { address in
      guard address.host == PasswordSession.placeholderHost else { return address }
      return WebAddress(
        scheme: place.scheme, host: place.host, port: place.port, path: address.path,
        query: address.query)
    }.trusted(trust)
  }
}

extension Einlass {
  /// Returns the provider of an account, at the server of the account if that is the person's own.
  func provider(
    of account: Account, _ patience: AccountStore.Patience = .usual
  ) throws(Problem) -> Provider {
    let provider = try catalog.provider(account.provider)
    guard provider.passwordSession != nil else { return provider }
    return provider.located(for: try store.credentials(account.id, nil, patience))
  }

  /// Returns the provider of a sign-in, at the server that the request names or that the account
  /// was at.
  func located(_ request: SignInRequest) throws(Problem) -> Provider {
    let provider = try catalog.provider(request.provider)
    guard provider.passwordSession != nil else {
      guard provider.server?.label == nil else { throw .serverMissing(provider) }
      guard let path = request.serverParameter else { return provider }
      guard provider.server == nil else {
        throw .invalidParameter(
          path,
          "Another server of \(provider.name) is only for a sign-in."
        )
      }
      let name = path == "/server/host" ? "server" : "parameter \(path)"
      throw .invalidParameter(
        path, "The \(name) is for a server of your own, and \(provider.name) is none.")
    }
    if let key = request.login.trustedPublicKey, !ServerTrust.isPublicKey(key) {
      throw .invalidParameter(
        "/server/trustedPublicKey",
        "The parameter /server/trustedPublicKey must be sha256// and the SHA-256 digest of the public key in base64."
      )
    }
    if let file = request.login.caFile, !file.hasPrefix("/") {
      throw .invalidParameter(
        "/server/caFile", "The parameter /server/caFile must be an absolute path.")
    }
    let named = try request.login.server.map { server throws(Problem) in try provider.at(server) }
    let credentials = try credentials(of: request, at: named)
    guard let named else {
      guard !credentials.isEmpty else { throw .serverMissing(provider) }
      return provider.located(for: credentials)
    }
    let stored = provider.located(for: credentials)
    return stored.passwordSession == named.passwordSession ? stored : named
  }

  /// Returns the credentials of the account that a sign-in names by its id, or by the user name at
  /// the server.
  private func credentials(
    of request: SignInRequest, at provider: Provider?
  ) throws(Problem) -> [StoredCredential] {
    if let id = request.account { return try store.credentials(id) }
    guard let provider, let address = provider.passwordSession?.login.address,
      let username = request.login.username
    else { return [] }
    let accounts = try store.read { reader throws(Problem) in
      try reader.accounts(of: provider.id, subject: address.subject(of: username), limit: 1)
    }
    return try accounts.first.map { account throws(Problem) in try store.credentials(account.id) }
      ?? []
  }
}

extension WebAddress {
  /// Returns the subject of a person's account at this server: `ada@pbx.example.com:8443`.
  func subject(of username: String) -> String {
    "\(username)@\(host):\(port ?? (scheme == .https ? 443 : 80))"
  }
}

extension Problem {
  /// The provider's descriptor names no server.
  fileprivate static func serverMissing(_ provider: Provider) -> Problem {
    Problem(
      .invalidParameter,
      """
      The server is not named. \(provider.name) means a server of your own, such as \
      \(provider.server?.text ?? "https://pbx.example.com").
      """,
      advice: .nameServer, provider: provider.id, path: "/server/host")
  }
}
