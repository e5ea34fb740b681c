internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The tables `login_refusal` and `server_setting`.
extension OwnServerStore {
  static func ofDatabase(_ shared: any SharedStore) -> OwnServerStore {
    OwnServerStore(
      refusals: { login throws(Problem) in
        try shared.read(.usual) { store throws(Problem) in
          try store.connection.refusal(of: login)?.refusals
        } ?? nil
      },
      isRefused: { login, password, since throws(Problem) in
        let refusal = try shared.read(.usual) { store throws(Problem) in
          try store.connection.refusal(of: login)
        }
        guard let refusal = refusal ?? nil, refusal.refusals.lastAt >= since else { return false }
        return try shared.read(.usual, withKey: true) { store throws(Problem) in
          try store.storeKey().isDigest(refusal.digest, of: password, for: login)
        } ?? false
      },
      noteRefusal: { login, password, now throws(Problem) in
        try shared.write(.usual, withKey: true) { store throws(Problem) in
          let digest = try store.storeKey().digest(of: password, for: login)
          try store.connection.addRefusal(of: login, digest, at: now)
          _ = try store.connection.nextRevision()
        }
      },
      forgetRefusals: { login throws(Problem) in
        _ = try shared.change(.usual) { store throws(Problem) in
          try store.connection.run(
            "DELETE FROM login_refusal WHERE server = ?1 AND username = ?2", .text(login.server),
            .text(login.username))
          return try store.connection.nextRevision()
        }
      },
      settings: { application, provider, patience throws(Problem) in
        try shared.read(patience, withKey: true) { store throws(Problem) -> ServerSettings? in
          let rows = try store.connection.serverSettings(of: application, at: provider)
          guard let row = rows.first, row.isAuthentic(under: try store.storeKey()) else {
            return nil
          }
          return row.settings
        } ?? nil
      },
      setSettings: { settings, application, provider throws(Problem) in
        try shared.write(.usual, withKey: true) { store throws(Problem) in
          let row = ServerSettingRow(
            application: application, provider: provider, settings: settings, digest: nil)
          try store.connection.put(row, under: try store.storeKey())
          _ = try store.connection.nextRevision()
        }
      })
  }

  /// The records of a store in memory.
  static func ofMemory() -> OwnServerStore {
    let memory = Lock<MemoryRows?>(nil)
    @Sendable func use<Value>(_ body: (inout MemoryRows) -> Value) -> Value {
      memory.withLock { rows in
        var used = rows ?? MemoryRows()
        defer { rows = used }
        return body(&used)
      }
    }
    return OwnServerStore(
      refusals: { login in use { $0.refusals[login]?.refusals } },
      isRefused: { login, password, since in
        use { rows in
          guard let refusal = rows.refusals[login], refusal.refusals.lastAt >= since else {
            return false
          }
          return rows.key.isDigest(refusal.digest, of: password, for: login)
        }
      },
      noteRefusal: { login, password, now in
        use { rows in
          rows.refusals = rows.refusals.filter { $0.value.refusals.lastAt >= now - keptSeconds }
          let count = rows.refusals[login]?.refusals.count ?? 0
          rows.refusals[login] = LoginRefusal(
            refusals: Refusals(count: count + 1, lastAt: now),
            digest: rows.key.digest(of: password, for: login))
        }
      },
      forgetRefusals: { login in use { $0.refusals[login] = nil } },
      settings: { application, provider, _ in use { $0.settings[[application, provider]] } },
      setSettings: { settings, application, provider in
        use { $0.settings[[application, provider]] = settings }
      })
  }
}

/// The rows of a store in memory, made with the first use, because a start must not load libcrypto.
private struct MemoryRows {
  let key = StoreKey(id: [], store: "memory", root: SecureRandom.secret(32))
  var refusals: [OwnServerStore.Login: LoginRefusal] = [:]
  var settings: [[String]: ServerSettings] = [:]
}

/// A row of `login_refusal`.
private struct LoginRefusal {
  var refusals: OwnServerStore.Refusals
  /// The keyed digest of the password that was refused last. It fits no password after a rotation of
  /// the key.
  var digest: [UInt8]
}

/// A row of `server_setting`. Its digest is keyed, because an edited server would get the password.
struct ServerSettingRow {
  var application: String
  var provider: String
  var settings: ServerSettings
  /// `nil` in a row of an older version.
  var digest: [UInt8]?

  fileprivate static let upsert = SQLiteConnection.upsert(
    "server_setting", key: ["application", "provider"],
    [
      "server", "port", "secure", "use_cookies", "accept_untrusted_certificates", "username",
      "digest",
    ])

  func isAuthentic(under key: StoreKey) -> Bool {
    digest.map { key.isDigest($0, ofSetting: text) } ?? false
  }

  fileprivate var text: [UInt8] {
    Canonical.bytes([
      Array(application.utf8), Array(provider.utf8), Array(settings.server.utf8),
      Canonical.optional(settings.port.map { "\($0)" }),
      Canonical.optional(settings.isSecure.map { "\($0)" }),
      [settings.usesCookies ? 1 : 0, settings.acceptsUntrustedCertificates ? 1 : 0],
      Canonical.optional(settings.username),
    ])
  }
}

extension OpenStore {
  /// Keys the digests of the settings with a new key. A row that was edited stays without a valid one.
  func resealSettings(from old: StoreKey, to new: StoreKey) throws(Problem) {
    for row in try connection.serverSettings() where row.isAuthentic(under: old) {
      try connection.put(row, under: new)
    }
  }
}

extension Database {
  fileprivate func refusal(of login: OwnServerStore.Login) throws(Problem) -> LoginRefusal? {
    try first(
      "SELECT count, last_at, digest FROM login_refusal WHERE server = ?1 AND username = ?2",
      .text(login.server), .text(login.username)
    ) { row throws(Problem) in
      LoginRefusal(
        refusals: .init(count: try row.integer(0), lastAt: try row.integer(1)),
        digest: try row.blob(2))
    }
  }

  fileprivate func addRefusal(
    of login: OwnServerStore.Login, _ digest: [UInt8], at now: UnixTime
  ) throws(Problem) {
    try run(
      "DELETE FROM login_refusal WHERE last_at < ?1", .integer(now - OwnServerStore.keptSeconds))
    try run(
      """
      INSERT INTO login_refusal (server, username, count, last_at, digest) VALUES (?1, ?2, 1, ?3, ?4)
      ON CONFLICT (server, username) DO UPDATE SET count = login_refusal.count + 1,
        last_at = ?3, digest = ?4
      """, .text(login.server), .text(login.username), .integer(now), .blob(digest))
  }

  /// Returns all settings, or those of an application at a provider.
  fileprivate func serverSettings(
    of application: String? = nil, at provider: String? = nil
  ) throws(Problem) -> [ServerSettingRow] {
    try all(
      """
      SELECT application, provider, server, port, secure, use_cookies,
        accept_untrusted_certificates, username, digest
      FROM server_setting
      WHERE (application = ?1 OR ?1 IS NULL) AND (provider = ?2 OR ?2 IS NULL)
      """, .optional(application), .optional(provider)
    ) { row throws(Problem) in
      ServerSettingRow(
        application: try row.text(0), provider: try row.text(1),
        settings: ServerSettings(
          server: try row.text(2), port: try row.optionalInteger(3).flatMap { UInt16(exactly: $0) },
          isSecure: try row.optionalInteger(4).map { $0 != 0 },
          usesCookies: try row.integer(5) != 0,
          acceptsUntrustedCertificates: try row.integer(6) != 0,
          username: try row.optionalText(7)), digest: try row.optionalBlob(8))
    }
  }

  fileprivate func put(_ row: ServerSettingRow, under key: StoreKey) throws(Problem) {
    let settings = row.settings
    try run(
      ServerSettingRow.upsert, .text(row.application), .text(row.provider), .text(settings.server),
      .optional(settings.port.map { Int64($0) }), .optional(settings.isSecure.map { $0 ? 1 : 0 }),
      .integer(settings.usesCookies ? 1 : 0),
      .integer(settings.acceptsUntrustedCertificates ? 1 : 0), .optional(settings.username),
      .blob(key.digest(ofSetting: row.text)))
  }
}
