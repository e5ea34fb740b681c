internal import EinlassJSON
public import EinlassSystem

/// The messages of a session as JSON Lines in a file, `{"t": seconds, "dir": "in" | "out", "msg": …}`.
///
/// What reaches it has been redacted by the methods' descriptors.
public struct Trace: Sendable {
  /// Which way a message went.
  enum Direction: String {
    case inbound = "in"
    case outbound = "out"
  }

  private struct File: ~Copyable {
    let lines: CappedFile
  }

  private let file: Lock<File>
  private let now: @Sendable () -> Int64

  /// A trace at the end of this file. `now` answers Unix seconds.
  public init(to file: consuming CappedFile, now: @escaping @Sendable () -> Int64) {
    self.file = Lock(File(lines: file))
    self.now = now
  }

  /// Adds one line; what the file does not take is lost.
  func record(_ direction: Direction, _ message: JSONValue) {
    let line: JSONValue = [
      "t": JSONValue(now()), "dir": .string(direction.rawValue), "msg": message,
    ]
    let bytes = line.bytes()
    file.withLock { $0.lines.append(bytes) }
  }
}

extension Peer {
  /// Records a request or notification that came.
  func trace(_ request: Message.Request, _ method: RegisteredMethod?) {
    guard let trace = options.trace else { return }
    let params =
      method?.descriptor.redacted(params: request.params, components: options.components)
      ?? Schema.redacted(request.params, [], components: [:])
    let members: KeyValuePairs<String, JSONValue?> = [
      "jsonrpc": "2.0", "id": request.id?.json, "method": .string(request.method),
      "params": .object(params),
    ]
    trace.record(.inbound, .object(JSONObject(present: members)))
  }

  /// Records a notification that goes.
  func traceNotification(_ method: String, _ params: JSONObject) {
    guard let trace = options.trace else { return }
    let descriptor =
      options.notifications.first { sameBytes($0.name, method) }
      ?? NotificationDescriptor(method, "")
    let params = descriptor.redacted(params: params, components: options.components)
    trace.record(
      .outbound, ["jsonrpc": "2.0", "method": .string(method), "params": .object(params)])
  }
}
