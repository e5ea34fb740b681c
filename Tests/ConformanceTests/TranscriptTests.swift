import EinlassJSON
import Foundation
import Testing

/// Every conversation of protocol/transcripts against the spawned server.
@Suite struct TranscriptTests {
  @Test(arguments: Transcript.all)
  func `The server follows the transcript`(transcript: Transcript) async throws {
    try await onThread { try TranscriptRunner.run(transcript) }
  }

  /// Each transcript in one of three ways, because all of them would take minutes.
  @Test(
    arguments: zip(
      Transcript.all,
      Transcript.all.enumerated().map { index, transcript -> TranscriptRunner.Feeding in
        // A transcript with raw text is about lines.
        let ways: [TranscriptRunner.Feeding] =
          transcript.steps.contains { $0["bytes"] != nil || $0["in"]?.string != nil }
          ? [.byteByByte, .inRandomPieces] : [.byteByByte, .inRandomPieces, .withHeaders]
        return ways[index % ways.count]
      }))
  func `The server follows the transcript for any division of the bytes, and with headers`(
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
