internal import EinlassJSON

/// The origin of an id_token that is stored beside an access token. Its signature was verified when it came.
public struct IDTokenOrigin: Sendable, Equatable {
  /// The access token that the id_token came with: the current one or a former one.
  public enum AccessToken: String, Sendable, CaseIterable {
    /// The one that it is stored with.
    case current
    /// One before: a refresh has brought no other id_token. OpenID Connect Core 1.0 section 12.2.
    case former
  }

  public var accessToken: AccessToken
  public var expiresAt: UnixTime?
}

extension OAuth2Credential {
  /// Of its id_token; `nil` where there is none.
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
