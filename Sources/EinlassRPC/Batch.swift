internal import EinlassSystem

/// The answers to a batch, collected until there is one for each request.
final class Batch: Sendable {
  private let answers: Lock<[[UInt8]?]>

  /// For so many answers.
  init(count: Int) { answers = Lock(Array(repeating: nil, count: count)) }

  /// Puts an answer in its place; the whole line once it was the last one missing.
  func fill(_ index: Int, _ answer: [UInt8]) -> [UInt8]? {
    answers.withLock { answers in
      answers[index] = answer
      guard answers.allSatisfy({ $0 != nil }) else { return nil }
      let elements = answers.compactMap(\.self).joined(separator: [UInt8(ascii: ",")])
      return [UInt8(ascii: "[")] + elements + Array("]\n".utf8)
    }
  }
}

/// Where the answer to a request goes.
enum Place: Sendable {
  /// A line of its own.
  case line
  /// This element of a batch.
  case batch(Batch, Int)
}
