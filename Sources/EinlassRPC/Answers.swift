internal import EinlassJSON

/// A method of the table; a reference, because a request carries it far and its descriptor is large.
final class RegisteredMethod: Sendable {
  /// What it takes and answers.
  let descriptor: MethodDescriptor
  /// What answers it.
  let handler: Method.Handler
  /// Set when the connection answers it itself.
  let lifecycle: Lifecycle?

  /// A method of the server.
  init(_ method: Method) {
    descriptor = method.descriptor
    handler = method.handler
    lifecycle = nil
  }

  /// A method of the connection itself.
  init(_ lifecycle: Lifecycle) {
    descriptor = lifecycle.descriptor
    handler = .urgent { _, _ in [:] }
    self.lifecycle = lifecycle
  }
}

/// What a request came to.
typealias Outcome = Result<JSONValue, RPCError>

/// How the end of work is told whose request was answered before.
struct Announcement: Sendable {
  /// The notification.
  var method: String
  /// Its parameters.
  var params: @Sendable (Outcome) -> JSONObject
}

extension Peer {
  /// Answers a request unless it was before; it is written with what else is pending.
  func answer(_ ticket: RequestTable.Ticket, _ outcome: Outcome) {
    guard ticket.use() else { return }
    trace(ticket, outcome)
    switch ticket.place {
    case .line: write(outcome, id: ticket.id, of: ticket.method.descriptor)
    case .batch(let batch, let index): answer(ticket.id, outcome, batch, index)
    }
  }

  /// Answers what is no request of a method.
  func refuse(_ error: RPCError, id: RequestID?, place: Place) {
    options.log.debug("rpc", "refused: \(error.reason)")
    options.trace?.record(.outbound, Outcome.failure(error).message(id: id))
    switch place {
    case .line: write(.failure(error), id: id)
    case .batch(let batch, let index): answer(id, .failure(error), batch, index)
    }
  }

  /// Writes a line of its own; what fills more than one may be is told shortened.
  private func write(_ outcome: Outcome, id: RequestID?, of method: MethodDescriptor? = nil) {
    output.append { bytes in
      let start = bytes.count
      outcome.append(id: id, to: &bytes)
      let count = bytes.count - start
      if count > Limits.outboundLineBytes && method?.isLineLimited != false {
        if let method, case .success = outcome {
          options.log.error(
            "rpc", "an answer of \(method.name) has \(count) bytes: it must be paged")
        }
        bytes.removeLast(count)
        outcome.shortened.append(id: id, to: &bytes)
      }
      bytes.append(UInt8(ascii: "\n"))
    }
  }

  private func answer(_ id: RequestID?, _ outcome: Outcome, _ batch: Batch, _ index: Int) {
    var bytes: [UInt8] = []
    outcome.append(id: id, to: &bytes)
    guard let line = batch.fill(index, bytes) else { return }
    output.append { $0.append(contentsOf: line) }
  }

  private func trace(_ ticket: RequestTable.Ticket, _ outcome: Outcome) {
    guard let trace = options.trace else { return }
    let outcome = outcome.map {
      ticket.method.descriptor.redacted(result: $0, components: options.components)
    }
    trace.record(.outbound, outcome.message(id: ticket.id))
  }
}

extension Outcome {
  /// What is told where all of it does not fit a line: of an error less, of a result nothing.
  var shortened: Outcome {
    if case .failure(let error) = self {
      .failure(error.shortened)
    } else {
      .failure(.init(.internal))
    }
  }

  /// Appends the answer, without a line's end.
  fileprivate func append(id: RequestID?, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: #"{"jsonrpc":"2.0","id":"#.utf8)
    if let id { id.append(to: &bytes) } else { bytes.append(contentsOf: "null".utf8) }
    switch self {
    case .success(let result):
      bytes.append(contentsOf: #","result":"#.utf8)
      result.append(to: &bytes)
    case .failure(let error):
      bytes.append(contentsOf: #","error":"#.utf8)
      error.json.append(to: &bytes)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// The answer as a value, for a trace.
  fileprivate func message(id: RequestID?) -> JSONValue {
    let id = id?.json ?? .null
    return switch self {
    case .success(let result): ["jsonrpc": "2.0", "id": id, "result": result]
    case .failure(let error): ["jsonrpc": "2.0", "id": id, "error": error.json]
    }
  }
}
