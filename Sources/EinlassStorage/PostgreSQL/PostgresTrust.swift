internal import Einlass

/// The check that no other role decides what the statements of einlass run.
///
/// A trigger, a rule, a view or a policy of row security calls functions with the rights of the role
/// that uses the table, and the owner of a table may add one at any time. So an owner is the role of
/// this connection, a role that it belongs to, an administrator, or one that nobody signs in as. A
/// superuser belongs to each role, so that alone is no reason to trust one. It
/// runs with the catalogue alone in the search path.
enum PostgresTrust {
  /// The SQLSTATE of a failed check: division by zero.
  static let failure = "22012"

  /// Returns a statement that fails if there is a fault, and has no rows otherwise.
  static func check(_ schema: String) -> String {
    "SELECT 1 / (length(fault) - length(fault)) FROM (\(faults(schema))) AS f; "
  }

  /// Returns the refusal of a store, with the first fault.
  static func refusal(_ connection: PostgresConnection) throws(Problem) -> Problem {
    let rows = try connection.inCatalog(faults(connection.address.schema))
    guard case .text(let fault)? = rows.first?.first else {
      return PostgresProblem.locked(connection.path)
    }
    return .store(
      .refused,
      "The account store \(connection.path) is not used: \(PostgresProblem.plain(fault)).",
      advice: .nameStore, path: connection.path)
  }

  private static func faults(_ schema: String) -> String {
    """
    WITH store AS (SELECT oid, nspname, nspowner FROM pg_namespace
      WHERE nspname = '\(schema)'),
    part AS (SELECT c.oid, c.relname, c.relowner, c.relkind, c.relrowsecurity, c.relacl
      FROM pg_class c JOIN store ON c.relnamespace = store.oid
      WHERE c.relname IN (\(names))),
    owned AS (SELECT 'schema ' || nspname AS what, nspowner AS owner FROM store
      UNION ALL SELECT 'table ' || relname, relowner FROM part),
    me AS (SELECT oid, rolsuper FROM pg_roles WHERE rolname = current_user),
    stranger AS (SELECT r.oid FROM pg_roles r, me
      WHERE r.rolcanlogin AND NOT r.rolsuper AND NOT r.rolcreaterole AND r.oid <> me.oid
      AND r.oid <> (SELECT datdba FROM pg_database WHERE datname = current_database()))
    SELECT 'its ' || what || ' belongs to the role ' || pg_get_userbyid(owner) AS fault
      FROM owned, me WHERE (me.rolsuper OR NOT pg_has_role(owner, 'MEMBER'))
      AND EXISTS (SELECT 1 FROM stranger s WHERE pg_has_role(s.oid, owner, 'MEMBER'))
    UNION ALL SELECT 'its table ' || relname || ' lets the role ' ||
        CASE grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(grantee) END || ' make triggers'
      FROM part, aclexplode(relacl) WHERE privilege_type = 'TRIGGER' AND grantee <> relowner
      AND EXISTS (SELECT 1 FROM stranger s
        WHERE grantee = 0 OR pg_has_role(s.oid, grantee, 'MEMBER'))
    UNION ALL SELECT relname || ' is not an ordinary table' FROM part WHERE relkind <> 'r'
      OR EXISTS (SELECT 1 FROM pg_inherits i
        WHERE i.inhrelid = part.oid OR i.inhparent = part.oid)
    UNION ALL SELECT 'its table ' || relname || ' has the trigger ' || t.tgname
      FROM part JOIN pg_trigger t ON t.tgrelid = part.oid AND NOT t.tgisinternal
    UNION ALL SELECT 'its table ' || relname || ' has the rule ' || w.rulename
      FROM part JOIN pg_rewrite w ON w.ev_class = part.oid AND part.relkind = 'r'
    UNION ALL SELECT 'its table ' || relname || ' has row security'
      FROM part WHERE relrowsecurity
    """
  }

  /// The names of the tables in `PostgresSchema.tables`, as a list of texts.
  private static let names = PostgresSchema.tables.split(separator: "\n").compactMap { line in
    let words = line.split(separator: " ")
    guard words.starts(with: ["CREATE", "TABLE"]), words.count > 5 else { return nil }
    return "'\(words[5].filter { $0 != "\"" })'"
  }.joined(separator: ", ")
}

extension PostgresConnection {
  /// The first statement of a transaction, until the tables are trusted.
  var check: String { isTrusted ? "" : PostgresTrust.check(address.schema) }

  /// Throws `refused` if the check has failed.
  func requireTrust(_ result: PostgresAnswer) throws(Problem) {
    guard !isTrusted, result.state == PostgresTrust.failure else { return }
    rollBack()
    throw try PostgresTrust.refusal(self)
  }
}
