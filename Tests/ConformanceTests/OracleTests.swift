import EinlassJSON
import Foundation
import Testing

/// The spawned program against independent providers: oauthlib, and a server on Python's standard
/// library. Neither shares code with the sandbox.
@Suite struct OracleTests {
  @Test func `Reverse auth takes three requests against oauthlib, and verify takes one`() throws {
    let oracle = try Oracle("oauth1_server.py")
    defer { oracle.terminate() }
    let front = try oracle.frontEnd()
    defer { front.terminate() }
    let credential = try front.signIn("twitter")
    #expect(
      try oracle.requests() == [
        "POST /oauth/request_token 200", "POST /oauth/access_token 200",
        "GET /1.1/account/verify_credentials.json 200",
      ])
    for (member, expected) in oracle.identity.members.map({ ($0.name, $0.value) }) {
      #expect(credential[member] == expected, "\(member)")
    }
    let key = try #require(credential["key"])
    let secret = try #require(credential["secret"])
    let verification = try front.call(
      "verify",
      ["provider": "twitter", "credential": ["type": "oauth1", "key": key, "secret": secret]])
    #expect(verification["valid"]?.bool == true)
    #expect(verification["identity"]?["id"] == oracle.identity["id"])
    #expect(try oracle.requests().count == 4)
  }

  @Test func `A wrong signature is refused by oauthlib`() throws {
    let oracle = try Oracle("oauth1_server.py")
    defer { oracle.terminate() }
    let front = try oracle.frontEnd { configuration in
      configuration["applications"] = [
        "*": ["twitter": ["clientId": "app-consumer", "clientSecret": "a wrong secret"]]
      ]
    }
    defer { front.terminate() }
    let error = try #require(try front.tryToSignIn("twitter")["error"])
    #expect(error["code"]?.int64 == 1008)
    #expect(error["data"]?["serverError"]?["status"]?.int64 == 401)
    #expect(try oracle.requests() == ["POST /oauth/request_token 401"])
    let good = try oracle.frontEnd()
    defer { good.terminate() }
    let key = try #require(good.signIn("twitter")["key"])
    let verification = try good.call(
      "verify",
      ["provider": "twitter", "credential": ["type": "oauth1", "key": key, "secret": "wrong"]])
    #expect(verification["valid"]?.bool == false)
  }

  @Test func `A system token is obtained, used and verified against the standard library's server`()
    throws
  {
    let oracle = try Oracle("facebook_server.py")
    defer { oracle.terminate() }
    let front = try oracle.frontEnd()
    defer { front.terminate() }
    let credential = try front.signIn("facebook")
    #expect(
      try oracle.requests() == ["POST /oauth/access_token 200", "GET /v26.0/me 200"])
    for (member, expected) in oracle.identity.members.map({ ($0.name, $0.value) }) {
      #expect(credential[member] == expected, "\(member)")
    }
    let token = try #require(credential["token"])
    let verification = try front.call(
      "verify", ["provider": "facebook", "credential": ["type": "oauth2", "token": token]])
    #expect(verification["valid"]?.bool == true)
    #expect(
      try oracle.requests().suffix(2) == ["GET /debug_token 200", "GET /v26.0/me 200"])
  }

  @Test(arguments: ["expired", "ofAnotherApplication", "unknown"])
  func `An invalid token is a result of verify and not an error`(token: String) throws {
    let oracle = try Oracle("facebook_server.py")
    defer { oracle.terminate() }
    let front = try oracle.frontEnd()
    defer { front.terminate() }
    let value = try #require(oracle.ready["tokens"]?[token])
    let verification = try front.call(
      "verify", ["provider": "facebook", "credential": ["type": "oauth2", "token": value]])
    #expect(verification["valid"]?.bool == false)
    if token == "ofAnotherApplication" {
      #expect(
        verification["checks"]?.array?.contains {
          $0["check"]?.string == "application" && $0["ok"]?.bool == false
        } == true)
    }
  }

  @Test func `A wrong client secret makes an appsecret_proof that the server refuses`() throws {
    let oracle = try Oracle("facebook_server.py")
    defer { oracle.terminate() }
    let good = try oracle.frontEnd()
    defer { good.terminate() }
    let token = try #require(good.signIn("facebook")["token"])
    let clientID = try #require(
      oracle.ready["config"]?.at(pointer: "/applications/*/facebook/clientId"))
    let front = try oracle.frontEnd { configuration in
      configuration["applications"] = [
        "*": ["facebook": ["clientId": clientID, "clientSecret": "wrong"]]
      ]
    }
    defer { front.terminate() }
    let answer = try front.answer(
      "verify", ["provider": "facebook", "credential": ["type": "oauth2", "token": token]])
    #expect(answer["result"]?["valid"]?.bool != true)
    let refused = try #require(try oracle.requests().last)
    #expect(refused.hasPrefix("GET /debug_token 4"))
  }
}

/// A running server from `Tests/Oracles`.
private final class Oracle {
  let ready: JSONValue
  private let program: SpawnedProgram
  private let folder: TemporaryFolder

  init(_ name: String) throws {
    let script = projectFolder.appending(path: "Tests/Oracles/\(name)").path
    let python = ProcessInfo.processInfo.environment["EINLASS_PYTHON"] ?? "python3"
    program = try SpawnedProgram(python, [script, "0"])
    guard let line = try program.line() else {
      throw SpawnedProgram.Failure(
        description: "\(name) did not start; Tests/run installs what it needs. \(program.logged)")
    }
    ready = try JSONReader.read(line)
    folder = try TemporaryFolder()
  }

  var identity: JSONObject { ready["identity"]?.object ?? [:] }

  func terminate() { program.terminate() }

  /// Returns `METHOD path status` of each request so far.
  func requests() throws -> [String] {
    let address = try #require(ready["log"]?.string.flatMap { URL(string: $0) })
    let log = try #require(JSONReader.read(Array(Data(contentsOf: address))).array)
    return log.map {
      "\($0["method"]?.string ?? "") \($0["path"]?.string ?? "") \($0["status"]?.int64 ?? 0)"
    }
  }

  func frontEnd(_ change: (inout JSONObject) -> Void = { _ in }) throws -> FrontEnd {
    var configuration = ready["config"]?.object ?? [:]
    change(&configuration)
    let file = try folder.file(
      "\(UUID().uuidString).json", JSONValue.object(configuration).text)
    let front = try FrontEnd(["--store", "memory", "--config", file])
    try front.call(
      "initialize",
      [
        "client": ["name": "oracle"],
        "capabilities": ["prompts": ["grantAccess", "selectAccount", "confirmAccount"]],
      ])
    for account in ready["accounts"]?.array ?? [] { try front.call("accounts.add", account) }
    return front
  }
}

extension FrontEnd {
  /// Signs in, accepts every prompt, and returns the credential.
  fileprivate func signIn(_ provider: String) throws -> JSONValue {
    let answer = try tryToSignIn(provider)
    guard let credential = answer["result"]?["credential"] else { throw Refused(answer: answer) }
    return credential
  }

  fileprivate func tryToSignIn(_ provider: String) throws -> JSONValue {
    try send(id: "sign-in", "auth.perform", ["provider": .string(provider)])
    while true {
      let message = try next()
      if message["id"]?.string == "sign-in" { return message }
      guard message["method"]?.string == "prompt.opened", let prompt = message["params"] else {
        continue
      }
      try call(
        "prompt.answer",
        .object(
          JSONObject(present: [
            "prompt": prompt["prompt"], "action": "accept",
            "account": prompt["accounts"]?.array?.first?["account"],
          ])))
    }
  }
}
