internal import EinlassCrypto
internal import EinlassJSON

/// What a token endpoint answers when it grants. RFC 6749 section 5.1.
enum TokenResponse {
  /// The credential in an answer; `nil` when there is none that could be sent on.
  ///
  /// - Parameters:
  ///   - scopes: those asked for, which are granted unless the answer says otherwise.
  ///   - proof: what the token has to be bound to; a server that does not bind it is not believed (C-57).
  static func credential(
    in answer: JSONValue?, scopes: [String], now: UnixTime, proof: ProofOfPossession? = nil
  ) -> OAuth2Credential? {
    guard let answer, let token = answer["access_token"]?.string, isToken(token) else { return nil }
    let type = answer["token_type"].map { $0.string?.lowercased() }
    guard proof == nil ? type ?? "bearer" == "bearer" : type == "dpop" else { return nil }
    let granted =
      answer["scope"]?.string?.split(whereSeparator: { " ,".contains($0) }).map(String.init)
      ?? answer["scope"]?.array?.compactMap(\.string)
    return OAuth2Credential(
      accessToken: Secret(token), tokenType: proof == nil ? "Bearer" : "DPoP",
      scopes: granted ?? scopes,
      expiresAt: answer["expires_in"].flatMap { seconds($0) }.map { now + $0 },
      refreshToken: secret(answer["refresh_token"]), idToken: secret(answer["id_token"]),
      proofKey: proof?.key.pkcs8)
  }

  /// Whether a text can travel in a header: visible ASCII, at least one character. RFC 6749 appendix A.12.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// Whether a text can be an authorization code: printable ASCII, at least one character. RFC 6749 appendix A.11.
  static func isCode(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  private static func secret(_ value: JSONValue?) -> Secret? {
    value?.string.flatMap { isToken($0) ? Secret($0) : nil }
  }

  /// A lifetime, as a number or as the text of one, a part of a second left out; `nil` for none, which is what 0 stands
  /// for, and for what no calendar holds.
  static func seconds(_ value: JSONValue, atLeast least: Double = 1) -> Int64? {
    let text: String? = if case .number(let number) = value { number.lexeme } else { value.string }
    guard let seconds = text.flatMap({ Double($0) }), (least...1e10).contains(seconds) else {
      return nil
    }
    return Int64(seconds)
  }
}
