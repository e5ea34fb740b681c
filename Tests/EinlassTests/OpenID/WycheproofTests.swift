import Einlass
import EinlassCrypto
import EinlassJSON
import Foundation
import Testing

/// The signed tokens and keys of Wycheproof. Exactly the valid ones are accepted.
@Suite struct WycheproofTokenTests {
  private static func groups(_ name: String, count: Int) throws -> [JSONValue] {
    let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Vectors/Wycheproof/\(name)_test.json")
    let file = try JSONReader.read(Array(Data(contentsOf: path)))
    try #require(file["numberOfTests"] == JSONValue(Int64(count)))
    return try #require(file["testGroups"]?.array)
  }

  /// Returns the keys of a group in einlass's form: the published keys of an issuer, or the
  /// client's secret.
  private static func keys(_ group: JSONValue) -> JSONWebKeySet {
    let given = group["public"] ?? group["private"] ?? .null
    let members = given["keys"]?.array ?? [given]
    // einlass uses a symmetric key only for HS256.
    let secrets = members.filter { $0["kty"] == "oct" && $0["alg"] == "HS256" }
      .compactMap { $0["k"]?.string.flatMap(Base64URL.decode) }
    // A registration has one secret, so only the first key is used.
    guard members.count == secrets.count, let secret = secrets.first,
      Set(members.map { $0["kid"]?.string }).count == members.count
    else { return JSONWebKeySet(["keys": .array(members)]) ?? JSONWebKeySet([]) }
    return JSONWebKeySet(JSONWebKey(clientSecret: Secret(secret)).map { [$0] } ?? [])
  }

  private static func isBelieved(_ text: String, _ keys: JSONWebKeySet) -> Bool {
    (try? JSONWebSignature.parse(text).verify(keys, allowed: Set(TokenAlgorithm.allCases))) != nil
  }

  /// Labels that contradict the file itself or RFC 7515 section 2. 367 and 370 are identical to the
  /// token of 357, which is labelled valid. 372 and 373 contain a character outside base64url. The
  /// keys of 346 and 350 name another algorithm than the token, which all other cases label invalid.
  private static let mislabelled: Set<Int64> = [346, 350, 367, 370, 372, 373]
  /// The keys of these cases name an algorithm that is not registered, ES521 or ES224, so einlass
  /// ignores the name. The keys of the valid cases 347 and 351 of the signatures name ES521 too.
  private static let unregistered: Set<Int64> = [19, 20]

  @Test func `Exactly the valid signatures of Wycheproof verify`() throws {
    var seen = (valid: 0, invalid: 0)
    for group in try Self.groups("json_web_signature", count: 401) {
      for row in try #require(group["tests"]?.array) {
        let number = try #require(row["tcId"]?.int64)
        guard let text = row["jws"]?.string else { continue }
        // The HMAC cases have a key id. einlass ignores it, because a registration has only one
        // secret.
        let isBelieved = Self.isBelieved(text, Self.keys(group))
        let isValid = (row["result"] == "valid") != Self.mislabelled.contains(number)
        #expect(isBelieved == isValid, "case \(number): \(row["comment"]?.string ?? "")")
        if isValid { seen.valid += 1 } else { seen.invalid += 1 }
      }
    }
    #expect(seen == (44, 357))
  }

  /// The key of 346 names PS256, and the token PS384. The key of 347 names ES521.
  @Test(arguments: [(346, false), (347, true)] as [(Int64, Bool)])
  func `The examples of RFC 7520 verify with keys that name no other algorithm`(
    number: Int64, isBelieved: Bool
  ) throws {
    let group = try #require(
      Self.groups("json_web_signature", count: 401).first {
        $0["tests"]?.array?.first?["tcId"]?.int64 == number
      })
    var key = try #require(group["public"]?.object)
    let text = try #require(group["tests"]?.array?.first?["jws"]?.string)
    #expect(Self.isBelieved(text, Self.keys(["public": .object(key)])) == isBelieved)
    key["alg"] = "RS256"
    #expect(!Self.isBelieved(text, Self.keys(["public": .object(key)])))
    key["alg"] = nil
    #expect(Self.isBelieved(text, Self.keys(["public": .object(key)])))
  }

  @Test func `Exactly the valid keys of Wycheproof are usable`() throws {
    var seen = (valid: 0, invalid: 0)
    for group in try Self.groups("json_web_key", count: 26) {
      let keys = Self.keys(group)
      for row in try #require(group["tests"]?.array) {
        let number = try #require(row["tcId"]?.int64)
        let text = try #require(row["jws"]?.string)
        // einlass does not support HS384 and HS512.
        let comment = group["comment"]?.string ?? ""
        if comment == "HS384" || comment == "HS512" {
          #expect(!Self.isBelieved(text, keys), "case \(number)")
          continue
        }
        let isValid = row["result"] == "valid" || Self.unregistered.contains(number)
        #expect(Self.isBelieved(text, keys) == isValid, "case \(number): \(comment)")
        if isValid { seen.valid += 1 } else { seen.invalid += 1 }
      }
    }
    #expect(seen == (5, 15))
  }
}
