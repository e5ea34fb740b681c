import Einlass
import EinlassCrypto
import Foundation
import TestSupport
import Testing

/// Invalid token responses. No part of them is stored or shown.
struct HostileAnswersTests {
  /// Requests a token for the application, with these bytes as the response.
  private func minting(_ body: [UInt8], then replies: [Script.Reply] = []) async -> (
    Script, Problem?
  ) {
    let script = Script([.bytes(body)] + replies, store: Sample.graphStore())
    let request = PerformRequest(
      application: Sample.application, registration: Sample.registration, provider: "facebook",
      account: Account.ID(rawValue: "a_ada@example.org"))
    do {
      _ = try await Sample.engine(script).perform(request, asking: script.asker())
      return (script, nil)
    } catch { return (script, error as? Problem) }
  }

  private static let token = #"{"access_token":"MINTED","token_type":"bearer","expires_in":3600}"#

  @Test func `No file of JSONTestSuite is taken for a token`() async throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Vectors/JSONTestSuite/test_parsing")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count == 318)
    for name in names {
      let (script, problem) = await minting(
        Array(try Data(contentsOf: folder.appending(path: name))))
      #expect(problem?.reason == .providerFailure, "\(name)")
      #expect(script.log.count == 1, "\(name)")
    }
  }

  private static let texts: [String] = [
    "<!DOCTYPE html><html><body>Sign in</body></html>", "", " ", "callback(\(token))",
    "\u{feff}<html>", "access_token=MINTED", "[\(token)]", "\(token)\(token)", "\(token);",
    "\u{feff}\u{feff}\(token)",
  ]

  /// The token response in UTF-16, with and without a byte order mark.
  private static func wide(_ isLittle: Bool) -> [UInt8] {
    var bytes: [UInt8] = isLittle ? [] : [0xFE, 0xFF]
    for unit in token.utf16 {
      let pair: [UInt8] = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
      bytes += isLittle ? pair.reversed() : pair
    }
    return bytes
  }

  private static let wrongKinds: [[UInt8]] =
    texts.map { Array($0.utf8) } + [wide(true), wide(false)]

  @Test("An answer of the wrong kind is a failure that quotes no page", arguments: wrongKinds)
  func wrongKind(body: [UInt8]) async {
    let (script, problem) = await minting(body)
    #expect(problem?.reason == .providerFailure)
    #expect(problem?.serverError?.text == nil && problem?.message.contains("html") == false)
    #expect(script.log.count == 1)
  }

  @Test(
    "A token with control characters, or a repeated one, is refused",
    arguments: [
      #""a\r\nX-Evil: 1""#, #""a\n""#, #""a\u0000""#, #""a\u007f""#, #""\u00e9""#, #""a b""#,
      #""""#,
      "7", "null", "[]", #""A","access_token":"B""#, #""A","access\u005ftoken":"B""#,
    ])
  func wrongToken(value: String) async {
    let (script, problem) = await minting(
      Array(#"{"access_token":\#(value),"token_type":"bearer"}"#.utf8))
    #expect(problem?.reason == .providerFailure)
    #expect(script.log.count == 1 && script.store.accounts[0].health == .ok)
  }

  @Test("A token of one mebibyte is not stored")
  func hugeToken() async {
    let token = String(repeating: "t", count: 1 << 20)
    let (script, problem) = await minting(
      Array(#"{"access_token":"\#(token)"}"#.utf8), then: [.json(Sample.graphIdentity)])
    #expect(problem?.reason == .providerFailure)
    #expect(!script.log.contains { $0.hasPrefix("save") })
    #expect("\(problem.map { "\($0)" } ?? "")".utf8.count < 4096)
  }

  /// Negative control for all of these.
  @Test("A valid token is accepted with any text as its lifetime")
  func honest() async {
    for lifetime in ["3600", "\"3600\"", "-5", "1e308", "\"never\"", "null", "[]"] {
      let body = Self.token.replacing("3600", with: lifetime)
      let (script, problem) = await minting(
        Array(body.utf8), then: [.json(Sample.graphIdentity)])
      #expect(problem == nil, "\(lifetime)")
      #expect(script.log.contains("save application APP"), "\(lifetime)")
    }
  }
}
