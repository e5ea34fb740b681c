import EinlassJSON
import Foundation
import Testing

/// Providers that misbehave, as the front end sees them. `EinlassNetworkTests/FaultTests.swift` has
/// the single cases, and `ProviderAnswerTests.swift` the answers that are complete but wrong.
@Suite struct ProviderFaultTests {
  /// Runs the body with a misbehaving provider, and with an einlass that knows only this provider.
  static func running(
    _ options: [String] = [],
    _ body: @escaping @Sendable (HostileProvider, SpawnedProgram) throws -> Void
  ) async throws {
    try await onThread {
      let server = try HostileProvider()
      defer { server.program.terminate() }
      let folder = try TemporaryFolder()
      let program = try started(server, in: folder, options)
      defer {
        program.terminate()
        withExtendedLifetime(folder) {}
      }
      try body(server, program)
    }
  }

  private static func started(
    _ server: HostileProvider, in folder: TemporaryFolder, _ options: [String]
  ) throws -> SpawnedProgram {
    let origin = JSONValue.string("http://127.0.0.1:\(server.port("plain"))")
    let configuration: JSONValue = [
      "applications": [
        "*": [
          "facebook": ["clientId": "1", "clientSecret": "2"],
          "twitter": ["clientId": "1", "clientSecret": "2"],
          "op": ["clientId": "1", "clientSecret": "CANARY of the application"],
        ]
      ],
      "origins": ["https://graph.facebook.com": origin, "https://api.twitter.com": origin],
    ]
    let file = try folder.file("config.json", configuration.text)
    return try SpawnedProgram(
      Program.einlass,
      [
        "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key",
        "--config", file,
      ] + options)
  }

  static func request(_ id: String, _ method: String, _ params: String = "{}") -> [UInt8] {
    Array(#"{"jsonrpc":"2.0","id":"\#(id)","method":"\#(method)","params":\#(params)}"#.utf8) + [
      0x0A
    ]
  }

  /// Returns the next answer, or the next prompt, and skips other notifications.
  static func answer(of program: SpawnedProgram) throws -> JSONValue {
    while let line = try program.line() {
      let message = try JSONReader.read(line)
      if message["id"] != nil || message["method"] == "prompt.opened" { return message }
    }
    throw SpawnedProgram.Failure(description: "The output ended. Logged: \(program.logged)")
  }

  private static let verify = #"{"provider":"facebook","credential":{"type":"oauth2","token":"t"}}"#

  @Test
  func `Slow providers delay no other request, and their own requests end in time`()
    async throws
  {
    try await Self.running { server, program in
      let behaviours = ["silence", "drip-head", "drip-body"]
      // Up to three attempts, because on a busy machine the slow requests may be over before the
      // others are sent.
      for attempt in 1...3 {
        let start = ContinuousClock.now
        for behaviour in behaviours {
          try server.behave(behaviour)
          try program.send(Self.request(behaviour, "verify", Self.verify))
          try server.awaitRequests(1)
        }
        // A TLS handshake that never begins.
        let issuer = #"{"issuer":"https://127.0.0.1:\#(server.port("stalled"))"}"#
        try program.send(Self.request("stalled", "providers.add", issuer))
        // Other requests are answered in the meantime, also one with an answer of a provider.
        try server.behave("garbage")
        try program.send(Self.request("list", "accounts.list"))
        try program.send(Self.request("other", "verify", Self.verify))
        var ended: [String] = []
        while ended.count < 6 {
          let answer = try Self.answer(of: program)
          // 30 s is the longest wait that is promised. The limits are 10 s to connect and 20 s in
          // total.
          #expect(start.duration(to: .now) < .seconds(30), "\(answer.text)")
          let id = answer["id"]?.string ?? ""
          let code = answer["error"]?["data"]?["networkCode"]?.int64
          let expected: Int64? = id == "list" ? nil : id == "other" ? -1011 : -1001
          #expect(code == expected, "\(answer.text)")
          ended.append(id)
        }
        #expect(ended.sorted() == (behaviours + ["list", "other", "stalled"]).sorted())
        if ended.prefix(2) == ["list", "other"] { return }
        #expect(attempt < 3, "\(ended)")
      }
    }
  }

  /// Behaviours and their network codes, or `nil` for a complete answer with an invalid body. A body
  /// with a declared coding is decoded up to the limit, or refused by the name of the coding.
  private static let broken: [(String, Int64?)] =
    [
      ("truncated", -1005), ("truncated-chunk", -1005), ("garbage", -1011), ("nothing", -1011),
      ("compressed/10000000/declared", -1103), ("compressed/10000000/undeclared", nil),
    ]
    + [
      "body-without-end", "body-until-close", "body-announced", "header-without-end",
      "headers-without-end", "interim-without-end", "trailers-without-end", "bomb-without-end",
    ].map { ($0, -1103) }
    + ["transfer", "br", "zstd", "stacked"].map { ("compressed/10000000/\($0)", -1016) }

  @Test func `Endless and broken answers each end in an error, without more memory or a token`()
    async throws
  {
    try await Self.running { server, program in
      for line in [
        Self.request(
          "add", "accounts.add",
          #"{"provider":"twitter","username":"ada","credential":{"type":"oauth1","key":"k","secret":"s","clientId":"2","clientSecret":"c"}}"#
        ), Self.request("set", "access.set", #"{"provider":"twitter","state":"granted"}"#),
      ] {
        try program.send(line)
        #expect(try Self.answer(of: program)["result"] != nil)
      }
      try program.send(Self.request("list", "accounts.list"))
      let before = try Self.answer(of: program)["result"]
      let id = try #require(before?["accounts"]?.array?.first?["account"]?.string)
      // The first request allocates the network's memory, so it is not measured.
      try server.behave("garbage")
      try program.send(Self.request("first", "verify", Self.verify))
      #expect(try Self.answer(of: program)["error"] != nil)
      let memory = try program.peakMemory()
      for (behaviour, code) in Self.broken {
        try server.behave(behaviour)
        try program.send(
          Self.request("perform", "auth.perform", #"{"provider":"twitter","account":"\#(id)"}"#))
        let answer = try Self.answer(of: program)
        let data = answer["error"]?["data"]
        #expect(data?["networkCode"]?.int64 == code, "\(behaviour): \(answer.text)")
        #expect(data?["reason"]?.string == (code == nil ? "providerFailure" : "networkFailure"))
      }
      #expect(try program.peakMemory() - memory < 8 << 20)
      try program.send(Self.request("list", "accounts.list"))
      #expect(try Self.answer(of: program)["result"] == before)
    }
  }
}
