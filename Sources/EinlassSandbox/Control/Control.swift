import EinlassJSON

/// The control address, for reading and changing the sandbox while it runs.
enum Control {
  /// Answers `GET`, `PUT` and `PATCH /state`, `GET` and `DELETE /log`, and `POST /reset`.
  ///
  /// Errors are `{"error": {"message", "path"?}}`, with `path` a JSON pointer into the state.
  static func answer(
    _ request: Request, state: inout JSONValue, log: inout RequestLog, initialState: JSONValue
  ) -> Answer {
    switch (request.path, request.method) {
    case ("/state", "GET"): return .json(state)
    case ("/state", "PUT"): return change(&state, by: request) { $1 }
    case ("/state", "PATCH"): return change(&state, by: request) { $0.merging($1) }
    case ("/log", "GET"): return .json(["requests": .array(log.entries)])
    case ("/log", "DELETE"):
      log.clear()
      return .json(.object(JSONObject()))
    case ("/reset", "POST"):
      state = initialState
      log.clear()
      return .json(.object(JSONObject()))
    case ("/state", _): return refusal("Use GET, PUT or PATCH.", status: 405)
    case ("/log", _): return refusal("Use GET or DELETE.", status: 405)
    case ("/reset", _): return refusal("Use POST.", status: 405)
    default: return refusal("The paths are /state, /log and /reset.", status: 404)
    }
  }

  private static func change(
    _ state: inout JSONValue, by request: Request,
    _ combine: (JSONValue, JSONValue) -> JSONValue
  ) -> Answer {
    let body: JSONValue
    do { body = try JSONReader.read(request.body) } catch {
      return refusal("The body is not JSON: \(describe(error))", status: 400)
    }
    let changed = combine(state, body)
    if let flaw = StateShape.flaw(in: changed) {
      return refusal(flaw.message, status: 400, path: flaw.path)
    }
    state = changed
    return .json(state)
  }

  private static func describe(_ error: JSONReadError) -> String {
    switch error {
    case .invalidUTF8: "it is not UTF-8."
    case .invalidJSON(let offset): "there is a syntax error at byte \(offset)."
    case .tooDeep: "it is nested too deeply."
    case .duplicateKey: "an object has two members with the same name."
    }
  }

  private static func refusal(_ message: String, status: Int, path: String? = nil) -> Answer {
    let error = JSONObject(present: [
      "message": .string(message), "path": path.map(JSONValue.string),
    ])
    return .json(["error": .object(error)], status: status)
  }
}
