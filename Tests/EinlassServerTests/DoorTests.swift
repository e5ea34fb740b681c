import Einlass
import EinlassCrypto
import EinlassJSON
import EinlassRPC
import EinlassSystem
import TestSupport
import Testing

@testable import EinlassServer

/// A narrow door: the accounts, the methods and the time of a front end that is not trusted.
@Suite struct DoorTests {
  private static let ada = Account(
    id: Account.ID(rawValue: "a_ada0000000000000000000"), provider: "github", username: "ada",
    isSignedIn: true, addedAt: 1, position: 7, preferredBy: ["git"])
  private static let bob = Account(
    id: Account.ID(rawValue: "a_bob0000000000000000000"), provider: "github", username: "bob",
    isSignedIn: true, addedAt: 1, position: 3)

  /// A store that counts the reads.
  private static func store(_ reads: Lock<Int>) -> AccountStore {
    let scripted = ScriptedStore(accounts: [ada, bob]).accountStore
    return scripted.with(reading: { patience, body throws(Problem) in
      reads.withLock { $0 += 1 }
      try scripted.reading(patience, body)
    })
  }

  private static func door(
    until end: UnixTime? = nil, bootSeconds: @escaping @Sendable () -> Int64 = { 0 }
  ) -> Door {
    Door(
      application: "agent", methods: Door.methods, accounts: [ada.id], end: end,
      now: TestSupport.Script.now, bootSeconds: bootSeconds)
  }

  private static let nowhere = Problem(.internal, "Nobody asks for this here.")
  private static let unused = AuditLines(
    append: { _, _ in }, isFree: { true }, part: { _, _ in nil }, remove: { _, _ in 0 })
  private static let nothingAdded = ProviderOverlay(
    read: { () throws(Problem) in nil }, change: { _ throws(Problem) in throw nowhere })
  private static let noFiles = AccountsFiles(
    prepare: { _, _ throws(Problem) in throw nowhere },
    write: { _, _, _ throws(Problem) in throw nowhere },
    read: { _ throws(Problem) in throw nowhere })

  private static func answers(_ requests: [(String, JSONObject)], _ reads: Lock<Int>) throws
    -> [JSONValue]
  {
    var parts = Server.Parts(
      catalog: .builtIn, store: store(reads), audit: unused, files: noFiles, overlay: nothingAdded,
      effects: TestSupport.Script().effects, version: "test")
    parts.door = door()
    let lines = requests.enumerated().map { index, request in
      let message: JSONValue = [
        "jsonrpc": "2.0", "id": JSONValue(Int64(index)), "method": .string(request.0),
        "params": .object(request.1),
      ]
      return message.text + "\n"
    }
    let input = try Descriptor.memory(holding: Array(lines.joined().utf8))
    let output = try Descriptor.memory()
    let copy = try Descriptor.duplicate(output.number)
    var options = Peer.Options()
    options.finishesWork = true
    _ = try Server(parts).serve(
      StandardStreams(input: input, output: output), signals: nil, options: options)
    return try copy.contents().split(separator: UInt8(ascii: "\n")).map { try JSONReader.read($0) }
      .sorted { ($0["id"]?.int64 ?? 0) < ($1["id"]?.int64 ?? 0) }
  }

  @Test(arguments: [
    "credentials.get", "credentials.reject", "credentials.sign", "services.resolve",
  ])
  func `An account outside of the door and an unknown one get the same bytes without a read`(
    method: String
  ) throws {
    func params(_ account: String) -> JSONObject {
      switch method {
      case "services.resolve": ["provider": "github", "account": .string(account)]
      case "credentials.sign":
        ["account": .string(account), "method": "GET", "url": "https://api.github.com/user"]
      default: ["account": .string(account)]
      }
    }
    let reads = Lock(0)
    let found = try Self.answers(
      [Self.bob.id.rawValue, "a_eve0000000000000000000"].map { (method, params($0)) }, reads)
    let error: JSONValue = [
      "code": 1021, "message": "unknownAccount", "data": ["reason": "unknownAccount"],
    ]
    #expect(found.map { $0["error"] } == [error, error])
    #expect(reads.withLock { $0 } == 0)
    // The control: an account of the door is read.
    _ = try Self.answers([(method, params(Self.ada.id.rawValue))], reads)
    #expect(reads.withLock { $0 } > 0)
  }

  @Test func `The engine sees a store with the accounts and the grant of the door alone`() throws {
    let store = Self.store(Lock(0)).behind(Self.door(), now: { TestSupport.Script.now })
    let (accounts, revision, named, grant, others) = try store.read { reader throws(Problem) in
      (
        try reader.accounts(of: nil, after: .min, limit: 10), try reader.revision,
        try reader.accounts(of: "github", username: "bob", limit: 1),
        try reader.grant(.init(provider: "github", application: "agent")),
        try reader.grant(.init(provider: "github", application: "git"))
      )
    }
    #expect(accounts.map(\.id) == [Self.ada.id] && accounts.map(\.position) == [0])
    #expect(revision == 0 && named.isEmpty && others == nil)
    #expect(grant?.state == .granted && grant?.accounts == [Self.ada.id])
  }

  /// The seconds that each clock has moved since the door opened for 60 s.
  @Test(
    arguments: [
      (0, 0, false), (59, 59, false), (60, 60, true), (60, 0, true), (0, 60, true),
      // The wall clock was set back, and set ahead; the machine was suspended.
      (-3600, 60, true), (-3600, 59, false), (3600, 1, true), (61, 61, true),
    ] as [(Int64, Int64, Bool)])
  func `A door ends by the clock that comes first`(wall: Int64, boot: Int64, isOver: Bool) {
    let seconds = Lock<Int64>(1000)
    let now = TestSupport.Script.now
    let door = Self.door(until: now + 60, bootSeconds: { seconds.withLock { $0 } })
    seconds.withLock { $0 += boot }
    #expect(door.hasEnded(at: now + wall) == isOver)
    #expect(!Self.door().hasEnded(at: .max))
  }
}
