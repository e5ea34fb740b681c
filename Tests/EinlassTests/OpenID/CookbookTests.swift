import EinlassCrypto
import EinlassJSON
import Foundation
import Testing

@testable import Einlass

/// RFC 7520 sections 4.1 to 4.4 and RFC 8037 appendix A.4, from the files of their authors.
/// RFC 7520 sections 4.5 to 4.8 do not use the compact form with a payload, and einlass reads no
/// other.
@Suite struct CookbookTests {
  private static func example(_ name: String) throws -> JSONValue {
    let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Vectors/Cookbook/\(name).json")
    return try JSONReader.read(Array(Data(contentsOf: path)))
  }

  @Test(
    "The signatures of the cookbook verify with its keys",
    arguments: [
      ("4_1.rsa_v15_signature", TokenAlgorithm.rs256), ("4_2.rsa-pss_signature", .ps384),
      ("4_3.ecdsa_signature", .es512), ("4_4.hmac-sha2_integrity_protection", .hs256),
      ("curve25519", .edDSA),
    ])
  func compact(name: String, algorithm: TokenAlgorithm) throws {
    let example = try Self.example(name)
    var key = try #require(example["input"]?["key"]?.object)
    let keys: JSONWebKeySet
    if algorithm == .hs256 {
      let secret = try #require(key["k"]?.string.flatMap(Base64URL.decode))
      keys = JSONWebKeySet([try #require(JSONWebKey(clientSecret: Secret(secret)))])
    } else {
      key["d"] = nil
      keys = try #require(JSONWebKeySet(["keys": [.object(key)]]))
    }
    let text = try #require(example["output"]?["compact"]?.string)
    let token = try JSONWebSignature.parse(text)
    #expect(token.algorithm == algorithm)
    #expect(token.payload == Array(try #require(example["input"]?["payload"]?.string).utf8))
    try token.verify(keys, allowed: [algorithm])
    let flipped = text.hasSuffix("A") ? "B" : "A"
    let parts = text.split(separator: ".")
    let forged = "\(parts[0]).\(flipped)\(parts[1].dropFirst()).\(parts[2])"
    #expect(throws: JSONWebSignature.Fault.signature) {
      try JSONWebSignature.parse(forged).verify(keys, allowed: [algorithm])
    }
  }

  /// RFC 8037 appendices A.1 and A.4. An Ed25519 signature is deterministic.
  @Test func `A signature with the key of RFC 8037 has its published value`() throws {
    let example = try Self.example("curve25519")
    let seed = try #require(example["input"]?["key"]?["d"]?.string.flatMap(Base64URL.decode))
    // RFC 8410 section 7.
    let head: [UInt8] = [
      0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04,
      0x20,
    ]
    let key = try #require(PrivateKey(pkcs8: Secret(head + seed)))
    let text = try #require(example["signing"]?["sig-input"]?.string)
    let signature = try #require(key.sign(Array(text.utf8), .ed25519))
    #expect(Base64URL.encode(signature) == example["signing"]?["sig"]?.string)
  }
}
