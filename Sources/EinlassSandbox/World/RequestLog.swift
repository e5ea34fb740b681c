import EinlassJSON

/// The received requests, oldest first. Secrets are included, because none of them is real.
struct RequestLog: Sendable {
  static let limit = 1000

  private(set) var entries: [JSONValue] = []
  private var count: Int64 = 0

  /// Adds a request and its outcome: `{number, at, provider, method, path, query, headers, form,
  /// checks, status, fault?}`. `query` and `form` are objects with strings as values, or lists of
  /// strings for a repeated name. They are null if they cannot be decoded.
  mutating func add(
    _ request: Request, provider: String, world: World, answer: Answer, fault: String?
  ) {
    count += 1
    let headers = request.headers
      .map { Parameter(name: $0.name.lowercased(), value: $0.value) }
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    let entry = JSONObject(present: [
      "number": JSONValue(count),
      "at": JSONValue(world.now),
      "provider": .string(provider),
      "method": .string(request.method),
      "path": .string(request.path),
      "query": request.query.map(\.json) ?? .null,
      "headers": headers.json,
      "form": request.form.map(\.json) ?? .null,
      "checks": .array(world.checks),
      "status": JSONValue(Int64(answer.status)),
      "fault": fault.map(JSONValue.string),
    ])
    if entries.count == Self.limit { entries.removeFirst() }
    entries.append(.object(entry))
  }

  /// Removes the entries. The numbering continues.
  mutating func clear() { entries = [] }
}
