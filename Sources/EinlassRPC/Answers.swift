internal import EinlassJSON

/// A method of the table; a reference, because a request carries it far and its descriptor is
/// large.
final class RegisteredMethod: Sendable {
  /// Its parameters, result and errors.
  let descriptor: MethodDescriptor
  /// Its handler.
  let handler: Method.Handler
  /// Changes the validated parameters before the handler gets them.
  let preparing: @Sendable (JSONObject) -> JSONObject
  /// Set for a method of the connection itself.
  let lifecycle: Lifecycle?

  /// A method of the server.
  init(_ method: Method) {
    descriptor = method.descriptor
    handler = method.handler
    preparing = method.preparing
    lifecycle = nil
  }

  /// A method of the connection itself.
  init(_ lifecycle: Lifecycle) {
    descriptor = lifecycle.descriptor
    handler = .urgent { _, _ in [:] }
    preparing = { $0 }
    self.lifecycle = lifecycle
  }
}

/// The result or the error of a request.
typealias Outcome = Result<JSONValue, RPCError>

/// A notification of the end of work, for a request that was answered before its work ended.
struct Announcement: Sendable {
  /// The notification.
  var method: String
  /// Its parameters.
  var params: @Sendable (Outcome) -> JSONObject
}

extension Peer {
  /// Answers a request once. The answer is written together with all pending output.
  func answer(_ ticket: RequestTable.Ticket, _ outcome: Outcome) {
    guard ticket.use() else { return }
    let outcome = options.gate == nil ? outcome : outcome.mapError(\.terse)
    trace(ticket, outcome)
    switch ticket.place {
    case .line: write(outcome, id: ticket.id, of: ticket.method.descriptor)
    case .batch(let batch, let index): answer(ticket.id, outcome, batch, index)
    }
  }

  /// Answers a message that is not a request of a method.
  func refuse(_ error: RPCError, id: RequestID?, place: Place) {
    options.log.debug("rpc", "refused: \(error.reason)")
    let error = options.gate == nil ? error : error.terse
    let message = Outcome.failure(error).message(id: id)
    options.trace?.record(.outbound, message, of: message)
    switch place {
    case .line: write(.failure(error), id: id)
    case .batch(let batch, let index): answer(id, .failure(error), batch, index)
    }
  }

  /// Writes one message. Content over the limit is shortened.
  private func write(_ outcome: Outcome, id: RequestID?, of method: MethodDescriptor? = nil) {
    output.append(isAnswer: true) { bytes in
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
    }
  }

  private func answer(_ id: RequestID?, _ outcome: Outcome, _ batch: Batch, _ index: Int) {
    var bytes: [UInt8] = []
    outcome.append(id: id, to: &bytes)
    guard let message = batch.fill(index, bytes) else { return }
    output.append(isAnswer: true) { $0.append(contentsOf: message) }
  }

  private func trace(_ ticket: RequestTable.Ticket, _ outcome: Outcome) {
    guard options.trace != nil else { return }
    let redacted = outcome.map {
      ticket.method.descriptor.redacted(result: $0, components: options.components)
    }.mapError { $0.redacted(options.secretErrorMembers) }
    record(.outbound, redacted.message(id: ticket.id), of: outcome.message(id: ticket.id))
  }
}

extension Outcome {
  /// The short form of an outcome over the limit of a line: an error without its data, or no
  /// result.
  var shortened: Outcome {
    if case .failure(let error) = self {
      .failure(error.shortened)
    } else {
      .failure(.init(.internal))
    }
  }

  /// Appends the answer.
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
