import EinlassCrypto
import Testing

@Suite struct KeyDerivationTests {
  /// RFC 5869 appendix A, cases 1 to 3.
  @Test(
    "HKDF-SHA256 gives the results of RFC 5869",
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

  /// RFC 7914 section 12, without the fourth example, because it needs a gigabyte of memory.
  @Test(
    "The scrypt function gives the results of RFC 7914",
    arguments: [
      (
        "", "", 16, 1, 1,
        """
        77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442
        fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906
        """
      ),
      (
        "password", "NaCl", 1024, 8, 16,
        """
        fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162
        2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640
        """
      ),
      (
        "pleaseletmein", "SodiumChloride", 16384, 8, 1,
        """
        7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2
        d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887
        """
      ),
    ] as [(String, String, UInt64, UInt64, UInt64, String)])
  func knownPassphrases(
    passphrase: String, salt: String, cost: UInt64, blockSize: UInt64, parallelism: UInt64,
    derived: String
  ) {
    let answer = KeyDerivation.scrypt(
      passphrase: Secret(passphrase), salt: Array(salt.utf8), cost: cost, blockSize: blockSize,
      parallelism: parallelism, count: 64)
    #expect(answer?.reveal() == bytes(derived))
  }

  @Test(
    "The scrypt function refuses invalid parameters",
    arguments: [(0, 8, 1), (1, 8, 1), (1000, 8, 1), (16, 0, 1), (16, 8, 0)]
      as [(UInt64, UInt64, UInt64)])
  func unknownPassphrases(cost: UInt64, blockSize: UInt64, parallelism: UInt64) {
    let answer = KeyDerivation.scrypt(
      passphrase: Secret("x"), salt: [], cost: cost, blockSize: blockSize,
      parallelism: parallelism, count: 32)
    #expect(answer == nil)
  }
}
