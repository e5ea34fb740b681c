import EinlassJSON
import Foundation
import Testing

/// Every conversation of protocol/transcripts against the spawned server.
@Suite struct TranscriptTests {
  @Test(arguments: Transcript.all)
  func `The server follows the transcript`(transcript: Transcript) async throws {
    try await onThread { try TranscriptRunner.run(transcript) }
  }

  /// Each transcript in one of two divisions, because both would take minutes.
  @Test(
    arguments: zip(
      Transcript.all,
      Transcript.all.indices.map { index -> TranscriptRunner.Feeding in
        index.isMultiple(of: 2) ? .byteByByte : .inRandomPieces
      }))
  func `The server follows the transcript for any division of the bytes`(
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
