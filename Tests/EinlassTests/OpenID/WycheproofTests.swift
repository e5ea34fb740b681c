import Einlass
import EinlassCrypto
import EinlassJSON
import Foundation
import Testing

/// Wycheproof's signed tokens and keys: what is valid is believed, everything else is not. T-90.
@Suite struct WycheproofTokenTests {
  private static func groups(_ name: String, count: Int) throws -> [JSONValue] {
    let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Vectors/Wycheproof/\(name)_test.json")
    let file = try JSONReader.read(Array(Data(contentsOf: path)))
    try #require(file["numberOfTests"] == JSONValue(Int64(count)))
    return try #require(file["testGroups"]?.array)
  }

  /// The keys of a group as einlass would have them: what an issuer publishes, or the client's own secret.
  private static func keys(_ group: JSONValue) -> JSONWebKeySet {
    let given = group["public"] ?? group["private"] ?? .null
    let members = given["keys"]?.array ?? [given]
    // A key for something else than HS256 is none, whoever holds it.
    let secrets = members.filter { $0["kty"] == "oct" && $0["alg"] == "HS256" }
      .compactMap { $0["k"]?.string.flatMap(Base64URL.decode) }
    // einlass has one secret of a registration: of several, the first.
    guard members.count == secrets.count, let secret = secrets.first,
      Set(members.map { $0["kid"]?.string }).count == members.count
    else { return JSONWebKeySet(["keys": .array(members)]) ?? JSONWebKeySet([]) }
    return JSONWebKeySet(JSONWebKey(clientSecret: Secret(secret)).map { [$0] } ?? [])
  }

  private static func isBelieved(_ text: String, _ keys: JSONWebKeySet) -> Bool {
    (try? JSONWebSignature.parse(text).verify(keys, allowed: Set(TokenAlgorithm.allCases))) != nil
  }

  /// Labels that contradict the file itself or RFC 7515 section 2: 367 and 370 are, byte for byte, the token that 357
  /// calls valid; 372 and 373 have a character that base64url does not have; the keys of 346, 347, 350 and 351 name
  /// another algorithm than the token does, which the file calls invalid everywhere else.
  private static let mislabelled: Set<Int64> = [346, 347, 350, 351, 367, 370, 372, 373]

  @Test func `Wycheproof's signatures are believed exactly where they are valid`() throws {
    var seen = (valid: 0, invalid: 0)
    for group in try Self.groups("json_web_signature", count: 401) {
      for row in try #require(group["tests"]?.array) {
        let number = try #require(row["tcId"]?.int64)
        guard let text = row["jws"]?.string else { continue }
        // Its keyed hashes name a key; einlass has one secret for a registration, and looks at no name.
        let isBelieved = Self.isBelieved(text, Self.keys(group))
        let isValid = (row["result"] == "valid") != Self.mislabelled.contains(number)
        #expect(isBelieved == isValid, "case \(number): \(row["comment"]?.string ?? "")")
        if isValid { seen.valid += 1 } else { seen.invalid += 1 }
      }
    }
    #expect(seen == (42, 359))
  }

  @Test(arguments: [346, 347])
  func `the examples of RFC 7520 are believed by keys that name no other algorithm`(number: Int64)
    throws
  {
    let group = try #require(
      Self.groups("json_web_signature", count: 401).first {
        $0["tests"]?.array?.first?["tcId"]?.int64 == number
      })
    var key = try #require(group["public"]?.object)
    let text = try #require(group["tests"]?.array?.first?["jws"]?.string)
    #expect(!Self.isBelieved(text, Self.keys(["public": .object(key)])))
    key["alg"] = nil
    #expect(Self.isBelieved(text, Self.keys(["public": .object(key)])))
  }

  @Test func `Wycheproof's keys serve exactly where they are sound`() throws {
    var seen = (valid: 0, invalid: 0)
    for group in try Self.groups("json_web_key", count: 26) {
      let keys = Self.keys(group)
      for row in try #require(group["tests"]?.array) {
        let number = try #require(row["tcId"]?.int64)
        let text = try #require(row["jws"]?.string)
        // HS384 and HS512 are no algorithms of einlass.
        let comment = group["comment"]?.string ?? ""
        if comment == "HS384" || comment == "HS512" {
          #expect(!Self.isBelieved(text, keys), "case \(number)")
          continue
        }
        let isValid = row["result"] == "valid"
        #expect(Self.isBelieved(text, keys) == isValid, "case \(number): \(comment)")
        if isValid { seen.valid += 1 } else { seen.invalid += 1 }
      }
    }
    #expect(seen == (3, 17))
  }
}
