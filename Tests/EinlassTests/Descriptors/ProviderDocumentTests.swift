import EinlassJSON
import Foundation
import Testing

@testable import Einlass

/// The documents of real providers in `Tests/Vectors/Providers`, each read by the reader that a
/// sign-in uses. A file without a row fails, and so does a row without a file.
@Suite struct ProviderDocumentTests {
  private static let project = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let folder = project.appending(path: "Tests/Vectors/Providers")

  /// Returns the documents of a kind, by `source/name`.
  static func documents(_ kind: String) throws -> [String: JSONValue] {
    var found: [String: JSONValue] = [:]
    for source in try names(folder) {
      let place = folder.appending(path: "\(source)/\(kind)")
      for file in (try? names(place)) ?? [] {
        let bytes = Array(try Data(contentsOf: place.appending(path: file)))
        found["\(source)/\(file.split(separator: ".")[0])"] = try JSONReader.read(bytes)
      }
    }
    return found
  }

  private static func names(_ folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }
  }

  private static func read(_ document: JSONValue) throws(ServerMetadata.Fault) -> ServerMetadata {
    try ServerMetadata(document, issuer: document["issuer"]?.string ?? "")
  }

  @Test func `At least fifteen documents are as published, and each folder of them has a licence`()
    throws
  {
    let sources = Set(try Self.names(Self.folder)).subtracting(["rewritten"])
    var counts = (published: 0, rewritten: 0)
    for kind in ["discovery", "keys", "token", "userinfo"] {
      for name in try Self.documents(kind).keys {
        if name.hasPrefix("rewritten/") { counts.rewritten += 1 } else { counts.published += 1 }
      }
    }
    #expect(counts.published >= 15 && counts.rewritten > 0, "\(counts)")
    for source in sources {
      let licence = Self.folder.appending(path: "\(source)/LICENSE").path
      #expect(FileManager.default.fileExists(atPath: licence), "\(source)")
    }
  }

  // MARK: Discovery

  /// Facebook's has no token endpoint, because the document is for id_tokens alone. Entra's has a
  /// place in the issuer.
  private static let unread: [String: ServerMetadata.Fault] = [
    "rewritten/entra-common": .foreignIssuer("https://login.microsoftonline.com/{tenantid}/v2.0"),
    "social-auth-core/facebook": .member("token_endpoint"),
  ]

  /// This list of client authentications has names of grants, so none of them is known.
  private static let ignored = ["social-auth-core/fence": ["token_endpoint_auth_methods_supported"]]

  @Test func `Every description of a server is read, or refused with its fault`() throws {
    for (name, document) in try Self.documents("discovery") {
      if let fault = Self.unread[name] {
        let home = "https://login.microsoftonline.com/common/v2.0"
        let asked = name == "rewritten/entra-common" ? home : document["issuer"]?.string ?? ""
        #expect(throws: fault) { try ServerMetadata(document, issuer: asked) }
      } else {
        let metadata = try Self.read(document)
        #expect(metadata.ignored == Self.ignored[name, default: []], "\(name)")
        #expect(metadata.tokenEndpoint.isSafe && metadata.authorizationEndpoint != nil, "\(name)")
        #expect(!metadata.clientAuthentications.isEmpty, "\(name)")
      }
    }
  }

  /// A document names the features by which einlass chooses: S256, device codes and OpenID Connect.
  @Test(arguments: [
    ("rewritten/google", true, true, true), ("rewritten/gitlab", true, false, true),
    ("rewritten/apple", false, false, true), ("rewritten/slack", false, false, true),
    ("rewritten/mastodon", true, false, false), ("rewritten/bluesky", true, false, false),
    ("rewritten/hugging-face", true, true, true), ("social-auth-core/twitch", false, false, true),
    ("social-auth-core/egi-checkin", true, true, true),
    ("social-auth-core/academiccloud", true, true, true),
  ])
  func features(name: String, s256: Bool, device: Bool, openID: Bool) throws {
    let metadata = try Self.read(try #require(try Self.documents("discovery")[name]))
    #expect(metadata.codeChallengeMethods.contains("S256") == s256)
    #expect((metadata.deviceAuthorizationEndpoint != nil) == device)
    #expect(metadata.isOpenID == openID)
  }

  /// The built-in descriptor of a provider says the same as its document, but for the members in
  /// `others`.
  @Test(arguments: [
    ("rewritten/apple", "apple", []), ("rewritten/gitlab", "gitlab", []),
    ("rewritten/google", "google", []), ("rewritten/slack", "slack", []),
    ("rewritten/dropbox", "dropbox", []), ("social-auth-core/linkedin", "linkedin", []),
    ("social-auth-core/twitch", "twitch", []), ("rewritten/mastodon", "mastodon", []),
    // The page for people has another address than the API, whose page leads there.
    ("rewritten/discord", "discord", ["authorization_endpoint"]),
    // The page of the Web API, whose scopes the page of OpenID Connect does not know.
    ("rewritten/spotify", "spotify", ["authorization_endpoint"]),
    ("rewritten/entra-common", "microsoft", []),
    // The addresses of 2014, which still answer.
    (
      "social-auth-core/google", "google",
      ["token_endpoint", "userinfo_endpoint", "revocation_endpoint"]
    ),
  ])
  func builtIn(name: String, provider: String, others: [String]) throws {
    let document = try #require(try Self.documents("discovery")[name])
    let path = Self.project.appending(path: "Sources/Einlass/Descriptors/providers.json")
    let catalogue = try JSONReader.read(Array(Data(contentsOf: path)))
    let descriptor = try #require(
      catalogue["providers"]?.array?.first { $0["id"]?.string == provider })
    var different: Set<String> = []
    for flow in descriptor["flows"]?.array ?? [] {
      let said: [(member: String, text: JSONValue?)] = [
        ("authorization_endpoint", flow["authorize"]?["url"]),
        ("token_endpoint", flow["token"]?["url"]),
        ("device_authorization_endpoint", flow["deviceAuthorization"]?["url"]),
        ("issuer", flow["issuer"]), ("jwks_uri", flow["keySet"]),
        ("userinfo_endpoint", Self.userinfo(of: descriptor, in: document)),
        ("revocation_endpoint", descriptor["revoke"]?["url"]),
      ]
      for (member, text) in said {
        guard let text = text?.string, let published = document[member]?.string else { continue }
        if text != published { different.insert(member) }
      }
      let methods = document["token_endpoint_auth_methods_supported"]?.array ?? []
      let own = flow["clientAuthentication"]?.string.map { $0.split(separator: "_plain")[0] }
      let isTaken = own.map { own in methods.contains { $0.string.map { $0 == own } ?? false } }
      #expect(methods.isEmpty || isTaken ?? true, "\(own ?? "")")
    }
    #expect(different == Set(others))
  }

  /// The address of the person's claims; `nil` if the descriptor asks the provider's API.
  private static func userinfo(of descriptor: JSONValue, in document: JSONValue) -> JSONValue? {
    descriptor["identity"]?["id"] == "/sub" ? descriptor["identity"]?["request"]?["url"] : nil
  }

  // MARK: Keys

  /// The ids of the usable keys: none that encrypts, and none of a curve that einlass does not know.
  private static let keyIDs: [String: [String]] = [
    "pyjwt/auth0": ["NEE1QURBOTM4MzI5RkFDNTYxOTU1MDg2ODgwQ0UzMTk1QjYyRkRFQw"],
    "pyjwt/access-management": ["MLYHNMMhwCNXw9roHIILFsK4nLs="],
    "rewritten/apple": ["Aa1bB2cC3d", "Ee4fF5gG6h", "Ii7jJ8kK9l"],
    "rewritten/bluesky": ["pds"],
    "rewritten/dropbox": ["Gx2_AbC_dE3fGhIjKlMnOpQrStUvWxYz0123-4567-8="],
    "rewritten/entra": ["aB3dE5fG7hJ9kL1mN3pQ5rS7tU9", "vW1xY3zA5bC7dE9fG1hJ3kL5mN7"],
    "rewritten/gitlab": ["q3T5w7Z9b1D3f5H7j9L1n3P5r7T9v1X3z5B7d9F1h3J"],
    "rewritten/google": [
      "4ce2a1f20b5de29e4a4d7b7c8dbb0fbd3fb5d1aa", "77aa7c2f4e1d6b8e0c5f9d3a2b4c6e8f0a1b2c3d",
    ],
    "rewritten/keycloak": ["signature"],
    "rewritten/slack": ["b1D3f5H7j9L1n3P5r7T9v1X3z5B7d9F1h3J5l7N9p1R"],
    "rewritten/twitch": ["1"],
    "rewritten/yahoo": [
      "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00", "beef0000beef0000beef0000beef0000beef0000", "0",
    ],
  ]

  @Test func `Every key set gives its keys for signatures`() throws {
    var found: [String: [String]] = [:]
    for (name, document) in try Self.documents("keys") {
      found[name] = try #require(JSONWebKeySet(document)).keys.compactMap(\.id)
    }
    #expect(found == Self.keyIDs)
  }
}
