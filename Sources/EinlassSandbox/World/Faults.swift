import EinlassJSON

/// A fault of the state, and the requests that it applies to.
///
/// `{path?, method?, skip?, remaining?, delayMilliseconds?, worksFirst?, answer?, status?,
/// contentType?, headers?, body?, bytes?}`. Only the first matching fault of the state applies.
struct Fault: Sendable {
  let name: String
  private let record: JSONValue

  /// The replacement for the correct answer.
  enum Kind: String, CaseIterable, Sendable {
    /// The `status`, `contentType`, `headers` and `body` of the fault.
    case status
    /// An HTML page, by default with status 200.
    case html
    /// The correct answer, cut off in the middle.
    case cut
    /// Bytes that are not valid UTF-8.
    case notUTF8
    /// A JSON list in place of the expected object.
    case wrongJSON
    /// A body of `bytes` bytes with a Content-Length.
    case huge
    /// A body of `bytes` bytes in chunks.
    case hugeChunked
    /// Nothing; the connection ends.
    case close
  }

  /// Returns the first matching fault, and decrements its counters in the state.
  static func take(for request: Request, from world: inout World) -> Fault? {
    for member in world.state["faults"]?.object?.members ?? [] {
      let record = member.value
      if let path = record["path"]?.string, !sameBytes(path, request.path) { continue }
      if let method = record["method"]?.string, !sameBytes(method, request.method) { continue }
      if let skip = record["skip"]?.int64, skip > 0 {
        world.state[at: "faults", member.name, "skip"] = JSONValue(skip - 1)
        continue
      }
      if let remaining = record["remaining"]?.int64 {
        guard remaining > 0 else { continue }
        world.state[at: "faults", member.name, "remaining"] = JSONValue(remaining - 1)
      }
      return Fault(name: member.name, record: record)
    }
    return nil
  }

  /// The delay before the answer, at most an hour.
  var delayMilliseconds: Int64 {
    min(3_600_000, max(0, record["delayMilliseconds"]?.int64 ?? 0))
  }

  /// Whether the provider processes the request before the answer is replaced. Always so for `cut`
  /// and for mere delays.
  var worksFirst: Bool {
    kind == nil || kind == .cut || record["worksFirst"]?.bool == true
  }

  /// Returns the answer to send. `proper` is the provider's answer if it has processed the request.
  func answer(insteadOf proper: Answer?) -> Answer {
    let status = Int(record["status"]?.int64 ?? 200)
    switch kind {
    case nil: return proper ?? .text("")
    case .status:
      return Answer(
        status: Int(record["status"]?.int64 ?? 500),
        type: record["contentType"]?.string ?? "application/json; charset=utf-8",
        body: Array((record["body"]?.string ?? "").utf8), headers: headers)
    case .html:
      let page = "<!DOCTYPE html>\n<html><head><title>Sorry</title></head><body></body></html>\n"
      return .text(record["body"]?.string ?? page, status: status, type: "text/html")
    case .cut:
      var answer = proper ?? .text("")
      answer.delivery = .cut
      return answer
    case .notUTF8:
      let bytes: [UInt8] = [0x7B, 0x22, 0xC3, 0x28, 0xFF, 0xFE, 0x22, 0x3A, 0x31, 0x7D]
      return Answer(status: status, type: "application/json; charset=utf-8", body: bytes)
    case .wrongJSON:
      return .json(["unexpected", 1, .null], status: status)
    case .huge, .hugeChunked:
      var answer = Answer(status: status, type: "application/json", body: [], headers: headers)
      answer.padding = Int(clamping: max(0, record["bytes"]?.int64 ?? 1 << 20))
      answer.delivery = kind == .huge ? .whole : .chunked
      return answer
    case .close:
      var answer = Answer.text("")
      answer.delivery = .closed
      return answer
    }
  }

  private var kind: Kind? { record["answer"]?.string.flatMap(Kind.init) }

  private var headers: [Parameter] {
    (record["headers"]?.object?.members ?? []).compactMap { member in
      member.value.string.map { Parameter(name: member.name, value: $0) }
    }
  }
}
