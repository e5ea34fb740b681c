internal import EinlassJSON

/// The keys of an issuer as they were at a time.
public struct KeptKeySet: Sendable {
  /// How long they serve (C-74).
  static let lifetimeSeconds: Int64 = 86_400
  /// How often an issuer is asked again because a token fits none of them that somebody has brought.
  static let pauseSeconds: Int64 = 60

  var keys: JSONWebKeySet
  var fetchedAt: UnixTime
  /// When the issuer was last asked because of such a token.
  var soughtAt: UnixTime?

  /// Whether they serve at this time; a clock that was set back is no reason to trust them longer.
  func isFresh(_ now: UnixTime) -> Bool {
    (0..<Self.lifetimeSeconds).contains(now - fetchedAt)
  }

  /// Whether the issuer may be asked for others.
  func maySeek(_ now: UnixTime) -> Bool {
    soughtAt.map { !(0..<Self.pauseSeconds).contains(now - $0) } ?? true
  }
}

extension Exchange {
  /// The most bytes of a key set that are read. C-92.
  private static let keySetLimitBytes = 256 << 10

  /// The id_token in a text, once it is believed: one of its issuer's keys has signed it, and it is what is expected.
  /// Where HS256 is the only algorithm, the registration's secret is the key, and nobody is asked (C-70).
  ///
  /// Keys are kept; a token that fits none of them lets the issuer be asked once more, because keys rotate: once a
  /// minute, and whenever a token was issued just now.
  func believed(
    _ text: Secret, _ expected: IDTokenExpectation, _ words: TokenEndpoint,
    _ registration: ClientRegistration
  ) async throws(Setback) -> Result<IDToken, IDTokenExpectation.Fault> {
    let now = effects.now()
    func check(_ keys: JSONWebKeySet) -> Result<IDToken, IDTokenExpectation.Fault> {
      Result { () throws(IDTokenExpectation.Fault) in
        try expected.check(
          revealedText(text), keys: keys, now: effects.now(at: words.request.address))
      }
    }
    guard let keySet = words.keySet, !words.isSignedBySecret else {
      let key = registration.clientSecret.flatMap { JSONWebKey(clientSecret: $0) }
      return check(JSONWebKeySet(key.map { [$0] } ?? []))
    }
    guard var kept = effects.memory.keySets.read(keySet.text), kept.isFresh(now) else {
      let keys = try await fetchKeys(keySet)
      effects.memory.keySets.write(keySet.text, KeptKeySet(keys: keys, fetchedAt: now))
      return check(keys)
    }
    let result = check(kept.keys)
    // A sign-in has a token that was issued just now, with a key of now, so it may always ask for the keys again.
    guard case .failure(.signature(let fault)) = result,
      [.key, .keyAlgorithm, .signature].contains(fault),
      expected.isFresh || kept.maySeek(now)
    else { return result }
    kept.soughtAt = now
    effects.memory.keySets.write(keySet.text, kept)
    kept.keys = try await fetchKeys(keySet)
    kept.fetchedAt = now
    effects.memory.keySets.write(keySet.text, kept)
    return check(kept.keys)
  }

  private func fetchKeys(_ address: WebAddress) async throws(Setback) -> JSONWebKeySet {
    let answer = try await send(
      HTTPRequest(.get, address, responseLimitBytes: Self.keySetLimitBytes), at: .keySet)
    guard let keys = answer.object.flatMap({ JSONWebKeySet($0) }) else { throw unusable(.keySet) }
    return keys
  }
}
