public import EinlassJSON

/// What the protocol allows, as `initialize` reports it.
public enum Limits {
  /// The longest line that is read, without its end.
  public static let inboundLineBytes = 1 << 20
  /// The longest line that is written, without its end.
  public static let outboundLineBytes = 60 << 10
  /// Arrays and objects inside each other.
  public static let nesting = 64
  /// The longest id.
  public static let idBytes = 256
  /// Entries of a batch.
  public static let batchEntries = 64
  /// Requests that wait: for a task's turn or for the store.
  public static let queuedRequests = 1024
  /// How long an immediate request may wait for the store, from its arrival.
  public static let immediateWaitMilliseconds = 2000
  /// A wait for the store that is longer than the work of any immediate request.
  static let noticedWaitMilliseconds: Int32 = 100
  /// Interactive requests and detached flows at once; network requests have as many places of their own.
  public static let runningFlows = 64

  /// All bytes of requests that run or wait; above it, one more is refused as `overloaded`.
  static let unansweredBytes = 8 << 20
  /// Pending output above which nothing more is read.
  static let softOutputBytes = 1 << 20
  /// Pending output at which the client is given up.
  static let hardOutputBytes = 16 << 20
  /// Pending output that is not let grow before it is tried to be written.
  static let flushBytes = 256 << 10

  /// The published ones.
  public static var json: JSONValue {
    [
      "inboundLineBytes": JSONValue(Int64(inboundLineBytes)),
      "outboundLineBytes": JSONValue(Int64(outboundLineBytes)),
      "nesting": JSONValue(Int64(nesting)), "idBytes": JSONValue(Int64(idBytes)),
      "batchEntries": JSONValue(Int64(batchEntries)),
      "queuedRequests": JSONValue(Int64(queuedRequests)),
      "runningFlows": JSONValue(Int64(runningFlows)),
    ]
  }
}
