extension Einlass {
  /// Returns the picture of an account, fetched anew once a day; `nil` for an account without one. If
  /// it cannot be fetched anew, the former one is returned. A front end does not fetch it itself,
  /// because on some providers any person chooses the address, and it may be in the own network.
  ///
  /// Throws `unknownAccount`, `accessNotGranted` without a grant, `unsafeURL` for an address that is
  /// not public, `networkFailure`, `providerFailure` for an answer that is no picture, and the errors
  /// of the store.
  public func avatar(
    of id: Account.ID, for application: String
  ) async throws(Problem) -> KeptAvatar? {
    let account = try store.account(id)
    try requireAccess(of: application, to: account.provider, account: account.id)
    guard let address = account.avatar else { return nil }
    let kept = try store.avatars.kept(address)
    if let kept, kept.isFresh(at: effects.now()) { return kept }
    let avatar: Avatar
    do throws(Problem) { avatar = try await fetchedAvatar(at: address) } catch {
      if let kept, error.reason != .cancelled { return kept }
      throw error.about(try catalog.provider(account.provider), id)
    }
    let new = try store.avatars.keep(address, avatar, effects.now())
    store.forgetUnusedAvatars()
    return new
  }

  /// Fetches a picture. Its address is the word of a provider, and may be any person's.
  private func fetchedAvatar(at text: String) async throws(Problem) -> Avatar {
    let effects = effects.within(seconds: 10)
    var address = try avatarAddress(text)
    for _ in 0...3 {
      var request = HTTPRequest(
        .get, address,
        headers: [.init("Accept", AvatarFormat.allCases.map(\.mediaType).joined(separator: ", "))],
        responseLimitBytes: Avatar.limitBytes)
      request.needsPublicAddress = true
      let response = try await effects.send(request)
      guard [301, 302, 303, 307, 308].contains(response.status) else {
        return try avatar(in: response, of: address.host)
      }
      address = try avatarAddress(response.header("location") ?? "", from: address)
    }
    throw Problem(
      .networkFailure, "\(address.host) redirects too often.", networkCode: -1007)
  }

  private func avatar(in response: HTTPResponse, of host: String) throws(Problem) -> Avatar {
    guard response.status == 200 else {
      throw Problem(
        .providerFailure, "\(host) did not give the picture.",
        isRetryable: response.status >= 500 || response.status == 429,
        serverError: .init(status: response.status))
    }
    guard let format = AvatarFormat(of: response.body) else {
      throw Problem(
        .providerFailure, "The answer of \(host) is no picture in PNG, JPEG, GIF or WebP.",
        serverError: .init(status: response.status))
    }
    return Avatar(bytes: response.body, format: format)
  }
}

/// Returns the address of a picture; `base` is that of a redirect to it. Throws `unsafeURL` unless
/// it is https at a domain name and the usual port.
///
/// A connection to the address is checked again after the look-up of the name.
private func avatarAddress(
  _ text: String, from base: WebAddress? = nil
) throws(Problem) -> WebAddress {
  let beginning =
    base.map { text.hasPrefix("//") ? "https:" : text.hasPrefix("/") ? $0.origin : "" } ?? ""
  guard let address = try? WebAddress.parse(beginning + text),
    address.scheme == .https, address.port == nil, address.isDomainName
  else {
    throw Problem(
      .unsafeURL, "The picture's address is no https address of a public server.",
      detail: Problem.notPublic)
  }
  return address
}

extension WebAddress {
  /// Whether the host is a name with a dot, and no address literal.
  fileprivate var isDomainName: Bool {
    // A host with a digit after its last dot is an IPv4 address.
    guard let dot = host.lastIndex(of: "."), let first = host[dot...].dropFirst().first else {
      return false
    }
    return !host.hasPrefix("[") && !first.isNumber
  }
}

extension Problem {
  /// The detail for an address that not the whole internet reaches.
  package static let notPublic = "notPublic"
}

extension AccountStore {
  /// Removes the pictures that no account has.
  func forgetUnusedAvatars() {
    avatars.keepOnly { () throws(Problem) in
      var addresses: [String] = []
      try forEachAccount { account throws(Problem) in
        if let avatar = account.avatar { addresses.append(avatar) }
      }
      return addresses
    }
  }
}
