internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// Leases as rows of `lease`: a holder, a fence that counts the holders, and an end by the clock of
/// the database. A lease of a holder that was killed ends by itself.
///
/// Advisory locks belong to a session, which a pooler shares and a failover loses.
extension AccountLeases {
  /// The life of a lease, in seconds. A request to a provider takes at most 30.
  static let seconds: Int64 = 45
  /// The least that must be left of a lease before a request to a provider is sent, in seconds.
  static let leastSeconds: Int64 = 20

  convenience init(postgres shared: PostgresStore) {
    // Each lease has a holder of its own, so that a release never ends the lease of another.
    let table = "\"\(shared.address.schema)\".lease"
    self.init { name, deadline, ended throws(Problem) in
      let holder = Hexadecimal.encode(SecureRandom.bytes(16))
      guard let until = try shared.takeLease(name, by: holder, in: table, deadline) else {
        return nil
      }
      // The former holder may have written a token whose notification is still on its way.
      shared.kept.forget()
      return Lease(
        requireTime: { () throws(Problem) in
          guard BootTime.seconds + Self.leastSeconds < until else {
            throw .store(
              .locked,
              "The account's lease has nearly ended, because this process was stopped or the database was slow. Nothing was sent. Try again."
            )
          }
        },
        end: {
          // A release that does not arrive only delays others until the lease ends.
          _ = try? shared.run(
            "UPDATE \(table) SET until = '-infinity' WHERE name = ?1 AND holder = ?2",
            .text(name), .text(holder), by: Deadline(milliseconds: 10_000))
          ended()
        })
    }
  }
}

extension PostgresStore {
  /// Takes the lease if it is free by the deadline. Returns its end on the clock of `BootTime`.
  fileprivate func takeLease(
    _ name: String, by holder: String, in table: String, _ deadline: Deadline
  ) throws(Problem) -> Int64? {
    var pause: Int32 = 100
    while true {
      // Before the statement, so that the database's clock never ends the lease earlier.
      let begun = BootTime.seconds
      if try insertLease(name, by: holder, in: table) { return begun + AccountLeases.seconds }
      guard deadline.millisecondsLeft > 0 else { return nil }
      BootTime.pause(milliseconds: min(pause, deadline.millisecondsLeft))
      pause = min(pause * 2, 1_000)
    }
  }

  private func insertLease(
    _ name: String, by holder: String, in table: String
  ) throws(Problem) -> Bool {
    let end = "clock_timestamp() + interval '\(AccountLeases.seconds) s'"
    let rows = try runMakingStore(
      """
      INSERT INTO \(table) AS held (name, holder, fence, until) VALUES (?1, ?2, 1, \(end))
      ON CONFLICT (name) DO UPDATE SET holder = ?2, fence = held.fence + 1, until = \(end)
      WHERE held.until < clock_timestamp() RETURNING fence
      """, .text(name), .text(holder))
    return !rows.isEmpty
  }
}
