import Testing

@testable import Einlass

/// RFC 9110 section 11, RFC 6750 section 3, RFC 9728 section 5.1.
@Suite struct ChallengeTests {
  @Test func `A challenge contains the address of the resource metadata`() throws {
    let header = """
      Bearer error="invalid_request", error_description="No access token was provided in this request", \
      resource_metadata="https://resource.example.com/.well-known/oauth-protected-resource"
      """
    let challenge = try #require(Challenge.parse(header)?.first)
    #expect(challenge.scheme == "bearer")
    #expect(challenge["error"] == "invalid_request")
    #expect(
      challenge.resourceMetadata
        == "https://resource.example.com/.well-known/oauth-protected-resource")
  }

  @Test func `Several challenges in one header are separated`() throws {
    let challenges = try #require(
      Challenge.parse(
        #"Basic realm="a, \"b\"" , Negotiate, NTLM TlRMTVNTUAAB==, DPoP Algs="ES256 PS256" ,,bearer"#
      ))
    #expect(challenges.map(\.scheme) == ["basic", "negotiate", "ntlm", "dpop", "bearer"])
    #expect(challenges[0]["realm"] == #"a, "b""#)
    #expect(challenges[2].parameters.isEmpty)
    #expect(challenges[3]["algs"] == "ES256 PS256")
  }

  @Test func `Names are compared without case, and spaces around separators are ignored`() {
    #expect(Challenge.parse("BEARER Error = x , SCOPE=\"\"")?.first?["scope"] == "")
  }

  @Test(
    "A malformed challenge is refused",
    arguments: [
      "", " , ", "=", "Bearer realm=\"open", "Bearer realm=\"a\" x", "Bearer a=1, a=2",
      "Bearer A=1, a=2",
      "Bearer a=\"\u{1}\"", "Bearer a=\"\\", "a=1", "\u{e4} a=1", "Bearer a=1, b=, c",
    ])
  func refused(header: String) {
    #expect(Challenge.parse(header) == nil)
  }

  @Test func `A header is read up to 8 KiB`() {
    let header = { (count: Int) in "Bearer a=" + String(repeating: "b", count: count - 9) }
    #expect(Challenge.parse(header(8192))?.first?["a"]?.count == 8183)
    #expect(Challenge.parse(header(8193)) == nil)
  }
}
