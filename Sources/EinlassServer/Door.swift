public import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// A narrow connection for a program that is not trusted. The parent of the process fixes the name
/// of the application, its accounts, its methods and the end; the front end changes none of them.
///
/// The door is the grant itself, so nothing is stored. The engine sees a store with these accounts
/// alone.
public struct Door: Sendable {
  /// The methods with answers about one account, or with filtered ones.
  public static let methods = [
    "services.resolve", "credentials.get", "credentials.sign", "credentials.reject",
    "accounts.list",
  ]

  /// The application that the front end is.
  public var application: String
  /// Some of `Door.methods`.
  public var methods: [String]
  public var accounts: [Account.ID]
  /// The end by the wall clock; `nil` for the end of the process.
  public let end: UnixTime?
  /// The same end by a clock that nobody sets back.
  private let bootEnd: Int64
  private let bootSeconds: @Sendable () -> Int64

  /// - Parameters:
  ///   - now: the time at which the door opens.
  ///   - bootSeconds: the clock that counts the seconds since the start of the machine.
  public init(
    application: String, methods: [String], accounts: [Account.ID], end: UnixTime? = nil,
    now: UnixTime, bootSeconds: @escaping @Sendable () -> Int64
  ) {
    (self.application, self.methods, self.accounts) = (application, methods, accounts)
    (self.end, self.bootSeconds) = (end, bootSeconds)
    bootEnd = end.map { bootSeconds() + max(0, $0 - now) } ?? .max
  }

  /// Whether the end has come by one of the two clocks.
  func hasEnded(at now: UnixTime) -> Bool {
    guard let end else { return false }
    return end <= now || bootEnd <= bootSeconds()
  }

  /// Returns the state of the store that the door shows. Positions and the revision would tell of
  /// other accounts, so they are its own.
  func snapshot(
    _ reader: any StoreReader, at now: UnixTime
  ) throws(Problem) -> AccountStore.Snapshot {
    guard !hasEnded(at: now) else { return AccountStore.Snapshot() }
    var found: [Account] = []
    for id in accounts { if let account = try reader.account(id) { found.append(account) } }
    found.sort { $0.position < $1.position }
    for index in found.indices { found[index].position = Int64(index) }
    let grants = Set(found.map(\.provider)).map { provider in
      AccessGrant(
        application: application, provider: provider, state: .granted,
        accounts: found.filter { sameBytes($0.provider, provider) }.map(\.id), changedAt: 0)
    }
    return AccountStore.Snapshot(
      accounts: found, grants: grants, registrations: try reader.registrations)
  }

  /// Returns the methods of the door, and `initialize`.
  func narrowed(_ all: [Method]) -> [Method] {
    let names = ["initialize"] + methods
    return all.filter { names.contains($0.descriptor.name) }
  }

  /// Whether the parameters of a request name an account outside of the door. The account of
  /// `services.resolve` may be a user name, which is looked for among the accounts of the door alone.
  private func excludes(_ params: JSONObject, of method: String) -> Bool {
    guard let id = params["account"]?.string else { return false }
    if method == "services.resolve", !(id.hasPrefix("a_") && id.utf8.count == 24) { return false }
    return !accounts.contains(Account.ID(rawValue: id))
  }

  /// Throws for a request after the end, and for an account outside of the door, before the store is
  /// opened.
  func admit(_ method: String, _ params: JSONObject, at now: UnixTime) throws(RPCError) {
    guard method != "initialize" else { return }
    guard !hasEnded(at: now) else { throw RPCError(Problem.doorEnded) }
    guard !excludes(params, of: method) else { throw RPCError(Problem.outsideDoor) }
  }
}

extension AccountStore {
  /// Returns the same store with the accounts of the door alone.
  func behind(_ door: Door?, now: @escaping @Sendable () -> UnixTime) -> AccountStore {
    guard let door else { return self }
    return with(reading: { [reading] patience, body throws(Problem) in
      try reading(patience) { reader throws(Problem) in
        try body(try door.snapshot(reader, at: now()))
      }
    })
  }
}

extension Server {
  /// Throws if the door has ended since the request began.
  func requireOpenDoor() throws(Problem) {
    if let door, door.hasEnded(at: effects.now()) { throw .doorEnded }
  }

  /// Records the beginning of the door in the audit trail. If this throws, the door must not open.
  public func openDoor() throws(Problem) {
    if let door { try audit.record(AuditEvent("door.open", door)) }
  }

  /// Records the end of the door.
  public func closeDoor() {
    if let door { audit.note(AuditEvent("door.close", door)) }
  }

  /// The check of each request; `nil` without a door.
  var gate: (@Sendable (String, JSONObject) throws(RPCError) -> Void)? {
    guard let door else { return nil }
    return { [effects] method, params throws(RPCError) in
      try door.admit(method, params, at: effects.now())
    }
  }

  /// The answer to `initialize` of a front end behind a door. It names nothing of the store.
  var narrowGreeting: JSONValue {
    let names = Lifecycle.allCases.map(\.rawValue) + methodNames.withLock { $0 }
    return [
      "protocolVersion": 1,
      "server": ["name": "einlass", "version": .string(version)],
      "capabilities": [
        "methods": JSONValue(names), "notifications": [], "prompts": [], "changes": false,
        "network": false,
      ],
      "understood": ["prompts": [], "changes": false, "network": false, "users": false],
      "limits": Limits.json, "store": [:],
    ]
  }
}

extension Problem {
  /// The grant of the door has ended.
  static let doorEnded = Problem(.accessNotGranted, "The time of this door is over.")
  /// An account that the door does not have, whether it exists or not.
  static let outsideDoor = Problem(.unknownAccount, "This door has no such account.")
}
