import EinlassJSON
import Testing

@testable import EinlassSandbox

struct ControlTests {
  @Test("A state that is read and put back is unchanged to the byte")
  func roundTrip() async throws {
    try await TestSandbox.run { sandbox async throws in
      _ = try await sandbox.signIn()
      let before = try #require(try await sandbox.control.send("GET", "/state")).body
      let put = try #require(try await sandbox.control.send("PUT", "/state", body: before))
      #expect(put.status == 200)
      #expect(put.body == before)
      #expect(try await sandbox.control.send("GET", "/state")?.body == before)
    }
  }

  @Test("A reset restores the initial state and empties the log")
  func reset() async throws {
    try await TestSandbox.run { sandbox async throws in
      _ = try await sandbox.signIn()
      try await sandbox.patch(["twitter": .null])
      #expect(try await sandbox.state()["twitter"] == nil)
      #expect(try await sandbox.control.send("POST", "/reset")?.json == [:])
      #expect(try await sandbox.state() == DemoState.whole)
      #expect(try await sandbox.log().isEmpty)
    }
  }

  @Test(
    "A merge patch gives the results of RFC 7396 appendix A",
    arguments: [
      (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
      (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
      (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
      (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
      (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
      (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
      (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
      (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
      (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
      (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
      (#"{"a":"foo"}"#, "null", "null"),
      (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
      (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
      ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
      ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
  func mergePatch(original: String, patch: String, result: String) throws {
    let value = { (text: String) in try JSONReader.read(Array(text.utf8)) }
    #expect(try value(original).merging(value(patch)) == value(result))
  }

  @Test(
    "An invalid state is refused with the path of its fault, and changes nothing",
    arguments: [
      ("", nil), ("{", nil), (#"{"faults":{},"faults":{}}"#, nil), ("\u{FEFF}{}", nil),
      ("[]", ""), ("null", ""), (#"{"twiter":{}}"#, "/twiter"),
      (#"{"clockOffsetSeconds":"1"}"#, "/clockOffsetSeconds"),
      (#"{"clockOffsetSeconds":9223372036854775807}"#, "/clockOffsetSeconds"),
      (#"{"faults":{"a/b":{"answer":"explode"}}}"#, "/faults/a~1b/answer"),
      (#"{"twitter":{"users":{"1":{"suspended":true}}}}"#, "/twitter/users/1/suspended"),
      (#"{"twitter":{"users":[]}}"#, "/twitter/users"),
      (#"{"facebook":{"tokens":{"t":{"scopes":["a",1]}}}}"#, "/facebook/tokens/t/scopes"),
    ] as [(String, String?)])
  func badStates(text: String, path: String?) async throws {
    try await TestSandbox.run { sandbox async throws in
      let before = try await sandbox.state()
      let reply = try #require(
        try await sandbox.control.send("PUT", "/state", body: Array(text.utf8)))
      #expect(reply.status == 400)
      #expect(reply.json?["error"]?["message"]?.string?.isEmpty == false)
      #expect(reply.json?["error"]?["path"]?.string == path)
      #expect(try await sandbox.state() == before)
    }
  }

  @Test(
    "Other paths and methods are refused",
    arguments: [
      ("POST", "/state", 405), ("PUT", "/log", 405), ("GET", "/reset", 405), ("GET", "/", 404),
      ("GET", "/state/x", 404),
    ])
  func otherRequests(method: String, path: String, status: Int) async throws {
    try await TestSandbox.run { sandbox async throws in
      #expect(try await sandbox.control.send(method, path)?.status == status)
    }
  }

  @Test("The log has each request with its checks")
  func log() async throws {
    try await TestSandbox.run { sandbox async throws in
      _ = try await sandbox.requestToken()
      _ = try await sandbox.requestToken(by: TestSigner(consumerSecret: "wrong"))
      _ = try await sandbox.providers.send("GET", "/me?a=1&a=2&b=3")
      let log = try await sandbox.log()
      #expect(log.map { $0["number"] } == [1, 2, 3])
      #expect(log.map { $0["provider"] } == ["twitter", "twitter", "facebook"])
      #expect(log.map { $0["status"] } == [200, 401, 400])
      #expect(log[0]["method"] == "POST")
      #expect(log[0]["path"] == "/oauth/request_token")
      #expect(log[0]["form"] == ["x_auth_mode": "reverse_auth"])
      #expect(log[0]["headers"]?["authorization"]?.string?.hasPrefix("OAuth ") == true)
      let failed = { (entry: JSONValue) in
        (entry["checks"]?.array ?? []).filter { $0["ok"] == false }.map { $0["check"] }
      }
      #expect(failed(log[0]).isEmpty)
      #expect(failed(log[1]) == ["signature", "answer"])
      #expect(log[2]["query"] == ["a": ["1", "2"], "b": "3"])
      #expect(try await sandbox.control.send("DELETE", "/log")?.status == 200)
      _ = try await sandbox.providers.send("GET", "/me")
      #expect(try await sandbox.log().map { $0["number"] } == [4])
    }
  }

  @Test("The log keeps the last thousand requests")
  func logLimit() {
    var log = RequestLog()
    for _ in 0..<1005 {
      log.add(
        Request(method: "GET", path: "/"), provider: "x", world: World(state: .null),
        answer: .text(""), fault: nil)
    }
    #expect(log.entries.count == 1000)
    #expect(log.entries.first?["number"] == 6)
  }

  @Test("The demo state is valid, and its announcement has addresses, applications and accounts")
  func demo() throws {
    #expect(StateShape.flaw(in: DemoState.whole) == nil)
    let line = DemoState.announcement(
      address: "http://127.0.0.1:1", control: "http://127.0.0.1:2", state: DemoState.whole)
    #expect(
      line.at(pointer: "/config/applications/*/twitter")
        == [
          "clientId": "demo-twitter-key", "clientSecret": "demo-twitter-secret",
          "redirect": "http://127.0.0.1/callback",
        ])
    #expect(line.at(pointer: "/config/applications/*/facebook/clientId") == "1234567890")
    #expect(
      line.at(pointer: "/config/origins/https:~1~1graph.facebook.com") == "http://127.0.0.1:1")
    let accounts = try #require(line["accounts"]?.array)
    #expect(accounts.map { $0["provider"]?.string }.count { $0 == "twitter" } == 6)
    #expect(
      accounts.last == [
        "provider": "facebook", "username": "ada@example.org", "displayName": "Ada Lovelace",
        "subject": "2001",
        "credential": [
          "type": "oauth2", "token": "2001-system-token", "scopes": ["email", "public_profile"],
          "clientId": "1000000001",
        ],
      ])
  }
}
