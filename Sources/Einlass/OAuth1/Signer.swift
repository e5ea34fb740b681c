internal import EinlassCrypto

/// The signature methods of RFC 5849 section 3.4, and HMAC-SHA256, their successor in use.
public enum SignatureMethod: String, Sendable, CaseIterable {
  case hmacSHA1 = "HMAC-SHA1"
  case hmacSHA256 = "HMAC-SHA256"
  /// With the registration's private key, RSA of at least 2048 bits. RFC 5849 section 3.4.3.
  case rsaSHA1 = "RSA-SHA1"
  /// Both secrets in the clear, protected by nothing but TLS. RFC 5849 section 3.4.4.
  case plaintext = "PLAINTEXT"

  /// The parts of a registration that the method needs.
  var needs: [Provider.RegistrationPart] {
    [.clientID, self == .rsaSHA1 ? .privateKey : .clientSecret]
  }
}

/// A signer of requests for a registration and, once there is one, for a token. RFC 5849 section 3.
public struct Signer: Sendable {
  public var method: SignatureMethod
  /// The client credentials. A missing secret signs as an empty one.
  public var registration: ClientRegistration
  /// The token credentials; `nil` for the request that asks for the first ones.
  public var token: OAuth1Credential?

  public init(
    method: SignatureMethod, registration: ClientRegistration, token: OAuth1Credential? = nil
  ) {
    self.method = method
    self.registration = registration
    self.token = token
  }

  /// Returns the value of the `Authorization` header. RFC 5849 section 3.5.1.
  ///
  /// `form`: the fields of the body, if it is form-encoded. `adding`: `oauth_callback`,
  /// `oauth_verifier`. `nonce` and `timestamp` are fresh for each request (RFC 5849 section 3.3).
  public func authorization(
    method httpMethod: String, address: WebAddress, form: [Parameter] = [],
    adding: [Parameter] = [], nonce: String, timestamp: UnixTime
  ) -> String {
    var parameters = [
      Parameter("oauth_consumer_key", registration.clientID),
      Parameter("oauth_nonce", nonce),
      Parameter("oauth_signature_method", method.rawValue),
      Parameter("oauth_timestamp", String(timestamp)),
      Parameter("oauth_version", "1.0"),
    ]
    parameters += adding
    if let token {
      parameters.append(
        Parameter("oauth_token", String(decoding: token.token.reveal(), as: UTF8.self)))
    }
    let base = SignatureBase.bytes(
      method: httpMethod, address: address, parameters: parameters + form)
    parameters.append(Parameter("oauth_signature", signature(of: base)))
    return AuthorizationHeader.format(parameters.sorted { $0.name < $1.name })
  }

  /// Returns the signature of a base string (RFC 5849 sections 3.4.2 to 3.4.4), in base64.
  /// PLAINTEXT returns both secrets, encoded and joined with `&`, which is also the key of the HMAC
  /// methods. RSA-SHA1 returns an empty text without a private key.
  public func signature(of base: String) -> String { signature(of: Array(base.utf8)) }

  private func signature(of base: [UInt8]) -> String {
    var key: [UInt8] = []
    PercentEncoding.append(registration.clientSecret?.reveal() ?? [], to: &key)
    key.append(UInt8(ascii: "&"))
    PercentEncoding.append(token?.tokenSecret.reveal() ?? [], to: &key)
    switch method {
    case .hmacSHA1: return Base64.encode(MessageAuthentication.hmacSHA1(key: key, message: base))
    case .hmacSHA256:
      return Base64.encode(MessageAuthentication.hmacSHA256(key: key, message: base))
    case .rsaSHA1:
      return Base64.encode(registration.signingKey?.sign(base, .rsaPKCS1(.sha1)) ?? [])
    case .plaintext: return String(decoding: key, as: UTF8.self)
    }
  }
}
