internal import EinlassCrypto
internal import EinlassJSON

/// The successful answer of a token endpoint. RFC 6749 section 5.1.
enum TokenResponse {
  /// Returns the credential in an answer; `nil` without a token that can be sent.
  ///
  /// - Parameters:
  ///   - scopes: The requested scopes, granted unless the answer names others.
  ///   - proof: The key that the token must be bound to. A token that the server has not bound is
  ///     refused.
  static func credential(
    in answer: JSONValue?, scopes: [String], now: UnixTime, proof: ProofOfPossession? = nil
  ) -> OAuth2Credential? {
    guard let answer, let token = answer["access_token"]?.string, isToken(token) else { return nil }
    guard isType(of: answer, bound: proof != nil) else { return nil }
    let granted =
      answer["scope"]?.string?.split(whereSeparator: { " ,".contains($0) }).map(String.init)
      ?? answer["scope"]?.array?.compactMap(\.string)
    func end(_ name: String) -> UnixTime? {
      answer[name].flatMap { seconds($0) }.map { now + $0 }
    }
    var credential = OAuth2Credential(
      accessToken: Secret(token), tokenType: proof == nil ? "Bearer" : "DPoP",
      scopes: granted ?? scopes, expiresAt: end("expires_in"),
      refreshToken: secret(answer["refresh_token"]), idToken: secret(answer["id_token"]),
      proofKey: proof?.key.pkcs8)
    // No standard names it, and servers use these two words.
    credential.refreshExpiresAt = end("refresh_token_expires_in") ?? end("refresh_expires_in")
    return credential
  }

  /// Returns the reason why an answer is unusable, as the end of a sentence. `place`: that of the
  /// access token.
  static func fault(
    in answer: JSONValue?, isBound: Bool, at place: String = "access_token"
  ) -> String {
    guard let token = answer?["access_token"]?.string else { return "lacks \(place)" }
    guard isToken(token) else { return "is invalid: \(place) cannot be sent" }
    guard let answer, !isType(of: answer, bound: isBound) else { return "is invalid" }
    let type = (answer["token_type"]?.present).map {
      $0.string.flatMap(shownName) ?? "no known one"
    }
    return "is invalid: token_type is \(type ?? "missing") and not \(isBound ? "DPoP" : "Bearer")"
  }

  /// Whether the type of the token is the expected one; `Bearer` if the answer names none. Blanks
  /// around it do not count.
  private static func isType(of answer: JSONValue, bound isBound: Bool) -> Bool {
    let type = (answer["token_type"]?.present).map {
      $0.string?.lowercased().split(separator: " ").joined(separator: " ")
    }
    return isBound ? type == "dpop" : ["", "bearer"].contains(type ?? "")
  }

  /// Whether a text can be sent in a header: visible ASCII, at least one character. RFC 6749
  /// appendix A.12.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// Whether a text can be an authorization code: printable ASCII, at least one character. RFC 6749
  /// appendix A.11.
  static func isCode(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  private static func secret(_ value: JSONValue?) -> Secret? {
    value?.string.flatMap { isToken($0) ? Secret($0) : nil }
  }

  /// Returns a lifetime in whole seconds, from a number or its text; `nil` below `least`, because 0
  /// stands for no lifetime, and above 10^10, because calendars do not reach so far.
  static func seconds(_ value: JSONValue, atLeast least: Double = 1) -> Int64? {
    let text: String? = if case .number(let number) = value { number.lexeme } else { value.string }
    guard let seconds = text.flatMap({ Double($0) }), (least...1e10).contains(seconds) else {
      return nil
    }
    return Int64(seconds)
  }
}
