import EinlassCrypto
import TestSupport
import Testing

@Suite struct CertificateTests {
  private let key = PrivateKey(pem: Secret(SampleCertificates.key))
  private let otherKey = PrivateKey(pem: Secret(SampleCertificates.otherKey))

  @Test func `A certificate belongs to its own key and to no other`() throws {
    let certificate = try #require(Certificate(pem: SampleCertificates.valid))
    #expect(certificate.isOf(try #require(key)))
    #expect(!certificate.isOf(try #require(otherKey)))
    #expect(!certificate.isOf(.generate(.ed25519)))
  }

  @Test func `A certificate tells the end of its validity`() throws {
    #expect(Certificate(pem: SampleCertificates.valid)?.endsAt == 4_102_444_799)
    #expect(Certificate(pem: SampleCertificates.expired)?.endsAt == 1_420_070_400)
  }

  @Test func `The first certificate of a chain counts`() throws {
    let chain = SampleCertificates.valid + SampleCertificates.expired
    #expect(Certificate(pem: chain)?.endsAt == 4_102_444_799)
    #expect(Certificate(pem: "Subject: a client\n" + chain)?.endsAt == 4_102_444_799)
  }

  @Test func `A text without a certificate or with a private key is refused`() {
    let (valid, key) = (SampleCertificates.valid, SampleCertificates.key)
    for text in [
      "", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      String(valid.dropLast(60)), key, valid + key, key + valid,
    ] {
      #expect(Certificate(pem: text) == nil)
    }
  }
}
