internal import EinlassJSON

/// The keys of an issuer, with the time of their fetch.
public struct KeptKeySet: Sendable {
  /// How long the keys are used.
  static let lifetimeSeconds: Int64 = 86_400
  /// The shortest time between two fetches caused by a caller's token that none of the keys fits.
  static let pauseSeconds: Int64 = 60

  var keys: JSONWebKeySet
  var fetchedAt: UnixTime
  /// The last fetch because of such a token.
  var soughtAt: UnixTime?

  /// Whether the keys can be used at this time. A clock that was set back does not prolong their
  /// use.
  func isFresh(_ now: UnixTime) -> Bool {
    (0..<Self.lifetimeSeconds).contains(now - fetchedAt)
  }

  /// Whether the issuer may be asked for new keys.
  func maySeek(_ now: UnixTime) -> Bool {
    soughtAt.map { !(0..<Self.pauseSeconds).contains(now - $0) } ?? true
  }
}

extension Exchange {
  /// The longest key set that is read, in bytes.
  private static let keySetLimitBytes = 256 << 10

  /// Returns the verified id_token in a text: signed with one of its issuer's keys and as expected.
  /// If HS256 is the only algorithm, the registration's secret is the key, and no key set is
  /// fetched.
  func checkedIDToken(
    _ text: Secret, _ expected: IDTokenExpectation, _ endpoint: TokenEndpoint,
    _ registration: ClientRegistration
  ) async throws(FlowFailure) -> Result<IDToken, IDTokenExpectation.Fault> {
    func check(_ keys: JSONWebKeySet) -> Result<IDToken, IDTokenExpectation.Fault> {
      Result { () throws(IDTokenExpectation.Fault) in
        try expected.check(
          revealedText(text), keys: keys, now: effects.now(at: endpoint.request.address))
      }
    }
    guard let keySet = endpoint.keySet, !endpoint.isSignedBySecret else {
      let key = registration.clientSecret.flatMap { JSONWebKey(clientSecret: $0) }
      return check(JSONWebKeySet(key.map { [$0] } ?? []))
    }
    return try await checked(by: keySet, isFresh: expected.isFresh, check)
  }

  /// Returns the result of a check with the keys of an issuer.
  ///
  /// Keys are cached. Because keys rotate, a token that fits none of them lets the issuer be asked
  /// again: once a minute, and always for a token issued just now.
  func checked<Success>(
    by keySet: WebAddress, isFresh: Bool,
    _ check: (JSONWebKeySet) -> Result<Success, IDTokenExpectation.Fault>
  ) async throws(FlowFailure) -> Result<Success, IDTokenExpectation.Fault> {
    let now = effects.now()
    guard var kept = effects.memory.keySets.read(keySet.text), kept.isFresh(now) else {
      let keys = try await fetchKeys(keySet)
      effects.memory.keySets.write(keySet.text, KeptKeySet(keys: keys, fetchedAt: now))
      return check(keys)
    }
    let result = check(kept.keys)
    // A sign-in's token was issued just now with a current key, so it may always ask for the keys
    // again.
    guard case .failure(.signature(let fault)) = result,
      [.key, .keyAlgorithm, .signature].contains(fault),
      isFresh || kept.maySeek(now)
    else { return result }
    kept.soughtAt = now
    effects.memory.keySets.write(keySet.text, kept)
    kept.keys = try await fetchKeys(keySet)
    kept.fetchedAt = now
    effects.memory.keySets.write(keySet.text, kept)
    return check(kept.keys)
  }

  private func fetchKeys(_ address: WebAddress) async throws(FlowFailure) -> JSONWebKeySet {
    let answer = try await send(
      HTTPRequest(.get, address, responseLimitBytes: Self.keySetLimitBytes), at: .keySet)
    guard let keys = answer.object.flatMap({ JSONWebKeySet($0) }) else {
      throw unusable(.keySet, answer.fault)
    }
    return keys
  }
}
