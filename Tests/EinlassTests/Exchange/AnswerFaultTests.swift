import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// The reading of documents: byte order marks, redirects, and the words about what is refused.
struct AnswerFaultTests {
  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  @Test func `One byte order mark is skipped`() throws {
    for count in 0...2 {
      let body = Array(repeating: Self.mark, count: count).joined() + Array("{}".utf8)
      let response = HTTPResponse(status: 200, body: Array(body))
      #expect((try? response.json().object != nil) == (count < 2 ? true : nil))
    }
  }

  @Test(
    "An answer that is no object is called what it is",
    arguments: [
      ("", "is empty"), ("[]", "is no JSON object"), ("nope", "is not JSON"), ("{}", nil),
      ("\u{feff} <html>", "is a web page"), (#"{"a":1,"a":2}"#, "has the name a twice"),
      (#"{"a b":1,"a b":2}"#, "has the name of a member twice"),
      (String(repeating: "[", count: 65), "is nested too deeply"),
    ] as [(String, String?)])
  func faults(body: String, fault: String?) {
    #expect(HTTPResponse(status: 200, body: Array(body.utf8)).fault == fault)
  }

  @Test(
    "Redirects of a document are followed within its origin",
    arguments: [
      ("https://op.example/b", "https://op.example/b"), ("/b", "https://op.example/b"),
      ("b", "https://op.example/a/b"), ("//op.example/b", "https://op.example/b"),
      ("https://op.example:443/b#c", "https://op.example/b"), ("?b", "https://op.example/a/x?b"),
      ("https://op.example:8443/b", nil), ("http://op.example/b", nil),
      ("https://evil.example/b", nil), ("//evil.example/b", nil), ("https:b", nil),
      ("https://op.example@evil.example/", nil), ("", nil), ("#c", nil),
      ("file:///etc/passwd", nil), ("FILE:/b", nil), ("mailto:b", nil), ("b:c/d", nil),
      ("HTTPS://op.example/b", "https://op.example/b"), ("c/b:d", "https://op.example/a/c/b:d"),
      ("x", nil), ("/a/x#c", nil), ("https://op.example:443/a/x", nil),
    ] as [(String, String?)])
  func redirects(place: String, target: String?) async throws {
    let address = WebAddress(scheme: .https, host: "op.example", path: "/a/x")
    for status in [301, 302, 303, 307, 308] {
      let script = Script([
        .text("", status: status, headers: [.init("location", place)]), .json("{}"),
      ])
      let response = try await script.effects.document(HTTPRequest(.get, address))
      #expect(script.requests.dropFirst().map(\.address.text) == (target.map { [$0] } ?? []))
      #expect(response.status == (target == nil ? status : 200))
    }
  }

  @Test(
    "The words about a redirect name its host",
    arguments: [
      ("x", "op.example"), ("//evil.example/b", "evil.example"),
      ("https://evil.example/b", "evil.example"), ("", nil),
    ] as [(String, String?)])
  func words(place: String, host: String?) async throws {
    let address = WebAddress(scheme: .https, host: "op.example", path: "/a/x")
    let script = Script([.text("", status: 302, headers: [.init("location", place)])])
    let response = try await script.effects.document(HTTPRequest(.get, address))
    #expect(response.fault == (host.map { "redirects to \($0)" } ?? "redirects"))
  }

  @Test(
    "No redirect of a request with a secret is followed",
    arguments: [
      { $0.method = .post }, { $0.headers = [.init("authorization", "Bearer t")] },
      { $0.body = [1] }, { $0.cookies = [] },
    ] as [@Sendable (inout HTTPRequest) -> Void])
  func secrets(change: @Sendable (inout HTTPRequest) -> Void) async throws {
    for changes in [true, false] {
      var request = HTTPRequest(.get, WebAddress(scheme: .https, host: "op.example"))
      if changes { change(&request) }
      let script = Script([
        .text("", status: 302, headers: [.init("location", "/b")]), .json("{}"),
      ])
      _ = try await script.effects.document(request)
      #expect(script.requests.count == (changes ? 1 : 2))
    }
  }

  @Test(arguments: [3, 4])
  func `Three redirects are followed, and the fourth is returned`(count: Int) async throws {
    let hops = (0..<count).map { hop in
      Script.Reply.text("", status: 302, headers: [.init("location", "/\(hop)")])
    }
    let script = Script(hops + [.json("{}")])
    let address = WebAddress(scheme: .https, host: "op.example")
    let response = try await script.effects.document(HTTPRequest(.get, address))
    #expect(response.status == (count == 3 ? 200 : 302))
  }
}
