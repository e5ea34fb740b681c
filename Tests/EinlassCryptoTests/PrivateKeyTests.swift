import EinlassCrypto
import Testing

@Suite struct PrivateKeyTests {
  static let kinds: [(PublicKey.Kind, [SignatureVerification.Scheme])] = [
    (.rsa, [.rsaPKCS1(.sha256), .rsaPKCS1(.sha512), .rsaPSS(.sha256), .rsaPSS(.sha384)]),
    (.ellipticCurve(.p256), [.ecdsa(.p256, .sha256)]),
    (.ellipticCurve(.p384), [.ecdsa(.p384, .sha384)]),
    (.ellipticCurve(.p521), [.ecdsa(.p521, .sha512)]),
    (.ed25519, [.ed25519]),
  ]

  private func checking(_ key: PrivateKey) -> PublicKey? {
    switch (key.publicParts, key.kind) {
    case (.rsa(let modulus, let exponent), _):
      PublicKey(rsaModulus: modulus, exponent: exponent)
    case (.point(let x, let y), .ellipticCurve(let curve)): PublicKey(curve: curve, x: x, y: y)
    case (.ed25519(let bytes), _): PublicKey(ed25519: bytes)
    default: nil
    }
  }

  @Test(arguments: kinds)
  func `The public parts of a new key verify its signatures and no changed message`(
    kind: PublicKey.Kind, schemes: [SignatureVerification.Scheme]
  ) throws {
    let key = PrivateKey.generate(kind)
    #expect(key.kind == kind)
    let publicKey = try #require(checking(key))
    let message = Array("a message".utf8)
    for (_, others) in Self.kinds {
      for scheme in others where !schemes.contains(scheme) {
        #expect(key.sign(message, scheme) == nil)
      }
    }
    for scheme in schemes {
      // 300 rounds, because only one ECDSA signature in 128 has a half with a leading zero byte.
      for round in 0..<(kind == .rsa ? 2 : 300) {
        let message = message + [UInt8(truncatingIfNeeded: round)]
        let signature = try #require(key.sign(message, scheme))
        #expect(SignatureVerification.isValid(signature, of: message, by: publicKey, scheme))
        #expect(
          !SignatureVerification.isValid(signature, of: message + [0], by: publicKey, scheme))
      }
    }
  }

  @Test(arguments: kinds)
  func `A private key survives its PKCS 8 form`(
    kind: PublicKey.Kind, schemes: [SignatureVerification.Scheme]
  ) throws {
    let key = PrivateKey.generate(kind)
    let bytes = key.pkcs8.reveal()
    let again = try #require(PrivateKey(pkcs8: Secret(bytes)))
    #expect(again.kind == kind)
    #expect(again.publicParts == key.publicParts)
    #expect(PrivateKey(pkcs8: Secret(bytes + [0])) == nil)
    #expect(PrivateKey(pkcs8: Secret(Array(bytes.dropLast()))) == nil)
    #expect(PrivateKey(pkcs8: Secret([])) == nil)
  }

  /// Made by `openssl ecparam -name prime256v1 -genkey`. `sealed` is the same key, encrypted by
  /// `openssl pkcs8 -topk8`.
  private static let old = """
    -----BEGIN EC PARAMETERS-----
    BggqhkjOPQMBBw==
    -----END EC PARAMETERS-----
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIEHf+iowVXqXc/ikIak3gGybtMa8P1nFusOG1Oo4VlANoAoGCCqGSM49
    AwEHoUQDQgAExgKIN/EN/EkLdIw5Cd5GhkdYxG6fdgcdirCet2lYH45XDTHQsjZp
    bTxDctose0o7eCgth8rHWTi4uB4lQ1J3dA==
    -----END EC PRIVATE KEY-----
    """
  private static let sealed = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgfFx9z4r1vSgICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBZPH8XZKQnvScex27cEqTUEgZDz
    a8t5P+YvU8Sj2aw2KLKqZyiCs4IQMHUEe/2HG9uCu0xMyYA4ODEbDYij9guk0qhK
    6nsNaKvRA5gmd5R8P6bZ3qd6/P1kp1j0Vja3a397t0GiylOp0bl52TW4AQud1nhq
    R28d9rL3PPYXJuhF3PdmWxoThJrSFO9KS7J3jqEkMaKI5UAwrVoOXdBDyBvjphU=
    -----END ENCRYPTED PRIVATE KEY-----
    """

  @Test func `A PEM text is read in either form, and an encrypted one is refused`() throws {
    let key = try #require(PrivateKey(pem: Secret(Self.old)))
    #expect(key.kind == .ellipticCurve(.p256))
    let lines = Self.old.split(separator: "\n").dropFirst(3)
    #expect(PrivateKey(pem: Secret(lines.joined(separator: "\r\n") + "\r\n")) != nil)
    #expect(PrivateKey(pem: Secret(Self.sealed)) == nil)
    for text in ["", "-----BEGIN PRIVATE KEY-----", String(Self.old.dropLast(80))] {
      #expect(PrivateKey(pem: Secret(text)) == nil)
    }
  }
}
