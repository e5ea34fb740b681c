import EinlassJSON
import EinlassRPC
import Testing

/// Ids that are the same number in another spelling.
struct RequestIDTests {
  @Test("1.0 and 1 are one id, for a cancellation and for a request that still runs")
  func wholeNumbers() async throws {
    let gate = Gate()
    let pairs = [("1", "1.0"), ("1.0", "1"), ("1.00", "1.0")]
    for (first, second) in pairs {
      try await Session.with([waiting(at: gate), echo]) { session in
        func id(_ lexeme: String) throws -> JSONValue {
          try JSONReader.read(Array(lexeme.utf8))
        }
        try session.call(try id(first), "wait")
        try gate.awaitArrivals()
        try session.call(try id(second), "echo")
        #expect(try session.line().map(brief) == "null -32600 duplicateId")
        try session.call(nil, "$/cancelRequest", ["id": try id(second)])
        #expect(try session.line().map(brief) == "\(first) -32800 cancelled by client")
      }
    }
  }
}
