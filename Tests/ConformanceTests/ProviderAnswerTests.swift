import EinlassJSON
import Foundation
import Testing

/// Complete but wrong answers of a provider, in the spawned program. `HostileAnswersTests`,
/// `ErrorMappingTests` and `ServerMetadataTests` in `EinlassTests` have the single cases.
@Suite struct ProviderAnswerTests {
  /// An answer of the token endpoint, and the reason of the resulting error; `nil` for none.
  private struct Row {
    var name: String
    var status = "200 OK"
    var headers = ["Content-Type: application/json"]
    var body: [UInt8]
    var reason: String?
    var networkCode: Int64?
    var retryAfterSeconds: Int64?

    init(_ name: String, _ body: [UInt8], _ reason: String? = "providerFailure") {
      (self.name, self.body, self.reason) = (name, body, reason)
    }

    init(_ body: String, _ reason: String? = "providerFailure") {
      self.init(String(body.prefix(60)), Array(body.utf8), reason)
    }

    func with(_ change: (inout Row) -> Void) -> Row {
      var row = self
      change(&row)
      return row
    }
  }

  /// A text in every answer that no message to the front end may contain.
  private static let canary = "CANARY"
  private static let token = #"{"access_token":"CANARY","token_type":"bearer","expires_in":3600}"#

  /// Answers that are not valid token responses.
  private static func refused() throws -> [Row] {
    let wide = token.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    let values = [
      #""CANARY\r\nX-Evil: 1""#, #""CANARY\u0000""#, #""CANARY","access_token":"B""#, "7", "null",
      #""""#,
    ]
    var rows = try JSONTestSuiteTests.File.all("test_parsing").map { Row($0.name, $0.bytes) }
    rows += [
      "<!DOCTYPE html><html><body>CANARY</body></html>", "", " ", "callback(\(token))",
      "\u{feff}\u{feff}\(token)", "access_token=CANARY", "[\(token)]", "\(token)\(token)",
      String(repeating: "[", count: 500_000), String(repeating: #"{"a":"#, count: 100_000),
    ].map { Row($0) }
    rows += values.map { Row(#"{"access_token":\#($0),"token_type":"bearer"}"#) }
    rows.append(Row("UTF-16", wide))
    rows.append(
      Row(
        "a token of a mebibyte",
        Array(#"{"access_token":""#.utf8) + Array(repeating: 0x74, count: 1 << 20), "networkFailure"
      )
      .with { $0.networkCode = -1103 })
    let compressed = Row("compressed", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0])
    rows.append(compressed.with { $0.headers.append("Content-Encoding: gzip") })
    rows.append(
      Row(token, "networkFailure").with {
        $0.headers.append("Content-Encoding: br")
        $0.networkCode = -1016
      })
    let page = Row("<html>CANARY</html>")
    rows.append(page.with { $0.headers = ["Content-Type: text/html"] })
    return rows
  }

  /// Error answers of the token endpoint.
  private static var errors: [Row] {
    let described = [
      #"\u001b[2J\u0000\r\n\u202eCANARY of the application\u2066"#,
      String(repeating: "a word, ", count: 1 << 16), "<script>alert(1)</script>",
    ].map {
      Row(#"{"error":"invalid_request","error_description":"\#($0)"}"#)
        .with { $0.status = "400 Bad Request" }
    }
    let plain = Row("CANARY of the application").with { $0.status = "403 Forbidden" }
    let waits: [(String, Int64?)] = [
      ("30", 30), ("1000000000", 300), ("99999999999999999999999", nil), ("-5", 0), ("soon", nil),
      ("", nil), ("Fri, 31 Dec 9999 23:59:59 GMT", 300), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
    ]
    let busy = waits.flatMap { wait, seconds in
      ["429 Too Many Requests", "503 Service Unavailable"].map { status in
        let isThrottled = status.hasPrefix("429") || seconds != nil
        return Row("{}", isThrottled ? "throttled" : "providerFailure").with {
          $0.name = "\(status), Retry-After: \(wait)"
          $0.status = status
          $0.headers = ["Retry-After: \(wait)"]
          $0.retryAfterSeconds = seconds
        }
      }
    }
    return described + [plain] + busy
  }

  /// Accepted variants, as negative controls of the refused answers.
  private static var taken: [Row] {
    let types = [
      ["Content-Type: text/plain"], ["Content-Type: text/html; charset=utf-16"], [],
    ]
    return types.map { headers in Row(token, nil).with { $0.headers = headers } }
      + ["-5", "1e308", #""never""#, "null"].map {
        Row(#"{"access_token":"CANARY","expires_in":\#($0)}"#, nil)
      }
  }

  /// Returns the metadata of an authorization server with some members changed.
  private static func metadata(
    of issuer: String, _ change: (inout JSONObject) -> Void = { _ in }
  ) -> [UInt8] {
    var document: JSONObject = [
      "issuer": .string(issuer), "token_endpoint": .string(issuer + "/t"),
      "authorization_endpoint": .string(issuer + "/a"),
      "device_authorization_endpoint": .string(issuer + "/d"),
      "grant_types_supported": ["client_credentials"],
    ]
    change(&document)
    return Array(JSONValue.object(document).text.utf8)
  }

  /// Runs the body with a provider that was added from valid metadata.
  private static func knowing(
    _ options: [String] = [],
    _ body: @escaping @Sendable (HostileProvider, SpawnedProgram, String) throws -> Void
  ) async throws {
    try await ProviderFaultTests.running(options) { server, program in
      let issuer = "http://127.0.0.1:\(server.port("plain"))"
      let greeting =
        #"{"client":{"name":"editor"},"capabilities":{"prompts":["openURL","deviceCode"]}}"#
      let greeted = try answer(of: program, "initialize", greeting)
      try #require(greeted["result"] != nil)
      try server.say(body: metadata(of: issuer))
      let added = try answer(of: program, "providers.add", #"{"issuer":"\#(issuer)","id":"op"}"#)
      try #require(added["result"] != nil, "\(added.text)")
      try body(server, program, issuer)
    }
  }

  /// Returns the answer to a request, or the prompt before it.
  private static func answer(
    of program: SpawnedProgram, _ method: String, _ params: String = "{}"
  ) throws -> JSONValue {
    try program.send(ProviderFaultTests.request(method, method, params))
    return try ProviderFaultTests.answer(of: program)
  }

  private static let signIn = #"{"provider":"op","flowKind":"clientCredentials"}"#

  @Test func `A wrong answer of a token endpoint is never taken for a token, shown or stored`()
    async throws
  {
    try await Self.knowing { server, program, _ in
      for row in try Self.refused() + Self.errors {
        try server.say(row.status, row.headers, body: row.body)
        let answer = try Self.answer(of: program, "accounts.signIn", Self.signIn)
        let data = answer["error"]?["data"]
        #expect(data?["reason"]?.string == row.reason, "\(row.name): \(answer.text)")
        #expect(data?["networkCode"]?.int64 == row.networkCode, "\(row.name)")
        #expect(data?["retryAfterSeconds"]?.int64 == row.retryAfterSeconds, "\(row.name)")
        let words = data?["serverError"]?["text"]?.string ?? ""
        #expect(words.utf8.count <= 200, "\(row.name)")
        #expect(words.unicodeScalars.allSatisfy { !Self.isUnfit($0) }, "\(row.name)")
        #expect(!answer.text.contains(Self.canary) && !answer.text.contains("html"), "\(row.name)")
      }
      let none = try Self.answer(of: program, "accounts.list")
      #expect(none["result"]?["accounts"]?.array?.isEmpty == true)
      for row in Self.taken {
        try server.say(row.status, row.headers, body: row.body)
        let answer = try Self.answer(of: program, "accounts.signIn", Self.signIn)
        #expect(answer["result"]?["account"] != nil, "\(row.name): \(answer.text)")
      }
    }
  }

  /// The pauses of einlass grow first. Then the provider's Retry-After lengthens them.
  @Test(arguments: ["429 Too Many Requests", "503 Service Unavailable"])
  func `A failing provider is left alone for as long as it asks, but at most 300 seconds`(
    status: String
  ) async throws {
    let waits: [(String, ClosedRange<Int64>)] = [
      ("soon", 1...2), ("", 2...4), ("soon", 4...8), ("soon", 8...16), ("soon", 16...32),
      ("soon", 30...60), ("0", 30...60), ("-7", 30...60), ("99999999999999999999999", 30...60),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 30...60), ("90", 90...90), ("300", 300...300),
      ("1000000000", 300...300), ("Fri, 31 Dec 9999 23:59:59 GMT", 300...300),
    ]
    try await Self.knowing(["--test", "--store", "memory"]) { server, program, _ in
      try server.say(body: Array(Self.token.utf8))
      let signedIn = try Self.answer(of: program, "accounts.signIn", Self.signIn)
      let account = try #require(signedIn["result"]?["account"]?.string)
      _ = try Self.answer(of: program, "access.set", #"{"provider":"op","state":"granted"}"#)
      let get = #"{"account":"\#(account)","minValiditySeconds":7200}"#
      for (wait, range) in waits {
        try server.say(status, ["Retry-After: \(wait)"], body: Array("{}".utf8))
        // The former pause is over, so this request is sent and begins the next pause.
        let refused = try Self.answer(of: program, "credentials.get", get)
        #expect(refused["error"]?["data"]?["retryable"] == true, "\(refused.text)")
        let held = try Self.answer(of: program, "credentials.get", get)
        let seconds = try #require(held["error"]?["data"]?["retryAfterSeconds"]?.int64)
        #expect(range.contains(seconds), "\(wait): \(seconds)")
        try Self.advance(program, seconds - 1)
        let stillHeld = try Self.answer(of: program, "credentials.get", get)
        #expect(stillHeld["error"]?["data"]?["retryAfterSeconds"] == 1, "\(wait)")
        #expect(try server.requestBytes(at: "plain", "request") == 1, "\(wait)")
        try Self.advance(program, 1)
      }
    }
  }

  private static func advance(_ program: SpawnedProgram, _ seconds: Int64) throws {
    _ = try answer(of: program, "test.advanceClock", #"{"seconds":\#(seconds)}"#)
  }

  /// `same` redirects to itself.
  @Test(arguments: ["http", "https", "file", "same"])
  func `Redirects to another origin or to itself, and of requests with secrets, are not followed`(
    place: String
  )
    async throws
  {
    try await Self.knowing { server, program, issuer in
      for status in [301, 302, 303, 307, 308] {
        for (method, params, count) in [
          ("accounts.signIn", Self.signIn, 1),
          // The metadata is requested from two places.
          ("providers.add", #"{"issuer":"\#(issuer)","id":"other"}"#, 2),
        ] {
          try server.behave("redirect/\(status)/\(place)")
          let answer = try Self.answer(of: program, method, params)
          #expect(answer["error"]?["data"]?["reason"] == "providerFailure", "\(answer.text)")
          let asked = try server.requestBytes(at: "plain", "request")
          #expect(asked == count, "\(method), \(status)")
          for elsewhere in ["second", "good"] {
            #expect(try server.requestBytes(at: elsewhere, "connection") == 0)
          }
        }
      }
    }
  }

  /// Whether the character is a control or format character, or a line or paragraph separator.
  private static func isUnfit(_ scalar: Unicode.Scalar) -> Bool {
    [.control, .format, .lineSeparator, .paragraphSeparator].contains(
      scalar.properties.generalCategory)
  }

  /// 10 000 keys of an issuer. The last key (RFC 8037, A.1) has signed the token, which is
  /// otherwise no valid id_token.
  @Test func `256 KiB of an issuer's keys are read, and a byte more is refused`() async throws {
    try await ProviderFaultTests.running { server, program in
      let issuer = "http://127.0.0.1:\(server.port("plain"))"
      try server.say(
        body: Self.metadata(of: issuer) {
          $0["jwks_uri"] = .string(issuer + "/keys")
          $0["scopes_supported"] = ["openid"]
          $0["id_token_signing_alg_values_supported"] = ["EdDSA"]
        })
      let added = try Self.answer(
        of: program, "providers.add", #"{"issuer":"\#(issuer)","id":"op"}"#)
      try #require(added["result"] != nil, "\(added.text)")
      let token =
        "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwczovL2EuZXhhbXBsZSJ9.3SYWc6iPXLFCDghRQK1bdWp1tWX2HbXi_vlzk_BfBhNyaCUIGjLfsIeXhK1MumU6rHni6UWs6tmLAPYl2TRzBw"
      let params =
        #"{"provider":"op","credential":{"type":"idToken","idToken":"\#(token)"}}"#
      let keys = Array(
        (#"{"keys":["# + String(repeating: #"{"kty":"EC"},"#, count: 9999)
          + #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#)
          .utf8)
      for size in [(256 << 10) + 1, 256 << 10] {
        try server.say(body: keys + Array(repeating: 0x20, count: size - keys.count))
        let answer = try Self.answer(of: program, "verify", params)
        if size > 256 << 10 {
          #expect(answer["error"]?["data"]?["networkCode"] == -1103, "\(answer.text)")
        } else {
          let check = answer["result"]?["checks"]?.array?.first
          #expect(check?["check"] == "signature" && check?["ok"] == true, "\(answer.text)")
        }
      }
    }
  }

  /// Addresses that must not be opened: those of `WebAddressTests` without the loopback ones,
  /// because the issuer is on this machine.
  private static let addresses = [
    "javascript:alert(1)", "file:///etc/passwd", "smb://host/share", "ms-msdt:/id",
    "data:text/html,x", "http://op.example/go", "https://op.example/a b", "https://op.example/\"x",
    "https://op.example/`id`", "https://op.example/$(id)", "https://op.example/\u{1B}[2J",
    "https://op.example/\r\nX: y", "https://op.example\\@evil.example/",
    "https://op.example@evil.example/", "-https://op.example/", "--help", "https://-op.example/",
    "", "https://op.example/" + String(repeating: "a", count: 200_000),
  ]

  @Test func `An unsuitable address never reaches the person`() async throws {
    try await Self.knowing { server, program, issuer in
      for address in Self.addresses {
        for member in [
          "authorization_endpoint", "device_authorization_endpoint", "end_session_endpoint",
        ] {
          try server.say(body: Self.metadata(of: issuer) { $0[member] = .string(address) })
          let answer = try Self.answer(
            of: program, "providers.add", #"{"issuer":"\#(issuer)","id":"other"}"#)
          if member == "authorization_endpoint" {
            #expect(answer["error"]?["data"]?["reason"] == "providerFailure", "\(answer.text)")
            #expect(answer["error"]?["message"]?.string?.contains(member) == true)
          } else {
            #expect(answer["result"]?["ignored"] == [.string(member)], "\(answer.text)")
            _ = try Self.answer(of: program, "providers.remove", #"{"provider":"other"}"#)
          }
        }
        try server.say(body: Self.device(["verification_uri": .string(address)]))
        let refused = try Self.answer(of: program, "accounts.signIn", Self.device)
        #expect(refused["error"]?["data"]?["reason"] == "providerFailure", "\(refused.text)")
        // The plain address is suitable, and the one with the code in it is not.
        try server.say(body: Self.device(["verification_uri_complete": .string(address)]))
        let asked = try Self.answer(of: program, "accounts.signIn", Self.device)
        #expect(asked["params"]?["verificationUri"]?.string == "https://op.example/go")
        #expect(asked["params"] != nil && asked["params"]?["verificationUriComplete"] == nil)
        let id = try #require(asked["params"]?["prompt"]?.string)
        try program.send(
          ProviderFaultTests.request(
            "prompt", "prompt.answer", #"{"prompt":"\#(id)","action":"cancel"}"#))
        for _ in 0..<2 {
          let answer = try ProviderFaultTests.answer(of: program)
          #expect(answer["id"] == "prompt" || answer["error"]?["data"]?["reason"] == "userCanceled")
        }
      }
      // Negative control: a suitable address is shown.
      try server.say(body: Self.device(["verification_uri_complete": "https://op.example/go?c=1"]))
      let asked = try Self.answer(of: program, "accounts.signIn", Self.device)
      let whole = asked["params"]?["verificationUriComplete"]?.string
      #expect(whole == "https://op.example/go?c=1")
    }
  }

  private static let device = #"{"provider":"op","flowKind":"deviceCode"}"#

  /// Returns the answer of a device authorization endpoint with some members changed.
  private static func device(_ change: JSONObject) -> [UInt8] {
    var answer: JSONObject = [
      "device_code": "CODE", "user_code": "ABCD", "verification_uri": "https://op.example/go",
      "expires_in": 600, "interval": 300,
    ]
    for member in change.members { answer[member.name] = member.value }
    return Array(JSONValue.object(answer).text.utf8)
  }
}
