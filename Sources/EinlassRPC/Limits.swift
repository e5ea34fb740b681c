public import EinlassJSON

/// The limits of the protocol. `initialize` reports them.
public enum Limits {
  /// The longest input line in bytes, without LF.
  public static let inboundLineBytes = 1 << 20
  /// The longest output line in bytes, without LF.
  public static let outboundLineBytes = 60 << 10
  /// The depth of nested arrays and objects.
  public static let nesting = 64
  /// The longest id in bytes.
  public static let idBytes = 256
  /// Entries of a batch.
  public static let batchEntries = 64
  /// The number of requests that wait for a task or for the store.
  public static let queuedRequests = 1024
  /// The longest wait of an immediate request for the store, in milliseconds from its arrival.
  public static let immediateWaitMilliseconds = 2000
  /// A wait for the store that is longer than the work of any immediate request.
  static let noticedWaitMilliseconds: Int32 = 100
  /// Interactive requests and detached flows at once; network requests have as many places of their
  /// own.
  public static let runningFlows = 64

  /// The bytes of all running and waiting requests. Above it a request is refused as `overloaded`.
  static let unansweredBytes = 8 << 20
  /// The bytes of pending output above which no input is read.
  static let softOutputBytes = 1 << 20
  /// The bytes of pending notifications above which the connection ends. Answers do not count,
  /// because the admission of requests limits them.
  static let hardOutputBytes = 16 << 20
  /// The bytes of pending output above which a write is tried first.
  static let flushBytes = 256 << 10

  /// The published limits with their meanings.
  public static var published: [(name: String, value: Int, summary: String)] {
    [
      (
        "inboundLineBytes", inboundLineBytes,
        "The longest message to einlass in bytes; a longer one is skipped, and answered with lineTooLong."
      ),
      (
        "outboundLineBytes", outboundLineBytes,
        "The longest message from einlass in bytes, except rpc.discover and answers to batches; lists have a nextCursor."
      ),
      (
        "nesting", nesting,
        "The depth of nested arrays and objects; a deeper message is answered with tooDeep."
      ),
      ("idBytes", idBytes, "The longest id in bytes; a longer one is answered with invalidId."),
      (
        "batchEntries", batchEntries,
        "The entries of a batch; a longer one is answered with batchTooLarge."
      ),
      ("queuedRequests", queuedRequests, "The requests that wait; another one is overloaded."),
      (
        "runningFlows", runningFlows,
        "Interactive requests and detached flows at once; another one is overloaded."
      ),
    ]
  }

  /// The published limits, as `initialize` reports them.
  public static var json: JSONValue {
    .object(JSONObject(published.map { ($0.name, JSONValue(Int64($0.value))) }))
  }
}
