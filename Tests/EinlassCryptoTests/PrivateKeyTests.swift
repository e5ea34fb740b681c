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
  func `What a new key signs is valid by its public parts, and nothing else is`(
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
      // Leading zeros of either half turn up in one signature of 128.
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
  func `A key survives its PKCS 8 form`(
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
}
