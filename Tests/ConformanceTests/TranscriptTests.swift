import EinlassJSON
import Foundation
import Testing

/// Every conversation of protocol/transcripts against the spawned server.
@Suite struct TranscriptTests {
  @Test(arguments: Transcript.all)
  func `the server keeps to the transcript`(transcript: Transcript) async throws {
    try await onThread { try TranscriptRunner.run(transcript) }
  }

  @Test(arguments: Transcript.all, [TranscriptRunner.Feeding.byteByByte, .inRandomPieces])
  func `the server keeps to the transcript however its bytes come`(
    transcript: Transcript, feeding: TranscriptRunner.Feeding
  ) async throws {
    try await onThread { try TranscriptRunner.run(transcript, feeding: feeding) }
  }

  @Test(arguments: Transcript.all)
  func `a transcript says what it is about`(transcript: Transcript) {
    #expect(transcript.header["about"]?.string?.isEmpty == false)
  }
}

/// So many conversations at once: each spawns two processes.
private let places = DispatchSemaphore(value: 4)

/// Runs blocking work on a thread of its own, so that the other tests keep theirs.
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
