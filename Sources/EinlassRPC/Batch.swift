internal import EinlassSystem

/// The answers to a batch, collected until there is one for each request.
final class Batch: Sendable {
  private let answers: Lock<[[UInt8]?]>
  private let heldBytes: Lock<Int>

  /// Waits for this number of answers, and counts their bytes until it has all of them.
  init(count: Int, countingIn heldBytes: Lock<Int>) {
    answers = Lock(Array(repeating: nil, count: count))
    self.heldBytes = heldBytes
  }

  /// Stores an answer. Returns the whole message after the last missing answer.
  func fill(_ index: Int, _ answer: [UInt8]) -> [UInt8]? {
    answers.withLock { answers in
      answers[index] = answer
      heldBytes.withLock { $0 += answer.count }
      guard answers.allSatisfy({ $0 != nil }) else { return nil }
      heldBytes.withLock { $0 -= answers.reduce(0) { $0 + ($1?.count ?? 0) } }
      let elements = answers.compactMap(\.self).joined(separator: [UInt8(ascii: ",")])
      return [UInt8(ascii: "[")] + elements + [UInt8(ascii: "]")]
    }
  }
}

/// The place of an answer.
enum Place: Sendable {
  /// A line of its own.
  case line
  /// This element of a batch.
  case batch(Batch, Int)
}
