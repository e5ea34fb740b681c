import EinlassJSON

/// One fault of the state: what goes wrong with which requests.
///
/// `{path?, method?, skip?, remaining?, delayMilliseconds?, worksFirst?, answer?, status?, contentType?,
/// headers?, body?, bytes?}`. The first fault of the state that matches counts, and only it.
struct Fault: Sendable {
  /// Its name in the state.
  let name: String
  private let record: JSONValue

  /// What comes instead of the proper answer.
  enum Kind: String, CaseIterable, Sendable {
    /// `status`, `contentType`, `headers` and `body` of the fault.
    case status
    /// A page in HTML, status 200 unless said otherwise.
    case html
    /// The proper answer, of which only half arrives.
    case cut
    /// Bytes that are no UTF-8.
    case notUTF8
    /// JSON, but a list and not what was asked for.
    case wrongJSON
    /// A body of so many `bytes`, its length given.
    case huge
    /// The same in chunks, without a length.
    case hugeChunked
    /// The connection ends without an answer.
    case close
  }

  /// Takes the first fault that matches, counting it down in the state.
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

  /// How long to wait before the answer, an hour at most.
  var delayMilliseconds: Int64 {
    min(3_600_000, max(0, record["delayMilliseconds"]?.int64 ?? 0))
  }

  /// Whether the provider does its work before the answer is spoilt; always so for `cut` and for mere delays.
  var worksFirst: Bool {
    kind == nil || kind == .cut || record["worksFirst"]?.bool == true
  }

  /// What is sent; `proper` is the provider's answer, where it has worked.
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
