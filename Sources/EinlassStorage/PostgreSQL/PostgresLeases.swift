internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// Leases as rows of `lease`: a holder, a fence that counts the holders, and an end by the clock of
/// the database. A lease of a holder that was killed ends by itself.
///
/// Advisory locks belong to a session, which a pooler shares and a failover loses.
extension AccountLeases {
  /// The life of a lease, in seconds. A request to a provider takes at most 20.
  static let seconds: Int64 = 45
  /// The least that must be left of a lease before a request to a provider is sent, in seconds.
  static let leastSeconds: Int64 = 20

  convenience init(postgres shared: PostgresStore) {
    // Each lease has a holder of its own, so that a release never ends the lease of another.
    self.init { name, deadline, ended throws(Problem) in
      let holder = Hexadecimal.encode(SecureRandom.bytes(16))
      guard let until = try shared.takeLease(name, by: holder, deadline) else { return nil }
      let isHeld = Lock(true)
      let isSignIn = name.hasPrefix(Lease.signInPrefix)
      if isSignIn {
        // A person takes as long as they need. Without the thread the lease ends after 45 s.
        try? WorkThread.start("einlass-turn") { shared.prolong(name, by: holder, while: isHeld) }
      }
      return Lease(
        requireTime: { () throws(Problem) in
          guard BootTime.seconds + Self.leastSeconds < until else {
            throw .store(
              .locked,
              "The account's lease has nearly ended, because this process was stopped or the database was slow. The next request to the provider was not sent."
            )
          }
        },
        isHeld: { shared.holds(name, by: holder) },
        end: {
          isHeld.withLock { $0 = false }
          // A release that does not arrive only delays others until the lease ends.
          shared.run(ending: shared.release(of: name, by: holder, withoutStandby: isSignIn))
          ended()
        })
    }
  }
}

extension PostgresStore {
  /// Takes the lease if it is free by the deadline. Returns its end on the clock of `BootTime`.
  fileprivate func takeLease(
    _ name: String, by holder: String, _ deadline: Deadline
  ) throws(Problem) -> Int64? {
    var pause: Int32 = 100
    while true {
      // Before the statement, so that the database's clock never ends the lease earlier.
      let begun = BootTime.seconds
      do throws(Problem) {
        if try insertLease(name, by: holder) { return begun + AccountLeases.seconds }
      } catch  where error == PostgresProblem.locked(address.text) && deadline.millisecondsLeft == 0
      {
        // A move of the store locks the table. The caller tries once more, on a thread. Meanwhile
        // other requests use the connection.
        BootTime.pause(milliseconds: 100)
      }
      guard deadline.millisecondsLeft > 0 else { return nil }
      BootTime.pause(milliseconds: min(pause, deadline.millisecondsLeft))
      pause = min(pause * 2, 1_000)
    }
  }

  /// Whether no other holder has taken the lease since.
  fileprivate func holds(_ name: String, by holder: String) -> Bool {
    let rows = try? run(
      "SELECT 1 FROM \"\(address.schema)\".lease WHERE name = ?1 AND holder = ?2",
      .text(name), .text(holder), by: Deadline(milliseconds: 2_000))
    return rows?.isEmpty != true
  }

  fileprivate func release(
    of name: String, by holder: String, withoutStandby: Bool
  ) -> String {
    """
    UPDATE "\(address.schema)".lease SET until = '-infinity'
    WHERE name = \(PostgresConnection.literal(name)) AND holder = '\(holder)'
    RETURNING \(withoutStandby ? PostgresConnection.withoutStandby : "1")
    """
  }

  /// Moves the end of the lease three times in its life, while this holder has it.
  fileprivate func prolong(_ name: String, by holder: String, while isHeld: Lock<Bool>) {
    while true {
      BootTime.pause(milliseconds: Int32(AccountLeases.seconds) * 1_000 / 3)
      guard isHeld.withLock({ $0 }) else { return }
      // A released lease stays free.
      _ = try? run(
        """
        UPDATE "\(address.schema)".lease
        SET until = clock_timestamp() + interval '\(AccountLeases.seconds) s'
        WHERE name = ?1 AND holder = ?2 AND until > '-infinity'
        RETURNING \(PostgresConnection.withoutStandby)
        """, .text(name), .text(holder), by: Deadline(milliseconds: 10_000))
    }
  }

  /// Returns whether the lease was free. Forgets the kept rows of another revision: the
  /// notification of the former holder may be on its way, and a store that was moved or restored
  /// begins with an older revision.
  private func insertLease(_ name: String, by holder: String) throws(Problem) -> Bool {
    let schema = "\"\(address.schema)\""
    let literal = PostgresConnection.literal(name)
    let end = "clock_timestamp() + interval '\(AccountLeases.seconds) s'"
    // Two statements, because the second one must see all that was committed before the first one
    // took the lease. A held lease is seen without a lock on its row, because many machines may wait
    // for it.
    let deadline = AccountStore.Patience.usual.deadline
    let rows = try makingStore(by: deadline) { connection throws(Problem) in
      do throws(Problem) {
        return try connection.inTransaction(
          """
          INSERT INTO \(schema).lease AS held (name, holder, fence, until)
          SELECT \(literal), '\(holder)', 1, \(end) WHERE NOT EXISTS
            (SELECT 1 FROM \(schema).lease WHERE name = \(literal) AND until >= clock_timestamp())
          ON CONFLICT (name) DO UPDATE SET holder = '\(holder)', fence = held.fence + 1, until = \(end)
          WHERE held.until < clock_timestamp();
          SELECT coalesce((SELECT revision FROM \(schema).meta), 0) FROM \(schema).lease
          WHERE name = \(literal) AND holder = '\(holder)'
          """)
      } catch {
        // The lease may have been taken although the answer was lost.
        if error.detail == Problem.StoreDetail.unreachable.rawValue {
          runLater(ending: [release(of: name, by: holder, withoutStandby: true)])
        }
        throw error
      }
    }
    guard let revision = rows.first?.first?.number else { return false }
    if revision != kept.revision { kept.forget() }
    return true
  }
}
