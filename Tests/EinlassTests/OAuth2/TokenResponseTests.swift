import EinlassCrypto
import EinlassJSON
import Testing

@testable import Einlass

/// RFC 6749 section 5.1, and the deviations of providers.
struct TokenResponseTests {
  func credential(_ json: String) throws -> OAuth2Credential? {
    TokenResponse.credential(
      in: try JSONReader.read(Array(json.utf8)), scopes: ["asked"], now: 1000)
  }

  @Test(
    "A lifetime is a number or a numeric text, and 0 means no end",
    arguments: [
      ("3600", 4600), ("\"3600\"", 4600), ("0", nil), ("-1", nil), ("null", nil), ("1.9", 1001),
      ("3600.0", 4600), ("3.6e3", 4600), ("\"3600.0\"", 4600), ("0.9", nil), ("10000000001", nil),
      ("99999999999999", nil), ("1e308", nil), ("1e999", nil), ("-1e308", nil), ("\"soon\"", nil),
      ("\"nan\"", nil), ("\"inf\"", nil), ("\" 5\"", nil),
    ] as [(String, Int64?)])
  func lifetime(text: String, expiresAt: Int64?) throws {
    #expect(try credential(#"{"access_token":"t","expires_in":\#(text)}"#)?.expiresAt == expiresAt)
  }

  @Test(
    "The scopes are the requested ones unless the answer names others",
    arguments: [("", ["asked"]), (#","scope":"a b,c""#, ["a", "b", "c"]), (#","scope":"""#, [])])
  func scopes(member: String, scopes: [String]) throws {
    #expect(try credential(#"{"access_token":"t"\#(member)}"#)?.scopes == scopes)
  }

  @Test(
    "The token type is Bearer in any case of letters, or missing, and no other",
    arguments: [
      ("\"bearer\"", true), ("\"Bearer\"", true), ("\"BEARER\"", true), ("\"mac\"", false),
      ("null", true), ("\"\"", true), ("\"DPoP\"", false), ("7", false), ("[\"Bearer\"]", false),
      ("\"Bearer mac\"", false), ("\"N_A\"", false),
    ])
  func type(text: String, isAccepted: Bool) throws {
    let credential = try credential(#"{"access_token":"t","token_type":\#(text)}"#)
    #expect((credential != nil) == isAccepted)
    #expect(credential.map { $0.tokenType == "Bearer" } ?? true)
  }

  @Test("Further tokens are kept if they fit into a header")
  func furtherTokens() throws {
    let credential = try credential(
      #"{"access_token":"t","refresh_token":"r","id_token":"i\n"}"#)
    #expect(credential?.refreshToken == Secret("r"))
    #expect(credential?.idToken == nil)
  }
}
