import Einlass
import EinlassCrypto
import EinlassJSON
import Testing

@Suite struct JSONWebSignatureTests {
  /// The claims of RFC 7515 appendix A.
  private static let payload =
    "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"

  /// Keys and tokens of RFC 7515 appendices A.2 to A.4 and RFC 8037 appendix A.4. Left out are A.1
  /// with a secret, A.5 without a signature, and A.6 and A.7 in another form than the compact one.
  private static let examples: [(key: JSONValue, token: String, payload: String)] = [
    (
      [
        "kty": "RSA", "e": "AQAB",
        "n":
          "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
      ],
      "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
      payload
    ),
    (
      [
        "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
      ],
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
      payload
    ),
    (
      [
        "kty": "EC", "crv": "P-521",
        "x":
          "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
        "y":
          "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
      ],
      "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn",
      "Payload"
    ),
    (
      ["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"],
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
      "Example of Ed25519 signing"
    ),
  ]

  @Test(arguments: examples.indices)
  func `The examples of the RFCs verify, and no changed example does`(index: Int) throws {
    let example = Self.examples[index]
    let keys = try #require(JSONWebKeySet(["keys": [example.key]]))
    let signature = try JSONWebSignature.parse(example.token)
    #expect(signature.payload == Array(example.payload.utf8))
    let allowed = TokenAlgorithm.usual.union([.es512])
    try signature.verify(keys, allowed: allowed)
    #expect(throws: JSONWebSignature.Fault.algorithm) {
      try signature.verify(keys, allowed: allowed.subtracting([signature.algorithm]))
    }
    let others = Self.examples.indices.filter { $0 != index }.map { Self.examples[$0].key }
    let foreign = try #require(JSONWebKeySet(["keys": .array(others)]))
    #expect(throws: JSONWebSignature.Fault.signature) {
      try signature.verify(foreign, allowed: allowed)
    }
    let parts = example.token.split(separator: ".").map(String.init)
    let forged = [parts[0], Base64URL.encode(Array("{}".utf8)), parts[2]].joined(separator: ".")
    #expect(throws: JSONWebSignature.Fault.signature) {
      try JSONWebSignature.parse(forged).verify(keys, allowed: allowed)
    }
  }

  /// RFC 7515 appendices A.1 and A.5.
  @Test func `A secret's signature verifies only if HS256 is allowed, and no signature never`()
    throws
  {
    let claims =
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let secret = try #require(
      Base64URL.decode(
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"))
    let keys = JSONWebKeySet([try #require(JSONWebKey(clientSecret: Secret(secret)))])
    let token = try JSONWebSignature.parse(
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(claims).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    )
    try token.verify(keys, allowed: [.hs256])
    #expect(throws: JSONWebSignature.Fault.algorithm) {
      try token.verify(keys, allowed: TokenAlgorithm.usual)
    }
    #expect(throws: JSONWebSignature.Fault.algorithm) {
      try JSONWebSignature.parse("eyJhbGciOiJub25lIn0.\(claims).")
    }
  }

  private static func token(_ header: String, payload: String = "{}", signature: String = "")
    -> String
  {
    [header, payload, signature].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
  }

  @Test(
    "A malformed token is refused before its signature is checked",
    arguments: [
      ("", JSONWebSignature.Fault.form), ("a.b", .form), ("a.b.c.d", .form), ("..", .header),
      ("e30=.e30.", .form), ("e31.e30.", .form), (token("{}"), .algorithm),
      (token("[]"), .header), (token(#"{"alg":"none"}"#), .algorithm),
      (token(#"{"alg":"nOnE"}"#), .algorithm), (token(#"{"alg":"HS512"}"#), .algorithm),
      (token(#"{"alg":"RS256","alg":"ES256"}"#), .header),
      (token(#"{"alg":"RS256","crit":["exp"]}"#), .critical),
      (token(#"{"alg":"RS256","kid":[7]}"#), .header), (token(#"{"alg":["RS256"]}"#), .algorithm),
    ])
  func refused(text: String, fault: JSONWebSignature.Fault) {
    #expect(throws: fault) { try JSONWebSignature.parse(text) }
  }

  @Test func `A token of 64 KiB is read, and a longer one is refused`() throws {
    let head = Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8)) + "."
    let room = JSONWebSignature.byteLimit - head.utf8.count - 1
    // Base64url of n bytes never has a length of 1 modulo 4, so the signature fills the rest.
    let payload = String(repeating: "A", count: room / 4 * 4 - 4)
    let signature = String(
      repeating: "A", count: JSONWebSignature.byteLimit - head.utf8.count - 1 - payload.utf8.count)
    let text = head + payload + "." + signature
    #expect(text.utf8.count == JSONWebSignature.byteLimit)
    #expect(throws: Never.self) { try JSONWebSignature.parse(text) }
    #expect(throws: JSONWebSignature.Fault.tooLong) { try JSONWebSignature.parse(text + "A") }
  }

  @Test(
    "A key set keeps the usable keys and skips the others",
    arguments: [
      (#"{"keys":[]}"#, 0), (#"{"keys":[7,{},{"kty":"EC"},{"kty":"oct","k":"AAAA"}]}"#, 0),
      (
        #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        1
      ),
      (
        #"{"keys":[{"kty":"OKP","crv":"Ed25519","use":"enc","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        0
      ),
      (
        #"{"keys":[{"kty":"OKP","crv":"Ed25519","key_ops":["sign"],"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        0
      ),
      (
        #"{"keys":[{"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        0
      ),
      (
        #"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":7,"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        1
      ),
    ])
  func keySets(text: String, count: Int) throws {
    #expect(JSONWebKeySet(try JSONReader.read(Array(text.utf8)))?.keys.count == count)
  }
}
