internal import EinlassJSON

/// The origin of an id_token stored beside an access token, read without another check of its
/// signature.
public struct IDTokenOrigin: Sendable, Equatable {
  /// The access token that the id_token came with: the current one or a former one.
  public enum AccessToken: String, Sendable, CaseIterable {
    /// The access token stored with it.
    case current
    /// A former one: a refresh has brought no new id_token. OpenID Connect Core 1.0 section 12.2.
    case former
  }

  public var accessToken: AccessToken
  public var expiresAt: UnixTime?
}

extension OAuth2Credential {
  /// Whether the id_token ends after this time. A missing one, or one without an end, counts as
  /// valid.
  func idTokenIsValid(until time: UnixTime) -> Bool { (idTokenOrigin?.expiresAt ?? .max) > time }

  /// The origin of the id_token; `nil` without one.
  public var idTokenOrigin: IDTokenOrigin? {
    guard let idToken else { return nil }
    let signature = try? JSONWebSignature.parse(revealedText(idToken))
    let claims = signature.flatMap { (try? JSONReader.read($0.payload))?.object }
    var isFormer = hasFormerIDToken
    if let signature, let said = claims?["at_hash"]?.string, signature.algorithm != .edDSA {
      isFormer = !sameBytes(said, signature.algorithm.halfDigest(of: accessToken))
    }
    return IDTokenOrigin(
      accessToken: isFormer ? .former : .current, expiresAt: try? claims?.time("exp"))
  }
}
