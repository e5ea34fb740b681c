import EinlassCrypto
import EinlassJSON
import Foundation
import TestSupport
import Testing

@testable import Einlass

/// "Try again later" is a promise that a later request may succeed.
struct LaterTests {
  /// Every file with that sentence, or with the next step of that name. Each is tested here, or
  /// beside its own error. `NextStepWords` has the words of the step, and `NextSteps` gives it to a
  /// retryable failure.
  private static let files = [
    "CurlFaults.swift", "CredentialRun.swift", "NextSteps.swift", "NextStepWords.swift",
  ]

  @Test func `Only known files say that a later request may succeed`() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")
    var found: Set<String> = []
    let paths = try #require(FileManager.default.enumerator(atPath: sources.path))
    for case let path as String in paths
    where path.hasSuffix(".swift") && !path.hasPrefix("EinlassSandbox") {
      let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
      guard text.contains(/ry again later|\.tryLater/) else { continue }
      found.insert(URL(filePath: path).lastPathComponent)
    }
    #expect(found == Set(Self.files))
  }

  private static let bodies = [
    "", "{}", "<html>", "no", #"{"error":"invalid_grant"}"#, #"{"error":"invalid_client"}"#,
    #"{"error":"server_error"}"#, #"{"error":{"code":1,"type":"t","message":"m"}}"#,
    #"{"errors":[{"code":131,"message":"m"}]}"#, #"{"a":1,"a":2}"#,
  ]
  private static let statuses = [
    200, 204, 302, 400, 401, 403, 404, 408, 418, 429, 500, 502, 503, 511,
  ]

  @Test(
    "No answer of a provider is said to be worth a later request unless it is retryable",
    arguments: Step.allCases, ["twitter", "facebook", "sequencing", "microsoft", "twitch"])
  func answers(step: Step, id: String) async throws {
    let provider = try ProviderCatalog.builtIn.provider(id)
    var retryableCount = 0
    for status in Self.statuses {
      for body in Self.bodies {
        let script = Script([.text(body, status: status), .text(body, status: status)])
        let exchange = Exchange(
          provider: provider, effects: script.effects, remaining: [], secrets: [])
        let address = WebAddress(scheme: .https, host: "op.example")
        do throws(FlowFailure) {
          let answer = try await exchange.send(HTTPRequest(.get, address), at: step)
          let problem = exchange.unusable(step, answer.fault).problem
          #expect(!problem.message.contains("later") && problem.advice != .tryLater)
          #expect(!problem.isRetryable)
        } catch {
          let says =
            error.problem.advice == .tryLater || error.problem.message.contains("later")
          #expect(!says || error.problem.isRetryable, "\(status) \(body): \(error.problem.message)")
          if error.problem.isRetryable { retryableCount += 1 }
        }
      }
    }
    #expect(retryableCount >= Self.bodies.count)
  }
}
