import EinlassCrypto
import Testing

@Suite struct DigestTests {
  @Test(
    "SHA-1 and SHA-256 give the results of FIPS 180-4",
    arguments: [
      (
        "", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
      ),
      (
        "abc", "a9993e364706816aba3e25717850c26c9cd0d89d",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      ),
    ])
  func knownDigests(text: String, sha1: String, sha256: String) {
    #expect(Digest.sha1(Array(text.utf8)) == bytes(sha1))
    #expect(Digest.sha256(Array(text.utf8)) == bytes(sha256))
  }

  /// RFC 2202 and RFC 4231. RFC 5849 can produce the empty key and message.
  @Test(
    "HMAC-SHA1 and HMAC-SHA256 give the results of their RFCs",
    arguments: [
      (
        [UInt8](repeating: 0x0b, count: 20), "Hi There",
        "b617318655057264e28bc0b6fb378c8ef146be00",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), "what do ya want for nothing?",
        "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xaa, count: 131),
        "Test Using Larger Than Block-Size Key - Hash Key First",
        "90d0dace1c1bdc957339307803160335bde6df2b",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
      (
        [], "", "fbdb1d1b18aa6c08324b7d64b71fb76370690e1d",
        "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
      ),
    ])
  func knownCodes(key: [UInt8], message: String, sha1: String, sha256: String) {
    let message = Array(message.utf8)
    #expect(MessageAuthentication.hmacSHA1(key: key, message: message) == bytes(sha1))
    #expect(MessageAuthentication.hmacSHA256(key: key, message: message) == bytes(sha256))
  }

  @Test func `HMAC-SHA1 gives the first one-time password of RFC 6238`() {
    let code = MessageAuthentication.hmacSHA1(
      key: Array("12345678901234567890".utf8), message: bytes("0000000000000001"))
    let offset = Int(code[19] & 15)
    let number = code[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
    #expect(number % 100_000_000 == 94_287_082)
  }

  @Test func `Many threads can use one algorithm at once`() async {
    let right = bytes("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
    let wrong = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<500).count { _ in
            MessageAuthentication.hmacSHA1(
              key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8))
              != right
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }
}
