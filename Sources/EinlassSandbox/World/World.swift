import EinlassCrypto
import EinlassJSON

/// The data for answering one request: the state, the time, and the checks made.
struct World: Sendable {
  /// The state at the control address.
  var state: JSONValue
  /// Seconds since 1970, by the machine's clock.
  var machineTime: Int64 = 0
  /// The pushes to them are no part of the state.
  var repositories = GitRepositories()
  /// The checks of this request, for the log.
  var checks: [JSONValue] = []

  /// Seconds since 1970, as the providers see them.
  var now: Int64 {
    let offset = state["clockOffsetSeconds"]?.int64 ?? 0
    return machineTime.addingReportingOverflow(offset).partialValue
  }

  /// Records a check for the log.
  mutating func note(_ check: String, _ isPassed: Bool, _ detail: String? = nil) {
    let entry = JSONObject(present: [
      "check": .string(check), "ok": .bool(isPassed), "detail": detail.map(JSONValue.string),
    ])
    checks.append(.object(entry))
  }

  /// Returns this number of random letters and digits.
  func randomText(_ count: Int) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    // The modulo prefers some letters slightly, which does not matter in a sandbox.
    return String(
      decoding: SecureRandom.bytes(count).map { alphabet[Int($0) % alphabet.count] },
      as: UTF8.self)
  }

  /// Counts a request against the rate limit of this provider and path, if the state has one.
  ///
  /// Returns the limit's record if it is exhausted, and otherwise `nil`.
  mutating func exhaustedLimit(of provider: String, path: String) -> JSONValue? {
    guard var limit = state[at: provider, "rateLimits", path]?.object else { return nil }
    let total = limit["limit"]?.int64 ?? 15
    if (limit["resetAt"]?.int64 ?? 0) <= now {
      limit["resetAt"] = JSONValue(now + (limit["windowSeconds"]?.int64 ?? 900))
      limit["remaining"] = JSONValue(total)
    }
    let remaining = limit["remaining"]?.int64 ?? total
    note("rateLimit", remaining > 0)
    if remaining > 0 { limit["remaining"] = JSONValue(remaining - 1) }
    state[at: provider, "rateLimits", path] = .object(limit)
    return remaining > 0 ? nil : .object(limit)
  }
}
