internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// An entry of the audit trail: the credential or decision, its application and its account. It
/// never holds a secret.
struct AuditEvent {
  var application: String
  var method: String
  var provider: String?
  var account: Account.ID?
  /// The registration of the credential.
  var clientID: String?
  /// The kind of the handed-out credential, as its `type` on the wire.
  var credential: String?
  /// The handed-out credential. The trail contains only a digest of its token.
  @Indirect var handed: Credential?
  /// Further values that were handed out with the credential.
  var includes: [AccessGrant.Inclusion] = []
  /// The application of an access decision.
  var subject: String?
  /// The access decision.
  var state: String?
  /// The number of entries or accounts.
  var count: Int64?
  /// The method, host and path of a signed request.
  @Indirect var request: String?
  @Indirect var door: Door?
}

extension AuditEvent {
  /// Makes the entry for the beginning or the end of a door.
  init(_ method: String, _ door: Door) {
    self.init(application: door.application, method: method)
    self.door = door
  }

  /// Makes the entry for a credential that an application receives.
  init(
    _ method: String, handing credential: Credential, of account: Account,
    to application: String, clientID: String?
  ) {
    self.init(
      application: application, method: method, provider: account.provider, account: account.id,
      clientID: clientID, handed: credential)
    switch credential {
    case .oauth1: self.credential = "oauth1"
    case .session: self.credential = "session"
    case .oauth2(let credential):
      self.credential = "oauth2"
      if credential.refreshToken != nil { includes = [.refreshToken] }
    }
  }
}

/// Records which application received which credential, before the credential is handed out.
final class AuditTrail: Sendable {
  private let lines: AuditLines
  private let key: @Sendable (AccountStore.Patience) throws(Problem) -> Secret?
  private let knownKey = Lock<Secret?>(nil)
  private let isRequired: Bool
  private let now: @Sendable () -> UnixTime
  private let log: Lock<Log>
  /// The message of the last warning about lines that are not sent.
  private let warned = Lock<String?>(nil)

  /// - Parameters:
  ///   - key: Returns the key of the token digests.
  ///   - isRequired: Whether a failed record keeps the credential from being handed out.
  ///   - log: The log for failed records.
  init(
    _ lines: AuditLines,
    key: @escaping @Sendable (AccountStore.Patience) throws(Problem) -> Secret?,
    isRequired: Bool, now: @escaping @Sendable () -> UnixTime, log: Lock<Log>
  ) {
    self.lines = lines
    self.key = key
    self.isRequired = isRequired
    self.now = now
    self.log = log
  }

  /// Records a credential. If this throws, the credential must not be handed out.
  func record(
    _ event: AuditEvent, _ patience: AccountStore.Patience = .usual
  ) throws(Problem) {
    do throws(Problem) {
      try lines.append(line(event, patience), patience)
      warnOfUnsentLines()
    } catch {
      if error.isLockedStore, patience == .none { throw error }
      log.withLock { $0 }.warning("audit", "the entry was not written: \(error.message)")
      if isRequired { throw error }
    }
  }

  /// Logs once that a database refuses the lines. An interruption is not logged, because the lines
  /// are sent after it.
  private func warnOfUnsentLines() {
    let problem = lines.sendingProblem().flatMap { $0.isRetryable ? nil : $0.message }
    let isNew = warned.withLock { warned in
      defer { warned = problem }
      return warned != problem
    }
    guard isNew, let problem else { return }
    log.withLock { $0 }.warning("audit", "entries wait on this machine: \(problem)")
  }

  /// Records an action that is already done. Failures are logged only.
  func note(_ event: AuditEvent) { try? record(event) }

  /// Makes a change and records it. Without patience it returns `nil` and changes nothing while the
  /// trail is locked. Failures after the change are logged only.
  func note<Success>(
    _ event: AuditEvent, _ patience: AccountStore.Patience,
    of change: () throws(Problem) -> Success
  ) throws(Problem) -> Success? {
    // The trail is not held during the change, because a process that stops in a write of the store
    // would then delay the credentials of every other one.
    if patience == .none, !lines.isFree() { return nil }
    let success = try change()
    note(event)
    return success
  }

  private func digest(_ credential: Credential, _ patience: AccountStore.Patience) -> String? {
    let current = try? key(patience)
    let found = knownKey.withLock { known in
      // While the store is locked, use the last key that was read.
      if let current { known = current }
      return known
    }
    return found.map { credential.tokenDigest(key: $0) }
  }

  private func line(_ event: AuditEvent, _ patience: AccountStore.Patience) -> [UInt8] {
    JSONValue.object(
      JSONObject(present: [
        "at": JSONValue(now()), "application": .string(event.application),
        "method": .string(event.method), "provider": event.provider.map(JSONValue.string),
        "account": event.account.map { .string($0.rawValue) },
        "clientId": event.clientID.map(JSONValue.string),
        "credential": event.credential.map(JSONValue.string),
        "tokenDigest": event.handed.flatMap { digest($0, patience) }.map(JSONValue.string),
        "includes": event.includes.isEmpty ? nil : JSONValue(event.includes.map(\.rawValue)),
        "subject": event.subject.map(JSONValue.string),
        "state": event.state.map(JSONValue.string), "count": event.count.map { JSONValue($0) },
        "request": event.request.map(JSONValue.string),
        "methods": (event.door?.methods).map { JSONValue($0) },
        "accounts": event.door.map { JSONValue($0.accounts.map(\.rawValue)) },
        "until": (event.door?.end).map { JSONValue($0) },
        "process": JSONValue(Int64(ThisProcess.id)),
        "parent": .string(ThisProcess.parentExecutable),
      ])
    ).bytes()
  }
}

// MARK: - Asking

extension AuditTrail {
  /// The number of parts read for one page, which bounds the cost of a request.
  private static let partLimit = 8

  /// Returns a page of the entries that match these parameters of `audit.list`, newest first; `nil`
  /// for an invalid cursor.
  func page(
    _ params: JSONObject, _ patience: AccountStore.Patience
  ) throws(Problem) -> JSONObject? {
    var cursor = params[.cursor]
    var found: [(position: String, entry: JSONValue)] = []
    var hasMore = true
    for _ in 0..<Self.partLimit where hasMore && found.count < params[.limit] ?? 100 {
      guard let part = try lines.part(cursor, patience) else { return nil }
      for line in part.lines.reversed() {
        guard let entry = try? JSONReader.read(line.bytes), entry.fits(params) else { continue }
        found.append((line.position, entry))
      }
      cursor = part.lines.first?.position ?? cursor
      hasMore = part.hasMore
    }
    var page = Pages.page(
      "entries", found, limit: params[.limit] ?? 100, log: log.withLock { $0 },
      cursor: \.position, encode: \.entry)
    if page["nextCursor"] == nil, hasMore { page["nextCursor"] = cursor.map(JSONValue.string) }
    return page
  }

  /// Removes the entries before this time and returns their number.
  func prune(
    before time: UnixTime, _ patience: AccountStore.Patience
  ) throws(Problem) -> Int {
    try lines.remove(patience) { line in
      // Lines that are no entries are removed too.
      (try? JSONReader.read(line))?["at"]?.int64.map { $0 < time } ?? true
    }
  }
}

extension JSONValue {
  /// Whether the entry matches the parameters of `audit.list`.
  fileprivate func fits(_ params: JSONObject) -> Bool {
    guard let at = self["at"]?.int64 else { return false }
    let isEqual = AuditFilter.equal.allSatisfy { filter in
      params[filter].map { .string($0) == self[filter.field.name] } ?? true
    }
    return isEqual && params[AuditFilter.since] <= at && at < params[AuditFilter.before]
  }
}
