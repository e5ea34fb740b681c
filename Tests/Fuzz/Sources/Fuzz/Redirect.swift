import Foundation

@testable import Einlass
@testable import EinlassNetwork

/// Checks requests to the redirect address: the verdict is the same for any division of the bytes,
/// an accepted request is one for a second reader too, a sign-in ends only with its `state`, and no
/// part of the request becomes markup of the page.
///
/// Input: the kind of prefix (none, a request line up to the query, a head near the limit, the head
/// of a form), then the request.
func fuzzRedirect(_ input: [UInt8]) {
  var portions = Portions(input)
  let kind = portions.byte()
  let before =
    switch kind % 5 {
    case 0: ""
    case 1: "GET /back?state=S&code="
    case 2: "GET /back HTTP/1.1\r\nHost: \(host)\r\n"
    case 3:
      "POST /back HTTP/1.1\r\nHost: \(host)\r\nContent-Type: \(FormEncoding.mediaType)\r\nContent-Length: "
    default:
      "GET /back?state=S HTTP/1.1\r\nHost: \(host)\r\nX: "
        + String(repeating: "x", count: RedirectRequest.headLimitBytes - 60 - Int(kind))
    }
  let bytes = Array(before.utf8) + portions.rest
  let verdict = judge(bytes[...])
  for part in 1...4 {
    let prefix = judge(bytes.prefix(bytes.count * part / 5))
    check(prefix == .incomplete || prefix == verdict, "the first verdict is final")
  }
  let query = String(decoding: portions.rest, as: UTF8.self)
  if case .answer(_, let parameters) = verdict {
    check(isAnswer(bytes, parameters), "a second reader finds the answer too")
    respond(to: parameters)
  }
  respond(to: RedirectParameters(query))
  let page = RedirectPage(.failed(query), provider: query, application: query).html
  let other = RedirectPage(.failed("x"), provider: "x", application: "x").html
  check(
    page.utf8.count { $0 == UInt8(ascii: "<") } == other.utf8.count { $0 == UInt8(ascii: "<") },
    "no text is markup")
}

private let host = "127.0.0.1:8080"

private func judge(_ bytes: ArraySlice<UInt8>) -> RedirectRequest.Verdict {
  RedirectRequest.verdict(on: Array(bytes), at: [RedirectPlace(path: "/back")], port: 8080)
}

/// Returns whether the bytes are a head with one `GET` of the redirect path with this query, or the
/// post of this form, for the listener's host alone.
private func isAnswer(_ bytes: [UInt8], _ parameters: RedirectParameters) -> Bool {
  let query = parameters.text
  let data = Data(bytes)
  guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { return false }
  var lines: [[UInt8]] = []
  var start = data.startIndex
  while start < end.lowerBound {
    let next = data.range(of: Data("\r\n".utf8), in: start..<end.upperBound)
    lines.append(Array(data[start..<(next?.lowerBound ?? end.lowerBound)]))
    start = next?.upperBound ?? end.lowerBound
  }
  lines.removeAll(where: \.isEmpty)
  let hosts = lines.dropFirst().filter { line in
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    return name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } == Array("host".utf8)
  }
  let isOurs = hosts.count == 1 && hosts[0].dropFirst(5).filter { $0 > 0x20 } == Array(host.utf8)
  guard !parameters.isForm else {
    return isOurs && lines[0].starts(with: Array("POST /back HTTP/1.".utf8))
      && data[end.upperBound...].starts(with: Data(query.utf8))
  }
  let targets = query.isEmpty ? ["/back", "/back?"] : ["/back?\(query)"]
  return isOurs && targets.contains { lines[0].starts(with: Array("GET \($0) HTTP/1.".utf8)) }
}

/// Checks that the `state` of accepted parameters has the expected value alone, as Foundation reads
/// it.
private func respond(to parameters: RedirectParameters) {
  for issuer in [nil, "https://op.example"] {
    let pending = PendingAuthorization(stateParameter: "S", issuer: issuer)
    guard pending.response(parameters) != nil else { continue }
    let fields = parameters.text.utf8.split(separator: UInt8(ascii: "&")).map { field in
      let halves = field.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return halves.map { half in
        Substring(half).replacingOccurrences(of: "+", with: " ").removingPercentEncoding
      }
    }
    let states = fields.filter { $0[0] == "state" }
    check(
      !states.isEmpty && states.allSatisfy { $0 == ["state", "S"] },
      "an answer has no state but its own")
  }
}
