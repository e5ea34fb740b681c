import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// JSON null in the answers of providers is a missing member. `MetadataMemberTests`, `KeyChoiceTests`,
/// `IDTokenTests` and `SignedIdentityTests` have documents, keys, claims and introspection.
@Suite struct NullMemberTests {
  private static let token: JSONObject = [
    "access_token": "AT", "token_type": "Bearer", "expires_in": 60, "refresh_token": "RT",
    "scope": "a", "id_token": "a.b.c",
  ]
  private static let device: JSONObject = [
    "device_code": "D", "user_code": "U", "verification_uri": "https://op.example/device",
    "verification_uri_complete": "https://op.example/device?code=U", "expires_in": 60,
    "interval": 9,
  ]
  private static let registration: JSONObject = [
    "client_id": "APP", "client_secret": "s", "client_secret_expires_at": 1_600_000_000,
    "redirect_uris": ["http://127.0.0.1/callback"],
    "token_endpoint_auth_method": "client_secret_post",
  ]
  private static let person: JSONObject = [
    "sub": "42", "name": "Ada", "preferred_username": "ada", "email": "ada@example.org",
    "email_verified": true, "picture": "https://op.example/ada.png",
  ]

  /// Compares the reading of each member as null with its absence, and its presence with both.
  private static func expectAbsent<Value: Equatable>(
    _ object: JSONObject, required: Set<String>, besides others: Set<String> = [],
    _ read: (JSONValue) -> Value?
  ) {
    let whole = read(.object(object))
    #expect(whole != nil)
    for name in object.members.map(\.name) where !others.contains(name) {
      var (null, absent) = (object, object)
      (null[name], absent[name]) = (.null, nil)
      let found = read(.object(null))
      #expect(found == read(.object(absent)), "\(name)")
      #expect((found == nil) == required.contains(name), "\(name)")
      // The control: the member has a meaning.
      if name != "token_type" { #expect(found != whole, "\(name)") }
    }
  }

  @Test func `Each member of a token answer may be null but the token`() {
    Self.expectAbsent(Self.token, required: ["access_token"]) { answer in
      TokenResponse.credential(in: answer, scopes: ["asked"], now: Script.now)
    }
    // With a bound token the type is no optional member.
    var bound = Self.token
    bound["token_type"] = .null
    #expect(
      TokenResponse.credential(
        in: .object(bound), scopes: [], now: Script.now, proof: ProofOfPossession()) == nil)
  }

  @Test func `Each member of a device answer may be null but the codes and the page`()
    throws
  {
    let endpoint = try WebAddress.parse("https://op.example/code")
    let required: Set = ["device_code", "user_code", "verification_uri"]
    Self.expectAbsent(Self.device, required: required, besides: ["expires_in"]) { answer in
      DeviceAuthorization(answer, from: endpoint, now: Script.now).map {
        "\(revealedText($0.deviceCode)) \($0.prompt) \($0.intervalSeconds)"
      }
    }
  }

  @Test func `Each member of a registration may be null but the id and a secret that is needed`() {
    let offer = DynamicRegistration(
      endpoint: WebAddress(scheme: .https, host: "as.example", path: "/register"),
      clientAuthentication: .basic)
    Self.expectAbsent(Self.registration, required: ["client_id", "client_secret"]) { answer in
      let read = try? offer.registration(
        in: answer, redirect: answer["redirect_uris"]?.array?.first?.string ?? "other")
      return read.map { "\($0.0) \($0.expiresAt ?? 0)" }
    }
  }

  @Test func `Each member of a person may be null but the id`() throws {
    let words: JSONValue = [
      "id": "/sub", "name": "/name", "username": "/preferred_username", "email": "/email",
      "emailVerified": "/email_verified", "avatar": ["pointer": "/picture"], "required": ["id"],
    ]
    let reader = try DescriptorReader(
      ["identity": words], at: "", provider: nil, members: ["identity"])
    let descriptor = try IdentityDescriptor("identity", in: reader)
    Self.expectAbsent(Self.person, required: ["sub"]) { descriptor.identity(in: $0) }
  }
}
