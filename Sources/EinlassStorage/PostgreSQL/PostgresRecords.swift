internal import Einlass
internal import EinlassSystem

/// The tables in place of the files beside an SQLite store.
extension BegunRenewals {
  static func inPostgres(_ shared: PostgresStore) -> BegunRenewals {
    let table = "\"\(shared.address.schema)\".begun_renewal"
    return BegunRenewals(
      begin: { begun in
        _ = try? shared.run(
          "INSERT INTO \(table) (account, generation) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
          .text(begun.account.rawValue), .integer(begun.generation), by: .record)
      },
      end: { begun in
        _ = try? shared.run(
          "DELETE FROM \(table) WHERE account = ?1 AND generation = ?2",
          .text(begun.account.rawValue), .integer(begun.generation), by: .record)
      },
      all: {
        let rows = try? shared.run("SELECT account, generation FROM \(table)", by: .record)
        return Set(
          (rows ?? []).compactMap { row in
            guard case .text(let account) = row[0], case .integer(let generation) = row[1] else {
              return nil
            }
            return BegunRenewal(account: Account.ID(rawValue: account), generation: generation)
          })
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
  /// `changing` has a connection of its own, because `read` must not wait for an edit.
  static func inPostgres(
    _ shared: PostgresStore, changing: PostgresStore
  ) -> ProviderOverlay {
    ProviderOverlay(
      stamp: { shared.kept.overlayStamp },
      read: { () throws(Problem) in
        let found = try shared.read(.usual, withKey: false) { store throws(Problem) in
          try store.connection.overlay()
        }
        guard let found, let (number, text) = found else { return nil }
        shared.kept.overlay = number
        return text
      },
      change: { edit throws(Problem) in
        let number = try changing.write(.usual) { store throws(Problem) in
          let former = try store.connection.overlay()
          let text = try edit(former?.text)
          let number = (former?.number ?? 0) + 1
          try store.connection.run(
            PostgresConnection.upsert("provider_overlay", key: ["id"], ["number", "contents"]),
            .integer(1), .integer(number), .blob(text))
          _ = try store.connection.nextRevision()
          return number
        }
        shared.kept.overlay = number
      })
  }
}

extension Database {
  fileprivate func overlay() throws(Problem) -> (number: Int64, text: [UInt8])? {
    try first("SELECT number, contents FROM provider_overlay WHERE id = 1") { row throws(Problem) in
      (try row.integer(0), try row.blob(1))
    }
  }
}
