import Einlass
import EinlassCrypto
import TestSupport
import Testing

struct ErrorRulesTests {
  /// Returns the problem of a sign-in if request number `step` gets this reply.
  func chirp(_ reply: Script.Reply, at step: Int = 2) async throws -> (Problem, Account) {
    let happy: [Script.Reply] = [.text(Sample.requestToken), .text(Sample.accessToken)]
    let script = Script(Array(happy.prefix(step)) + [reply], store: Sample.chirpStore())
    let request = PerformRequest(
      application: Sample.application, registration: Sample.registration, provider: "twitter",
      account: Account.ID(rawValue: "a_ada"))
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).perform(request, asking: script.asker())
    }
    #expect(!script.log.contains { $0.hasPrefix("save") })
    return (try #require(problem), script.store.accounts[0])
  }

  @Test(
    "Every Twitter error code has its documented meaning",
    arguments: [
      (32, 401, Problem.Reason.providerFailure, Problem.Advice?.none, false, false),
      (34, 404, .providerFailure, nil, false, false),
      (37, 403, .providerFailure, nil, false, false),
      (50, 404, .providerFailure, nil, false, false),
      (63, 403, .providerFailure, nil, false, false),
      (64, 403, .accountBanned, nil, false, false), (68, 410, .providerFailure, nil, false, false),
      (87, 403, .providerFailure, nil, false, false), (88, 429, .throttled, nil, false, true),
      (89, 401, .providerFailure, nil, true, false), (92, 403, .providerFailure, nil, false, false),
      (93, 403, .providerFailure, nil, false, false),
      (99, 403, .providerFailure, nil, false, false),
      (130, 503, .providerFailure, nil, false, true),
      (131, 500, .providerFailure, nil, false, true),
      (135, 401, .providerFailure, .checkClock, false, false),
      (215, 400, .providerFailure, nil, true, false),
      (220, 403, .providerFailure, nil, true, false),
      (226, 403, .providerFailure, nil, false, false),
      (231, 401, .providerFailure, nil, true, false),
      (239, 401, .providerFailure, nil, false, false),
      (251, 410, .providerFailure, nil, false, false),
      (261, 403, .providerFailure, nil, false, false),
      (326, 403, .providerFailure, .unlockOnWeb, false, false),
      (415, 403, .providerFailure, .changeSettings, false, false),
      (416, 401, .providerFailure, .changeSettings, false, false),
      (417, 401, .providerFailure, .changeSettings, false, false),
    ] as [(Int, Int, Problem.Reason, Problem.Advice?, Bool, Bool)])
  func codes(
    code: Int, status: Int, reason: Problem.Reason, advice: Problem.Advice?, suggestsRelogin: Bool,
    isRetryable: Bool
  ) async throws {
    let (problem, _) = try await chirp(Sample.chirpError(code, status: status))
    #expect(problem.reason == reason)
    #expect(problem.advice == advice)
    #expect((problem.hint?.method == "accounts.add") == suggestsRelogin)
    #expect(problem.isRetryable == isRetryable)
    #expect(problem.serverError == .init(status: status, code: "\(code)", text: "Because."))
  }

  @Test(
    "The message of an error says what happened, without the provider's words",
    arguments: [
      (220, 403, "status 403."), (326, 403, "locked the account for now."),
      (131, 500, "status 500."),
      (64, 403, "suspended the account."), (88, 429, "too many requests."),
    ])
  func messages(code: Int, status: Int, words: String) async throws {
    let (problem, _) = try await chirp(Sample.chirpError(code, status: status))
    #expect(problem.message.hasSuffix(words))
    #expect(!problem.message.contains("Because"))
  }

  @Test(
    "Only a certain error changes the account's health",
    arguments: [
      (64, 403, 2, Account.Health.banned), (64, 403, 0, .banned), (326, 403, 2, .locked),
      (89, 401, 1, .reloginNeeded), (89, 401, 2, .ok), (89, 401, 0, .ok), (215, 400, 1, .ok),
      (32, 401, 1, .ok), (88, 429, 1, .ok), (131, 500, 1, .ok), (64, 403, 1, .banned),
    ])
  func health(code: Int, status: Int, step: Int, health: Account.Health) async throws {
    let (_, account) = try await chirp(Sample.chirpError(code, status: status), at: step)
    #expect(account.health == health)
  }

  @Test(
    "An error body is understood in every known shape",
    arguments: [
      (
        #"{"errors":[{"code":32,"message":"Could not authenticate you"}]}"#, "32",
        "Could not authenticate you"
      ),
      (#"{"errors":[{"code":32}]}"#, "32", nil),
      (#"{"error":"Not here","request":"/x"}"#, nil, "Not here"),
      (#"{"errors":"Just text"}"#, nil, "Just text"),
      (
        #"{"title":"Forbidden","detail":"Not you","type":"about:blank","status":403}"#, nil,
        "Not you"
      ),
      (
        #"<?xml version="1.0"?><errors><error code="87">Client is not permitted</error></errors>"#,
        "87", "Client is not permitted"
      ),
      ("Failed to validate oauth signature", nil, "Failed to validate oauth signature"),
      ("<html><body>Sorry</body></html>", nil, nil), ("  <!DOCTYPE html>", nil, nil),
      (#"{"unknown":true}"#, nil, nil), (#"[{"code":1}]"#, nil, nil), ("", nil, nil),
      (#"{"errors":[]}"#, nil, nil), (#"{"errors":[{"code":true,"message":"x"}]}"#, nil, "x"),
    ] as [(String, String?, String?)])
  func shapes(body: String, code: String?, text: String?) async throws {
    let (problem, _) = try await chirp(.text(body, status: 401))
    #expect(problem.serverError == .init(status: 401, code: code, text: text))
  }

  @Test func `A code of the provider means something only in the provider's own shapes`()
    async throws
  {
    let (problem, account) = try await chirp(.json(#"{"code":64,"message":"m"}"#, status: 403))
    #expect(problem.reason == .providerFailure && account.health == .ok)
    #expect(problem.serverError == .init(status: 403, code: "64", text: "m"))
    // The control: a code of RFC 6749 counts in any shape.
    let (refused, _) = try await chirp(
      .json(#"{"code":"invalid_client","message":"m"}"#, status: 400))
    #expect(refused.reason == .authenticatorUnconfigured)
  }

  @Test("A suspended account is recognised in XML as well")
  func xmlCode() async throws {
    let (problem, account) = try await chirp(
      .text(#"<errors><error code="64">Suspended</error></errors>"#, status: 403))
    #expect(problem.reason == .accountBanned)
    #expect(account.health == .banned)
  }

  @Test(
    "A refused timestamp leads to advice on the clock, also in OAuth problem reporting")
  func timestampRefused() async throws {
    let (problem, account) = try await chirp(
      .text("oauth_problem=timestamp_refused&oauth_acceptable_timestamps=1-2", status: 401), at: 1)
    #expect(problem.advice == .checkClock)
    #expect(problem.serverError == .init(status: 401, code: "timestamp_refused"))
    #expect(account.health == .ok)
  }

  @Test("The provider's error text is cleaned and cut")
  func cleaning() async throws {
    let (problem, _) = try await chirp(
      .text("a\u{0}b\r\nc\u{202E}d\u{2028}e" + String(repeating: "é ", count: 200), status: 400))
    let text = try #require(problem.serverError?.text)
    #expect(text.hasPrefix("abcdeé é"))
    #expect(text.utf8.count <= 200)
    #expect(text.utf8.count > 196)
  }

  @Test(
    "An error code is cut at 64 bytes, and an error text at 200",
    arguments: [(64, 64, 200, 200), (65, 64, 201, 200), (63, 63, 199, 199)])
  func cutting(code: Int, shownCode: Int, text: Int, shownText: Int) async throws {
    func words(_ count: Int) -> String {
      String(String(repeating: "a word. ", count: 30).prefix(count - 1)) + "x"
    }
    let (problem, _) = try await chirp(
      .text(
        #"{"errors":[{"code":"\#(words(code))","message":"\#(words(text))"}]}"#, status: 400))
    #expect(problem.serverError?.code?.utf8.count == shownCode)
    #expect(problem.serverError?.text?.utf8.count == shownText)
  }

  @Test(
    "No secret of the request appears in an error",
    arguments: [
      "APP-SECRET", "SYS-SECRET", "SYS-TOKEN", "SYS-TOKEN-SECRET", "USER-TOKEN", "USER-SECRET",
      "RT-SECRET-VALUE", "USER\u{0}-TOK\u{7}EN", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA9",
    ])
  func scrubbing(secret: String) async throws {
    for body in [
      "bad token \(secret).", #"{"errors":[{"code":32,"message":"bad token \#(secret)."}]}"#,
    ] where !(secret.contains("\u{0}") && body.hasPrefix("{")) {
      let (problem, _) = try await chirp(.text(body, status: 401))
      let text = try #require(problem.serverError?.text)
      #expect(text.hasPrefix("bad token "))
      #expect(text.contains("…"))
      #expect(!text.contains("SECRET") && !text.contains("TOKEN") && !text.contains("AAA"))
    }
  }

  @Test("An error code that contains a secret is scrubbed too")
  func scrubbedCode() async throws {
    let (problem, _) = try await chirp(
      .text(#"{"errors":[{"code":"APP-SECRET","message":"x"}]}"#, status: 401))
    #expect(problem.serverError?.code == "…")
  }

  @Test(
    "A provider's waiting time is reported, but at most 300 seconds",
    arguments: [
      (429, "Retry-After", "30", Problem.Reason.throttled, 30),
      (429, "Retry-After", "1", Problem.Reason.throttled, 1),
      (429, "Retry-After", "100000", .throttled, 300),
      (429, "Retry-After", "Fri, 14 Jul 2017 02:40:30 GMT", .throttled, 30),
      (429, "Retry-After", "Thu, 13 Jul 2017 02:40:30 GMT", .throttled, 0),
      (429, "Retry-After", "soon", .throttled, nil),
      (429, "X-Rate-Limit-Reset", "1500000060", .throttled, 60), (429, "X", "1", .throttled, nil),
      (503, "Retry-After", "30", .throttled, 30), (503, "X", "1", .providerFailure, nil),
      (500, "Retry-After", "30", .providerFailure, nil),
    ] as [(Int, String, String, Problem.Reason, Int?)])
  func limits(
    status: Int, name: String, value: String, reason: Problem.Reason, seconds: Int?
  ) async throws {
    let (problem, account) = try await chirp(
      .text("slow down", status: status, headers: [.init(name.lowercased(), value)]), at: 1)
    #expect(problem.reason == reason)
    #expect(problem.retryAfterSeconds == seconds)
    #expect(problem.isRetryable)
    #expect(account.health == .ok)
  }

  @Test(
    "Status 429 is a rate limit for any body",
    arguments: [
      "<html>", "{}", #"{"error":{"code":190}}"#, #"{"error":"temporarily_unavailable"}"#,
    ])
  func limitedStatus(body: String) async throws {
    for problem in [
      try await graph(.text(body, status: 429)).0, try await chirp(.text(body, status: 429)).0,
    ] {
      #expect(problem.reason == .throttled && problem.isRetryable)
    }
    // Negative control: the same body with another status.
    #expect(try await graph(.text(body, status: 400)).0.reason != .throttled)
  }

  @Test(
    "A status outside 200…299 is a failure, including redirects",
    arguments: [199, 301, 304, 400, 404, 418])
  func statuses(status: Int) async throws {
    let (problem, _) = try await chirp(.json(Sample.chirpIdentity, status: status))
    #expect(problem.reason == .providerFailure)
    #expect(problem.serverError?.status == status)
    #expect(!problem.isRetryable)
  }

  /// Returns the problem of a sign-in whose identity request gets this reply. A renewal is
  /// rejected.
  func graph(_ reply: Script.Reply) async throws -> (Problem, [String]) {
    let script = Script(
      [reply, Sample.graphError(100), .json("{}")],
      store: Sample.graphStore(issuedTo: ["APP"]))
    let request = PerformRequest(
      application: Sample.application, registration: Sample.registration, provider: "facebook",
      confirmsOnlyAccount: true)
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).perform(request, asking: script.asker([]))
    }
    return (try #require(problem), script.log)
  }

  @Test(
    "Every Facebook error code has its documented meaning",
    arguments: [
      (1, nil, Problem.Reason.providerFailure, true), (2, nil, .providerFailure, true),
      (3, nil, .providerFailure, false), (4, nil, .throttled, true), (9, nil, .throttled, true),
      (10, nil, .providerFailure, false), (17, nil, .throttled, true),
      (100, nil, .providerFailure, false), (102, 463, .providerFailure, false),
      (200, nil, .providerFailure, false), (341, nil, .throttled, true),
      (368, nil, .providerFailure, false), (190, nil, .reloginNeeded, false),
      (190, 452, .reloginNeeded, false), (190, 459, .reloginNeeded, false),
      (190, 460, .reloginNeeded, false), (190, 463, .reloginNeeded, false),
      (190, 467, .reloginNeeded, false), (190, 458, .interactionRequired, false),
    ] as [(Int, Int?, Problem.Reason, Bool)])
  func graphCodes(code: Int, subcode: Int?, reason: Problem.Reason, isRetryable: Bool) async throws
  {
    let (problem, _) = try await graph(Sample.graphError(code, subcode))
    #expect(problem.reason == reason)
    #expect(problem.isRetryable == isRetryable)
    guard reason == .providerFailure || reason == .throttled else { return }
    #expect(
      problem.serverError
        == .init(
          status: 400, code: "\(code)", subcode: subcode.map { "\($0)" },
          text: "OAuthException: No."))
  }

  @Test(
    "A checkpointed or unconfirmed person is advised to use the website", arguments: [459, 464])
  func checkpoint(subcode: Int) async throws {
    #expect(try await graph(Sample.graphError(190, subcode)).0.advice == .unlockOnWeb)
    #expect(try await graph(Sample.graphError(190, 460)).0.advice == nil)
  }

  @Test(
    "The body is read before the status, and only a complete error object counts",
    arguments: [
      (#"<html></html>"#, 400), ("", 500), ("[]", 400), ("nonsense", 200), (#""text""#, 200),
      (#"{"error":{"code":190,"type":"OAuthException"}}"#, 400),
      (#"{"error":{"code":190,"message":"m"}}"#, 400),
      (#"{"error":{"type":"OAuthException","message":"m"}}"#, 400),
      (#"{"error":{"code":"190","type":"OAuthException","message":"m"}}"#, 400),
      (#"{"error":{"code":190.0,"type":"OAuthException","message":"m"}}"#, 400),
      (#"{"error":"invalid_token"}"#, 401), ("{}", 500), ("{}", 200),
      (#"{"id":"42"}"#, 200), (#"{"name":"Ada"}"#, 200), (#"{"id":42,"name":"Ada"}"#, 200),
      (#"{"id":"","name":"Ada"}"#, 200), (#"{"id":"4\u0000","name":"Ada"}"#, 200),
    ])
  func bodyFirst(body: String, status: Int) async throws {
    let (problem, log) = try await graph(.text(body, status: status))
    #expect(problem.reason == .providerFailure)
    #expect(log == ["GET https://graph.facebook.com/v26.0/me?fields=id%2Cname%2Cemail"])
  }
}
