import EinlassJSON
import Foundation
import Testing

/// Fifty requests that share 25 prompts. No request may get the answer to another prompt.
@Suite struct SharedPromptTests {
  private static let promptCount = 25
  private static let accountsPerProvider = 3

  @Test(arguments: [1, 2, 3] as [UInt64])
  func
    `Two requests share each of 25 prompts, half are cancelled, the others get their answers`(
      seed: UInt64
    ) throws
  {
    var random = Sequence(seed: seed)
    let folder = try TemporaryFolder()
    let providers = (0..<Self.promptCount).map { "provider-\($0)" }
    let overlay = try folder.file("providers.json", Self.catalog(of: providers))
    let front = try FrontEnd(["--store", "memory", "--providers", overlay])
    defer { front.terminate() }
    try front.initialize(providers)
    let accounts = try providers.map { try front.addAccounts(Self.accountsPerProvider, at: $0) }

    // Request 2k opens prompt k, and request 2k + 1 shares it.
    for request in 0..<(2 * Self.promptCount) {
      try front.send(
        id: "r\(request)", "auth.perform",
        ["provider": .string(providers[request / 2]), "credential": "none"])
    }
    var prompts: [Int: String] = [:]
    while prompts.count < Self.promptCount {
      let message = try front.next()
      guard message["method"]?.string == "prompt.opened" else { continue }
      let provider = try #require(message["params"]?["provider"]?.string)
      let index = try #require(providers.firstIndex(of: provider))
      #expect(prompts[index] == nil, "one prompt for two equal requests")
      prompts[index] = try #require(message["params"]?["prompt"]?.string)
    }
    try front.wait(forWaiting: 2 * Self.promptCount)

    // Half of the requests are cancelled, some of them openers, and for one prompt both.
    let half = (0..<(2 * Self.promptCount)).shuffled(using: &random).prefix(Self.promptCount - 2)
    let cancelled = Set(half).union([0, 1])
    try #require(cancelled.contains { $0 % 2 == 0 })
    var choice: [Int: String] = [:]
    for step in ((0..<(2 * Self.promptCount)).map { $0 }).shuffled(using: &random) {
      if cancelled.contains(step) {
        try front.notify("$/cancelRequest", ["id": .string("r\(step)")])
      }
    }
    try front.wait(forWaiting: 2 * Self.promptCount - cancelled.count)
    for index in (0..<Self.promptCount).shuffled(using: &random) {
      let account = try #require(accounts[index].randomElement(using: &random))
      choice[index] = account
      try front.send(
        id: "a\(index)", "prompt.answer",
        [
          "prompt": .string(prompts[index] ?? ""), "action": "accept", "account": .string(account),
        ])
    }

    var answers: [String: JSONValue] = [:]
    while answers.count < 3 * Self.promptCount {
      let message = try front.next()
      guard let id = message["id"]?.string else { continue }
      #expect(answers[id] == nil, "\(id) was answered twice")
      answers[id] = message
    }
    for request in 0..<(2 * Self.promptCount) {
      let answer = try #require(answers["r\(request)"])
      if cancelled.contains(request) {
        #expect(answer["error"]?["code"]?.int64 == -32800, "r\(request)")
      } else {
        #expect(answer["result"]?["account"]?.string == choice[request / 2], "r\(request)")
      }
    }
    for index in 0..<Self.promptCount {
      let isAbandoned = cancelled.isSuperset(of: [2 * index, 2 * index + 1])
      #expect((answers["a\(index)"]?["error"]?["code"]?.int64 == 1023) == isAbandoned)
    }
    try front.closeInput()
    #expect(try front.exitCode() == 0)
  }

  /// Returns a catalogue with a copy of the first built-in provider for each of these ids.
  private static func catalog(of ids: [String]) throws -> String {
    let file = projectFolder.appending(path: "Sources/Einlass/Descriptors/providers.json")
    let catalog = try JSONReader.read(Array(Data(contentsOf: file)))
    var template = try #require(catalog["providers"]?.array?.first?.object)
    let providers = ids.map { id -> JSONValue in
      template["id"] = .string(id)
      template["aliases"] = nil
      return .object(template)
    }
    return (["providers": .array(providers)] as JSONValue).text
  }
}

extension FrontEnd {
  fileprivate func initialize(_ providers: [String]) throws {
    let registration: JSONValue = ["clientId": "id", "clientSecret": "secret"]
    _ = try call(
      "initialize",
      [
        "client": ["name": "conformance"], "capabilities": ["prompts": ["selectAccount"]],
        "applications": .object(JSONObject(providers.map { ($0, registration) })),
      ])
  }

  fileprivate func addAccounts(_ count: Int, at provider: String) throws -> [String] {
    _ = try call("access.set", ["provider": .string(provider), "state": "granted"])
    return try (0..<count).map { number in
      let result = try call(
        "accounts.add",
        [
          "provider": .string(provider), "username": .string("user-\(number)"),
          "credential": [
            "type": "oauth1", "key": "key", "secret": "secret", "clientId": "system",
            "clientSecret": "secret",
          ],
        ])
      return try #require(result["account"]?.string)
    }
  }

  /// Waits until this number of requests waits for a person, because tasks reach their prompts at
  /// different times.
  fileprivate func wait(forWaiting count: Int) throws {
    for _ in 0..<10_000 {
      let prompts = try call("prompt.list")["prompts"]?.array ?? []
      if prompts.reduce(0, { $0 + ($1["flows"]?.array?.count ?? 0) }) == count { return }
    }
    throw SpawnedProgram.Failure(description: "Never \(count) requests waited.")
  }
}

/// A random generator with a seed, so that a failure can be repeated.
private struct Sequence: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
