public import EinlassJSON
public import EinlassSystem

/// A method with its descriptor and its handler. Parameters are validated before the handler runs.
public struct Method: Sendable {
  /// Its parameters, result and errors.
  public var descriptor: MethodDescriptor
  /// Its handler.
  public var handler: Handler
  /// Changes the validated parameters before the handler gets them.
  public var preparing: @Sendable (JSONObject) -> JSONObject = { $0 }

  /// A method of a table.
  public init(_ descriptor: MethodDescriptor, _ handler: Handler) {
    self.descriptor = descriptor
    self.handler = handler
  }

  /// The handler of a method.
  public enum Handler: Sendable {
    /// Runs on the reader's path in order of arrival. Without a deadline it answers `nil` instead
    /// of waiting, having done nothing: it is then called again on a thread that may wait, with a
    /// deadline counted from its arrival, and the immediate requests after it wait their turn
    /// behind it.
    case immediate(
      @Sendable (JSONObject, Call, Deadline?) throws(RPCError) -> JSONValue?)
    /// Runs on the reader's path and never waits; overtakes immediate requests that do. For methods
    /// that need no store.
    case urgent(@Sendable (JSONObject, Call) throws(RPCError) -> JSONValue)
    /// Runs as a task. After its cancellation every error becomes `cancelled`.
    case task(@Sendable (JSONObject, Call) async throws(RPCError) -> JSONValue)
    /// As `immediate`, for a request that may turn out to need a person. `nil` from the first
    /// handler starts the second one as a task in the request's place.
    case immediateOrTask(
      @Sendable (JSONObject, Call, Deadline?) throws(RPCError) -> JSONValue?,
      @Sendable (JSONObject, Call) async throws(RPCError) -> JSONValue)
    /// A task with an attempt on the reader's path before it, because a ready result needs no
    /// other thread. The attempt never waits. After `nil` it has changed nothing, and the task runs.
    case taskUnlessReady(
      @Sendable (JSONObject, Call) throws(RPCError) -> JSONValue?,
      @Sendable (JSONObject, Call) async throws(RPCError) -> JSONValue)
  }
}

/// One call of a method, as its handler sees it.
public struct Call: Sendable {
  /// The request's id; `nil` for a notification.
  public let id: RequestID?
  /// Whether this is the first request on the stream (notifications do not count).
  public let isFirstRequest: Bool
  /// Its connection.
  public let peer: Peer

  /// The id as it may stand in parameters and results; `null` for a notification.
  public var wireID: JSONValue { id?.json ?? .null }

  /// The right to answer; `nil` for a notification.
  let ticket: RequestTable.Ticket?
  /// The serial number of its task in the table; `nil` if it does not run as a task.
  private(set) var serial: Int?

  /// Makes a call at its arrival.
  init(id: RequestID?, isFirstRequest: Bool, peer: Peer, ticket: RequestTable.Ticket?) {
    self.id = id
    self.isFirstRequest = isFirstRequest
    self.peer = peer
    self.ticket = ticket
  }

  /// Returns the same call for the task with this serial number.
  func running(as serial: Int) -> Call {
    var call = self
    call.serial = serial
    return call
  }

  /// Answers now. Later notifications of the handler follow the answer. The handler's own result
  /// and error are dropped. A notification never gets an answer.
  public func answer(_ result: JSONValue) { peer.answer(self, result, announcing: nil) }

  /// Answers a task's request now. The task goes on in the request's place until the connection
  /// ends. This notification announces the task's result or error exactly once, even if the
  /// connection ends first.
  ///
  /// `params` is called under the connection's lock: it must only compute.
  public func answer(
    _ result: JSONValue, announcing method: String,
    _ params: @escaping @Sendable (Result<JSONValue, RPCError>) -> JSONObject
  ) {
    peer.answer(self, result, announcing: Announcement(method: method, params: params))
  }
}
