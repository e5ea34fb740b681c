internal import Einlass
internal import EinlassSystem

/// The tables in place of the files beside an SQLite store.
extension BegunRenewals {
  static func inPostgres(_ shared: PostgresStore) -> BegunRenewals {
    let schema = "\"\(shared.address.schema)\""
    let table = "\(schema).begun_renewal"
    let own = Lock(Set<BegunRenewal>())
    return BegunRenewals(
      begin: { begun in
        own.withLock { _ = $0.insert(begun) }
        // Not waited for, because the request to the provider takes longer.
        try? shared.alone(by: .record) { connection throws(Problem) in
          connection.send(
            script: """
              SET LOCAL lock_timeout = 200;
              INSERT INTO \(table) (account, generation)
              VALUES (\(PostgresConnection.literal(begun.account.rawValue)), \(begun.generation))
              ON CONFLICT DO NOTHING
              """)
        }
      },
      end: { begun in
        let delete = """
          DELETE FROM \(table) WHERE generation = \(begun.generation)
            AND account = \(PostgresConnection.literal(begun.account.rawValue))
          """
        if own.withLock({ $0.remove(begun) }) != nil {
          // The lease of this process ends next.
          shared.atEndOfLease(delete)
        } else {
          _ = try? shared.run(delete, by: .record)
        }
      },
      all: {
        // Each change of the store leads to this look, and at a locked table the looks would add up.
        let rows = try? shared.run(
          """
          SET LOCAL lock_timeout = 100; SELECT account, generation FROM \(table) WHERE NOT EXISTS
            (SELECT 1 FROM \(schema).lease WHERE name = account AND until > clock_timestamp())
          """, by: .record)
        return Set(
          (rows ?? []).compactMap { row in
            guard case .text(let account) = row[0], case .integer(let generation) = row[1] else {
              return nil
            }
            return BegunRenewal(account: Account.ID(rawValue: account), generation: generation)
          })
      },
      contains: { begun in
        let rows = try? shared.run(
          "SELECT 1 FROM \(table) WHERE account = ?1 AND generation = ?2",
          .text(begun.account.rawValue), .integer(begun.generation), by: .record)
        return rows?.isEmpty == false
      })
  }
}

extension FailedSignIns {
  static func inPostgres(_ shared: PostgresStore) -> FailedSignIns {
    let table = "\"\(shared.address.schema)\".failed_sign_in"
    return FailedSignIns(
      last: { name in
        let rows = try? shared.run(
          "SELECT contents FROM \(table) WHERE name = ?1", .text(name), by: .record)
        guard case .blob(let bytes)? = rows?.first?[0] else { return nil }
        return Failure(bytes)
      },
      record: { name, failure in
        _ = try? shared.run(
          """
          INSERT INTO \(table) (name, contents) VALUES (?1, ?2)
          ON CONFLICT (name) DO UPDATE SET contents = ?2
          """, .text(name), .blob(failure.bytes), by: .record)
      })
  }
}

extension Deadline {
  /// The limit for a record that a request does without.
  fileprivate static var record: Deadline { Deadline(milliseconds: 5_000) }
}

extension ProviderOverlay {
  /// The added providers travel with the reads of the store, so that no look at them waits for the
  /// network.
  static func inPostgres(_ shared: PostgresStore) -> ProviderOverlay {
    ProviderOverlay(
      stamp: { [shared.kept.overlay?.number ?? 0] },
      read: { () throws(Problem) in
        if shared.kept.overlay == nil {
          // One attempt: the server may hang.
          shared.kept.overlay = .init(number: 0)
          _ = try shared.read(.usual) { _ throws(Problem) in }
        }
        return shared.kept.overlay?.text
      },
      change: { edit throws(Problem) in
        while try !shared.replaceOverlay(edit) {}
      })
  }
}

extension PostgresStore {
  /// Returns `false` if another machine has changed the added providers during the edit. The edit
  /// runs without a lock, because it may read and write the store.
  fileprivate func replaceOverlay(
    _ edit: ([UInt8]?) throws(Problem) -> [UInt8]
  ) throws(Problem) -> Bool {
    let found = try read(.usual, withKey: false) { store throws(Problem) in
      try store.connection.overlay()
    }
    let former = found ?? nil
    let number = (former?.number ?? 0) &+ 1
    let text = try edit(former?.text)
    let isReplaced = try write(.usual) { store throws(Problem) in
      guard try store.connection.overlay()?.number == former?.number else { return false }
      try store.connection.run(
        PostgresConnection.upsert("provider_overlay", key: ["id"], ["number", "contents"]),
        .integer(1), .integer(number), .blob(text))
      _ = try store.connection.nextRevision()
      return true
    }
    if isReplaced { kept.overlay = .init(number: number, text: text) }
    return isReplaced
  }
}

extension Database {
  func overlay() throws(Problem) -> (number: Int64, text: [UInt8])? {
    try first("SELECT number, contents FROM provider_overlay WHERE id = 1") { row throws(Problem) in
      (try row.integer(0), try row.blob(1))
    }
  }
}
