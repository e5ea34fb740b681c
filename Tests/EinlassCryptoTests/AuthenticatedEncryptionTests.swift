import EinlassCrypto
import Testing

@Suite struct AuthenticatedEncryptionTests {
  /// Test cases 13 to 16 of "The Galois/Counter Mode of Operation", appendix B.
  @Test(
    "AES-256-GCM gives the results that its authors published",
    arguments: [
      (
        String(repeating: "00", count: 32), String(repeating: "00", count: 12), "", "",
        "530f8afbc74536b9a963b4f1c4cb738b"
      ),
      (
        String(repeating: "00", count: 32), String(repeating: "00", count: 12),
        String(repeating: "00", count: 16), "",
        "cea7403d4d606b6e074ec5d3baf39d18 d0d1c8a799996bf0265b98b5d48ab919"
      ),
      (
        "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        """
        d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
        1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
        """, "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        """
        522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
        8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
        76fc6ece0f4e1768cddf8853bb2d551b
        """
      ),
    ])
  func knownAnswers(key: String, nonce: String, plaintext: String, data: String, sealed: String)
    throws
  {
    let key = Secret(bytes(key))
    let answer = AuthenticatedEncryption.seal(
      bytes(plaintext), key: key, nonce: bytes(nonce), associatedData: bytes(data))
    #expect(answer == bytes(sealed))
    let opened = try AuthenticatedEncryption.open(
      answer, key: key, nonce: bytes(nonce), associatedData: bytes(data))
    #expect(opened == bytes(plaintext))
  }

  private let key = SecureRandom.secret(AuthenticatedEncryption.keyCount)
  private let nonce = SecureRandom.bytes(AuthenticatedEncryption.nonceCount)
  private let message = Array("the king is in the altogether".utf8)

  @Test func `A flipped bit anywhere is refused`() throws {
    let sealed = AuthenticatedEncryption.seal(
      message, key: key, nonce: nonce, associatedData: [1, 2])
    for bit in 0..<sealed.count * 8 {
      var changed = sealed
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: CryptoError.notAuthentic) {
        try AuthenticatedEncryption.open(
          changed, key: key, nonce: nonce, associatedData: [1, 2])
      }
    }
    // Negative control: the unchanged text opens.
    #expect(
      try AuthenticatedEncryption.open(sealed, key: key, nonce: nonce, associatedData: [1, 2])
        == message)
  }

  @Test func `A cut ciphertext, or another key, nonce or associated data, is refused`() {
    let sealed = AuthenticatedEncryption.seal(message, key: key, nonce: nonce, associatedData: [1])
    let otherKey = SecureRandom.secret(AuthenticatedEncryption.keyCount)
    let otherNonce = nonce.map { $0 ^ 1 }
    let attempts: [([UInt8], Secret, [UInt8], [UInt8])] = [
      (Array(sealed.dropLast()), key, nonce, [1]), (Array(sealed.dropFirst()), key, nonce, [1]),
      (Array(sealed.prefix(15)), key, nonce, [1]), ([], key, nonce, [1]),
      (sealed, otherKey, nonce, [1]), (sealed, key, otherNonce, [1]), (sealed, key, [], [1]),
      (sealed, key, nonce, [2]), (sealed, key, nonce, []),
    ]
    for (sealed, key, nonce, data) in attempts {
      #expect(throws: CryptoError.notAuthentic) {
        try AuthenticatedEncryption.open(sealed, key: key, nonce: nonce, associatedData: data)
      }
    }
  }
}
