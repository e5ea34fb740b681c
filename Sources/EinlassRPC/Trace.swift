internal import EinlassJSON
public import EinlassSystem

/// The messages of a session as JSON Lines in a file, `{"t": seconds, "dir": "in" | "out", "msg":
/// …}`.
///
/// Messages are redacted by the methods' descriptors before they are recorded.
public struct Trace: Sendable {
  /// The direction of a message.
  enum Direction: String {
    case inbound = "in"
    case outbound = "out"
  }

  private struct File: ~Copyable {
    let lines: CappedFile
  }

  private let file: Lock<File>
  private let now: @Sendable () -> Int64

  /// Appends to this file. `now` returns Unix seconds.
  public init(to file: consuming CappedFile, now: @escaping @Sendable () -> Int64) {
    self.file = Lock(File(lines: file))
    self.now = now
  }

  /// Adds one line. A line that cannot be written is lost.
  func record(_ direction: Direction, _ message: JSONValue) {
    let line: JSONValue = [
      "t": JSONValue(now()), "dir": .string(direction.rawValue), "msg": message,
    ]
    let bytes = line.bytes()
    file.withLock { $0.lines.append(bytes) }
  }
}

extension Peer {
  /// Records an incoming request or notification.
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

  /// Records an outgoing notification.
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
