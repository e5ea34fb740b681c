internal import EinlassCrypto
internal import EinlassJSON

extension Exchange {
  /// Throws `verificationFailed` for a token of another resource. Only for a provider that is not
  /// told the resource, because others issue the token for it (RFC 8707 section 2).
  ///
  /// The audience is known only in a JSON Web Token (RFC 9068 section 2.2). It may be an address
  /// above or below the resource's. An audience that is no web address, such as an application's
  /// id, cannot be compared.
  func requireAudience(
    of token: OAuth2Credential, _ resource: String?, at endpoint: TokenEndpoint
  ) throws(FlowFailure) {
    guard endpoint.omitsResource, let resource, let address = try? WebAddress.parse(resource),
      let audiences = claims(in: revealedText(token.accessToken))?["aud"]
    else { return }
    let texts = audiences.string.map { [$0] } ?? audiences.array?.compactMap(\.string) ?? []
    let addresses = texts.map { try? WebAddress.parse($0) }
    guard !texts.isEmpty,
      addresses.allSatisfy({ audience in
        audience.map { !$0.isAtOrAbove(address) && !address.isAtOrAbove($0) } ?? false
      })
    else { return }
    throw FlowFailure(
      Problem(
        .verificationFailed,
        """
        The token of \(provider.name) is for another resource than \(presentable(resource)), \
        according to its audience. The token was not stored.
        """, detail: "audience", provider: provider.id))
  }

  /// Returns the claims of a JSON Web Token, unverified; `nil` for other tokens.
  private func claims(in token: String) -> JSONValue? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = Base64URL.decode(String(parts[1])) else { return nil }
    return try? JSONReader.read(bytes)
  }
}
