import EinlassCrypto
import Testing

@Suite struct KeyDerivationTests {
  /// RFC 5869 appendix A, cases 1 to 3.
  @Test(
    "HKDF-SHA256 answers as RFC 5869 says",
    arguments: [
      (
        [UInt8](repeating: 0x0b, count: 22), Array(0x00...0x0c) as [UInt8],
        Array(0xf0...0xf9) as [UInt8],
        """
        3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf
        34007208d5b887185865
        """
      ),
      (
        Array(0x00...0x4f), Array(0x60...0xaf), Array(0xb0...0xff),
        """
        b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c
        59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71
        cc30c58179ec3e87c14c01d5c1f3434f1d87
        """
      ),
      (
        [UInt8](repeating: 0x0b, count: 22), [], [],
        """
        8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d
        9d201395faa4b61a96c8
        """
      ),
    ])
  func knownKeys(key: [UInt8], salt: [UInt8], info: [UInt8], derived: String) {
    let right = bytes(derived)
    let answer = KeyDerivation.hkdfSHA256(
      key: Secret(key), salt: salt, info: info, count: right.count)
    #expect(answer.reveal() == right)
  }
}
