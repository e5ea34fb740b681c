internal import EinlassSystem

/// The answers to a batch, collected until there is one for each request.
final class Batch: Sendable {
  private let answers: Lock<[[UInt8]?]>

  /// Waits for this number of answers.
  init(count: Int) { answers = Lock(Array(repeating: nil, count: count)) }

  /// Stores an answer. Returns the whole message after the last missing answer.
  func fill(_ index: Int, _ answer: [UInt8]) -> [UInt8]? {
    answers.withLock { answers in
      answers[index] = answer
      guard answers.allSatisfy({ $0 != nil }) else { return nil }
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
