internal import Einlass
internal import EinlassSystem

/// The facts about the server for `store.status`.
extension PostgresConnection {
  func facts() throws(Problem) -> StoreMaintenance.Database {
    let rows = try inTransaction(
      """
      SELECT current_setting('server_version'),
        current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on'
          AND current_setting('synchronous_commit') <> 'off',
        (SELECT count(*) FROM pg_stat_replication),
        current_setting('synchronous_standby_names') <> ''
          AND current_setting('synchronous_commit') NOT IN ('off', 'local'),
        pg_backend_pid(), floor(extract(epoch FROM clock_timestamp()))::bigint
      """)
    guard let row = rows.first, case .text(let version) = row[0] else {
      throw .damaged(path, "no answer about the server")
    }
    let standby: StoreMaintenance.Database.Standby =
      if row[3].number == 1 { .synchronous } else { row[2].number == 0 ? .none : .asynchronous }
    return StoreMaintenance.Database(
      version: version, isDurable: row[1].number == 1, standby: standby, usesTLS: usesTLS,
      // A pooler tells a number of its own at the beginning.
      isPooled: row[4].number != Int64(backendNumber), time: row[5].number ?? 0)
  }

  /// The size of the store's tables and their indexes.
  func countBytes() throws(Problem) -> Int64 {
    let rows = try inTransaction(
      """
      SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ?1 AND c.relkind = 'r'
      """, [.text(address.schema)])
    return rows.first?.first?.number ?? 0
  }
}
