import EinlassCrypto
import EinlassJSON
import Testing

@testable import Einlass

/// The keys of an issuer that are tried for a signature: those with the `kid`, else those without one.
@Suite struct KeyChoiceTests {
  private static let key = PrivateKey.generate(.ed25519)
  private static let other = PrivateKey.generate(.ed25519)

  private static func json(
    _ key: PrivateKey = key, _ id: JSONValue? = "k0", _ more: JSONObject = [:]
  ) -> JSONValue {
    guard case .ed25519(let x) = key.publicParts else { return .null }
    var json: JSONObject = [
      "kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(x)),
    ]
    json["kid"] = id
    for member in more.members { json[member.name] = member.value }
    return .object(json)
  }

  private static func elliptic() -> JSONValue {
    guard case .point(let x, let y) = PrivateKey.generate(.ellipticCurve(.p256)).publicParts
    else { return .null }
    return [
      "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)),
      "y": .string(Base64URL.encode(y)),
    ]
  }

  /// The result of a signature with this `kid` in the header; `nil` for a valid one.
  private static func fault(
    _ keys: [JSONValue], kid: JSONValue? = "k0", signedBy signer: PrivateKey = key
  ) throws -> JSONWebSignature.Fault? {
    var header: JSONObject = ["alg": "EdDSA"]
    header["kid"] = kid
    let parts = [JSONValue.object(header), [:]].map { Base64URL.encode($0.bytes()) }
    let text = parts.joined(separator: ".")
    let signature = try #require(signer.sign(Array(text.utf8), .ed25519))
    let set = try #require(JSONWebKeySet(["keys": .array(keys)]))
    do throws(JSONWebSignature.Fault) {
      try JSONWebSignature.parse("\(text).\(Base64URL.encode(signature))").verify(
        set, allowed: TokenAlgorithm.usual)
      return nil
    } catch { return error }
  }

  private struct Row {
    var keys: [JSONValue]
    var kid: JSONValue? = "k0"
    var fault: JSONWebSignature.Fault?
  }

  private static let rows: [(String, Row)] = [
    ("the key", Row(keys: [json()])),
    ("a key twice", Row(keys: [json(), json()])),
    ("two keys with one id", Row(keys: [json(other), json()])),
    ("a key without an id", Row(keys: [json(key, nil)])),
    ("keys without an id", Row(keys: [json(other, "k1"), json(other, nil), json(key, nil)])),
    ("a null id", Row(keys: [json(key, .null)])),
    ("a number as id", Row(keys: [json(key, 7)], kid: "7")),
    ("a number in the header", Row(keys: [json(key, "7")], kid: 7)),
    ("no id in the header", Row(keys: [json(other), json()], kid: nil)),
    ("a null id in the header", Row(keys: [json(other), json()], kid: .null)),
    ("null members", Row(keys: [json(key, "k0", ["alg": .null, "use": .null, "key_ops": .null])])),
    ("the algorithm's name", Row(keys: [json(key, "k0", ["alg": "EdDSA", "use": "sig"])])),
    ("a misspelt algorithm", Row(keys: [json(key, "k0", ["alg": "EDDSA"])])),
    ("an algorithm of another shape", Row(keys: [json(key, "k0", ["alg": ["ES256"]])])),
    ("a key for signing too", Row(keys: [json(key, "k0", ["key_ops": ["sign", "verify"]])])),
    ("another algorithm", Row(keys: [json(key, "k0", ["alg": "ES256"])], fault: .keyAlgorithm)),
    ("an unknown one", Row(keys: [json(key, "k0", ["alg": "ML-DSA-44"])], fault: .keyAlgorithm)),
    ("an encryption", Row(keys: [json(key, "k0", ["alg": "ECDH-ES"])], fault: .keyAlgorithm)),
    ("a secret's", Row(keys: [json(key, "k0", ["alg": "HS256"])], fault: .keyAlgorithm)),
    ("none", Row(keys: [json(key, "k0", ["alg": "none"])], fault: .keyAlgorithm)),
    ("for encryption", Row(keys: [json(key, "k0", ["use": "enc"])], fault: .key)),
    ("only for signing", Row(keys: [json(key, "k0", ["key_ops": ["sign"]])], fault: .key)),
    ("a symmetric key", Row(keys: [["kty": "oct", "k": "AAAA", "kid": "k0"]], fault: .key)),
    ("another id", Row(keys: [json(key, "k1")], fault: .key)),
    ("another case", Row(keys: [json(key, "K0")], fault: .key)),
    ("a key with the id wins", Row(keys: [json(other), json(key, nil)], fault: .signature)),
  ]

  @Test(arguments: rows.indices)
  func `A key is tried by its id, its use and its algorithm`(index: Int) throws {
    let (name, row) = Self.rows[index]
    #expect(try Self.fault(row.keys, kid: row.kid) == row.fault, "\(name)")
    // The control: another key's signature is never valid.
    let stranger = PrivateKey.generate(.ed25519)
    #expect(try Self.fault(row.keys, kid: row.kid, signedBy: stranger) != nil, "\(name)")
  }

  @Test(
    "Any other registered algorithm excludes a key, also one that einlass does not know",
    arguments: [
      "RS256", "RS1", "PS512", "ES512", "ES256K", "Ed25519", "Ed448", "HS1", "HS512", "none",
      "ML-DSA-87", "RSA1_5", "RSA-OAEP", "RSA-OAEP-512", "ECDH-ES", "ECDH-ES+A256KW", "dir",
      "A128KW", "A192GCMKW", "PBES2-HS256+A128KW", "A128CBC-HS256", "A256GCM", "A192CBC",
      "A256CTR",
    ])
  func registered(name: String) throws {
    #expect(try Self.fault([Self.json(Self.key, "k0", ["alg": .string(name)])]) == .keyAlgorithm)
    // Another key of that id is still tried.
    #expect(
      try Self.fault([Self.json(Self.other, "k0", ["alg": .string(name)]), Self.json()]) == nil)
  }

  @Test(
    "A name that is not registered says nothing about a key",
    arguments: ["", "ES521", "ES224", "eddsa", "ed25519", "RSA", "None", "SHA256withECDSA"])
  func unregistered(name: String) throws {
    #expect(try Self.fault([Self.json(Self.key, "k0", ["alg": .string(name)])]) == nil)
  }

  @Test(
    "Sixteen keys are tried, without those of another kind",
    arguments: [(15, 0, true), (16, 0, false), (15, 40, true)])
  func limit(others: Int, elliptic: Int, isValid: Bool) throws {
    let before = (0..<elliptic).map { _ in Self.elliptic() }
    let same = (0..<others).map { _ in Self.json(Self.other, nil) }
    #expect(try (Self.fault(before + same + [Self.json(Self.key, nil)]) == nil) == isValid)
  }

  @Test func `A key in base64 with padding is read, and another padding is not`() throws {
    guard case .ed25519(let x) = Self.key.publicParts else { return }
    let padded = Base64.encode(x)
    #expect(padded.hasSuffix("="))
    #expect(try Self.fault([Self.json(Self.key, "k0", ["x": .string(padded)])]) == nil)
    #expect(try Self.fault([Self.json(Self.key, "k0", ["x": .string(padded + "==")])]) == .key)
  }
}
