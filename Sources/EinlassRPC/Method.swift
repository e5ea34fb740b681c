public import EinlassJSON

/// A method: its descriptor and what answers it. Parameters are validated before a handler sees them.
public struct Method: Sendable {
  /// What it takes and answers.
  public var descriptor: MethodDescriptor
  /// What answers it.
  public var handler: Handler

  /// A method of a table.
  public init(_ descriptor: MethodDescriptor, _ handler: Handler) {
    self.descriptor = descriptor
    self.handler = handler
  }

  /// What answers a method.
  public enum Handler: Sendable {
    /// Runs on the reader's path in order of arrival. With `mayWait` false it answers `nil` instead of waiting,
    /// having done nothing: it is then called again with `mayWait` true on a thread that may, and the immediate
    /// requests after it wait their turn behind it.
    case immediate(
      @Sendable (JSONObject, Call, _ mayWait: Bool) throws(RPCError) -> JSONValue?)
    /// Runs on the reader's path and never waits; overtakes immediate requests that do. For answers to
    /// questions and for cancelling.
    case urgent(@Sendable (JSONObject, Call) throws(RPCError) -> JSONValue)
    /// Runs as a task of its own. When it is cancelled, any error it throws becomes `cancelled`.
    case task(@Sendable (JSONObject, Call) async throws(RPCError) -> JSONValue)
  }
}

/// One call of a method, as its handler sees it.
public struct Call: Sendable {
  /// The request's id; `nil` for a notification.
  public let id: RequestID?
  /// Whether this is the first request on the stream (notifications do not count).
  public let isFirstRequest: Bool
  /// The connection it came by.
  public let peer: Peer

  /// The id as it may stand in parameters and results; `null` for a notification.
  public var wireID: JSONValue { id?.json ?? .null }

  /// Cancels this request's task: it answers `-32800` with this word as `by`. Nothing when it has ended.
  public func cancel(by: String) {
    guard let id else { return }
    peer.cancel(id, by: by)
  }
}
