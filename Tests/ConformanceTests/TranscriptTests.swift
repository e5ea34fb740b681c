import EinlassJSON
import Foundation
import Testing

/// Every conversation of protocol/transcripts against the spawned server.
@Suite struct TranscriptTests {
  /// Each transcript in one of four ways of writing bytes, because all of them would take minutes.
  @Test(
    arguments: zip(
      Transcript.all,
      Transcript.all.enumerated().map { index, transcript -> TranscriptRunner.Feeding in
        // A transcript with raw text is about lines.
        let ways: [TranscriptRunner.Feeding] =
          transcript.steps.contains { $0["bytes"] != nil || $0["in"]?.string != nil }
          ? [.whole, .byteByByte, .inRandomPieces] : TranscriptRunner.Feeding.allCases
        return ways[index % ways.count]
      }))
  func `The server follows the transcript`(
    transcript: Transcript, feeding: TranscriptRunner.Feeding
  ) async throws {
    try await onThread { try TranscriptRunner.run(transcript, feeding: feeding) }
  }

  @Test(arguments: Transcript.all)
  func `A transcript has a description`(transcript: Transcript) {
    #expect(transcript.header["about"]?.string?.isEmpty == false)
  }
}

/// The limit of simultaneous conversations. Each of them starts two processes.
private let places = DispatchSemaphore(value: 4)

/// Runs blocking work on its own thread, because it would occupy a thread of the concurrency pool.
func onThread<Value: Sendable>(
  _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread {
      places.wait()
      let result = Result { try work() }
      places.signal()
      continuation.resume(with: result)
    }.start()
  }
}
