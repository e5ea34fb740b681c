internal import EinlassJSON
public import EinlassSystem

/// The messages of a session as JSON Lines in a file, `{"t": seconds, "dir": "in" | "out", "msg":
/// …}`.
///
/// Messages are redacted by the methods' descriptors before they are recorded. A hidden value is
/// `[hidden N]`, with the same number wherever the same value is hidden, so that a trace can be
/// replayed.
public struct Trace: Sendable {
  /// The direction of a message.
  enum Direction: String {
    case inbound = "in"
    case outbound = "out"
  }

  private struct File: ~Copyable {
    let lines: CappedFile
    /// The numbers of the hidden values, by a hash with the seed of this process, so that the trace
    /// keeps no secret in memory.
    var numbers: [Int: Int] = [:]
  }

  private let file: Lock<File>
  private let now: @Sendable () -> Int64

  /// Appends to this file. `now` returns Unix seconds.
  public init(to file: consuming CappedFile, now: @escaping @Sendable () -> Int64) {
    self.file = Lock(File(lines: file))
    self.now = now
  }

  /// Adds one line for a redacted message. A line that cannot be written is lost.
  func record(_ direction: Direction, _ redacted: JSONValue, of message: JSONValue) {
    let time = JSONValue(now())
    file.withLock { file in
      let numbered = Self.numbered(redacted, of: message, &file.numbers)
      let line: JSONValue = ["t": time, "dir": .string(direction.rawValue), "msg": numbered]
      file.lines.append(line.bytes())
    }
  }

  /// Returns the redacted value with a number in each replacement.
  private static func numbered(
    _ redacted: JSONValue, of value: JSONValue, _ numbers: inout [Int: Int]
  ) -> JSONValue {
    switch (redacted, value) {
    case (hiddenValue, _): return .string("[hidden \(number(of: value, &numbers))]")
    case (.object(let redacted), .object(let object)):
      return .object(
        redacted.map { member in
          object[member.name].map { numbered(member.value, of: $0, &numbers) } ?? member.value
        })
    case (.array(let redacted), .array(let values)):
      return .array(zip(redacted, values).map { numbered($0, of: $1, &numbers) })
    case (.string(let text), _): return .string(hidingParts(of: text, &numbers))
    default: return redacted
    }
  }

  private static func number(of value: JSONValue, _ numbers: inout [Int: Int]) -> Int {
    let hash = value.bytes().hashValue
    let number = numbers[hash] ?? numbers.count + 1
    numbers[hash] = number
    return number
  }

  /// The query parameters that stay readable, because they have nothing of the person.
  private static let publicParameters = [
    "client_id", "redirect_uri", "response_type", "response_mode", "scope", "prompt", "max_age",
    "code_challenge_method",
  ]

  /// Returns an address without its user name and password, and without the values of its query. Any
  /// other text stays as it is.
  private static func hidingParts(of text: String, _ numbers: inout [Int: Int]) -> String {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var segments = parts[0].split(
      separator: "/", maxSplits: 3, omittingEmptySubsequences: false
    ).map(String.init)
    guard segments.count > 2, segments[0].hasSuffix(":"), segments[1].isEmpty else { return text }
    if let end = segments[2].lastIndex(of: "@") {
      segments[2] = standIn(for: segments[2][..<end], &numbers) + segments[2][end...]
    }
    guard parts.count == 2 else { return segments.joined(separator: "/") }
    let query = parts[1].split(separator: "&", omittingEmptySubsequences: false).map { pair in
      guard let sign = pair.firstIndex(of: "="), !publicParameters.contains(String(pair[..<sign]))
      else { return String(pair) }
      return pair[...sign] + standIn(for: pair[pair.index(after: sign)...], &numbers)
    }
    return segments.joined(separator: "/") + "?" + query.joined(separator: "&")
  }

  /// Returns the placeholder for a part of an address.
  private static func standIn(for part: Substring, _ numbers: inout [Int: Int]) -> String {
    "hidden\(number(of: .string(String(part)), &numbers))"
  }
}

extension Peer {
  /// Records a message, if there is a trace.
  func record(_ direction: Trace.Direction, _ redacted: JSONValue, of message: JSONValue) {
    options.trace?.record(direction, redacted.hiding(options.isPersonal), of: message)
  }

  /// Records an incoming request or notification.
  func trace(_ request: Message.Request, _ method: RegisteredMethod?) {
    guard options.trace != nil else { return }
    let params =
      method?.descriptor.redacted(params: request.params, components: options.components)
      ?? Schema.redacted(request.params, [], components: { _ in nil })
    func message(_ params: JSONObject) -> JSONValue {
      let members: KeyValuePairs<String, JSONValue?> = [
        "jsonrpc": "2.0", "id": request.id?.json, "method": .string(request.method),
        "params": .object(params),
      ]
      return .object(JSONObject(present: members))
    }
    record(.inbound, message(params), of: message(request.params))
  }

  /// Records an outgoing notification.
  func traceNotification(_ method: String, _ params: JSONObject) {
    guard options.trace != nil else { return }
    let descriptor =
      options.notifications().first { sameBytes($0.name, method) }
      ?? NotificationDescriptor(method, "")
    func message(_ params: JSONObject) -> JSONValue {
      ["jsonrpc": "2.0", "method": .string(method), "params": .object(params)]
    }
    let redacted = descriptor.redacted(params: params, components: options.components)
    record(.outbound, message(redacted), of: message(params))
  }
}
