internal import Einlass

/// What is in the database, and how older ones become so.
///
/// A released step is never edited: a change is a new step at the end. Secrets stand in sealed columns
/// (`Sealing.swift`) of `credential`, `registration` and `keyslot`; everything else is in the clear, so that listing
/// accounts needs no key.
struct Migrations: Sendable {
  /// `application_id` of every store: "enls".
  static let applicationID: Int64 = 0x656E_6C73

  /// Step n makes schema n + 1 of schema n; each statement stands alone.
  var steps: [[String]]
  /// The columns of the newest schema, table by table: one more means a newer program, one less damage.
  var columns: [String: Set<String>]

  /// `user_version` of a store that these steps end in.
  var schema: Int64 { Int64(steps.count) }

  /// Brings an open database from this schema to the newest, within the caller's transaction.
  func apply(to connection: borrowing SQLiteConnection, from schema: Int64) throws(Problem) {
    for step in steps[Int(schema)...] {
      for statement in step { try connection.run(statement) }
    }
    try connection.run("PRAGMA application_id = \(Self.applicationID)")
    try connection.run("PRAGMA user_version = \(self.schema)")
  }

  /// What this program works with.
  static let released = Migrations(steps: releasedSteps, columns: releasedColumns)

  private static let releasedSteps: [[String]] = [
    [
      // One row. `revision` grows with every change; `encryptions` counts the uses of the key (C-33).
      """
      CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store TEXT NOT NULL,
        revision INTEGER NOT NULL,
        key_id BLOB NOT NULL,
        encryptions INTEGER NOT NULL
      ) STRICT
      """,
      // The store's key, wrapped once for each way to open it. `parameters`: the key file's path if the
      // person named one, else empty.
      """
      CREATE TABLE keyslot (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        parameters TEXT NOT NULL,
        salt BLOB NOT NULL,
        wrapped_key BLOB NOT NULL
      ) STRICT
      """,
      // `position` is the order of adding and is never used again.
      """
      CREATE TABLE account (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        provider TEXT NOT NULL,
        username TEXT NOT NULL,
        display_name TEXT,
        subject TEXT,
        email TEXT,
        avatar TEXT,
        health TEXT NOT NULL,
        added_at INTEGER NOT NULL,
        last_used_at INTEGER
      ) STRICT
      """,
      "CREATE INDEX account_subject ON account (provider, subject)",
      "CREATE INDEX account_username ON account (provider, username)",
      // One for each registration under which something was issued to the account. `bound_…` say where it
      // may be sent; `binding` is their hash. The five last columns are sealed; a text list has one item a line.
      """
      CREATE TABLE credential (
        account TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        client_id TEXT NOT NULL,
        role TEXT NOT NULL,
        kind TEXT NOT NULL,
        bound_origins TEXT NOT NULL,
        bound_client_id TEXT NOT NULL,
        bound_flow_kind TEXT NOT NULL,
        binding BLOB NOT NULL,
        token_type TEXT,
        scopes TEXT,
        expires_at INTEGER,
        token BLOB NOT NULL,
        token_secret BLOB,
        refresh_token BLOB,
        id_token BLOB,
        client_secret BLOB,
        PRIMARY KEY (account, client_id)
      ) STRICT
      """,
      // What a person decided about an application's use of a provider's accounts.
      """
      CREATE TABLE access_grant (
        application TEXT NOT NULL,
        provider TEXT NOT NULL,
        state TEXT NOT NULL,
        permissions TEXT NOT NULL,
        audience TEXT,
        changed_at INTEGER NOT NULL,
        PRIMARY KEY (application, provider)
      ) STRICT
      """,
    ],
    // What the application gets besides: a text list, one item a line.
    ["ALTER TABLE access_grant ADD COLUMN includes TEXT NOT NULL DEFAULT ''"],
    [
      // The revision at which it was written, and whether a resource refused it since.
      "ALTER TABLE credential ADD COLUMN generation INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE credential ADD COLUMN refused INTEGER NOT NULL DEFAULT 0",
      // Which account an application prefers.
      """
      CREATE TABLE preference (
        application TEXT NOT NULL,
        provider TEXT NOT NULL,
        account TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        PRIMARY KEY (application, provider)
      ) STRICT
      """,
      "CREATE INDEX preference_account ON preference (account)",
    ],
    resourcesAndRegistrations,
    // Whether the id_token came with a former access token.
    ["ALTER TABLE credential ADD COLUMN id_token_former INTEGER NOT NULL DEFAULT 0"],
    changesAndOrders,
  ]

  /// Credentials of one registration are told apart by the resource that they are for (RFC 8707), '' for none, and may
  /// come with a proof key (RFC 9449). A primary key can't be altered, so the table is made anew.
  private static let resourcesAndRegistrations = [
    """
    CREATE TABLE new_credential (
      account TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
      client_id TEXT NOT NULL,
      resource TEXT NOT NULL,
      role TEXT NOT NULL,
      kind TEXT NOT NULL,
      bound_origins TEXT NOT NULL,
      bound_client_id TEXT NOT NULL,
      bound_flow_kind TEXT NOT NULL,
      binding BLOB NOT NULL,
      token_type TEXT,
      scopes TEXT,
      expires_at INTEGER,
      token BLOB NOT NULL,
      token_secret BLOB,
      refresh_token BLOB,
      id_token BLOB,
      client_secret BLOB,
      proof_key BLOB,
      generation INTEGER NOT NULL,
      refused INTEGER NOT NULL,
      PRIMARY KEY (account, client_id, resource)
    ) STRICT
    """,
    """
    INSERT INTO new_credential SELECT account, client_id, '', role, kind, bound_origins, bound_client_id,
      bound_flow_kind, binding, token_type, scopes, expires_at, token, token_secret, refresh_token, id_token,
      client_secret, NULL, generation, refused
    FROM credential
    """,
    "DROP TABLE credential",
    "ALTER TABLE new_credential RENAME TO credential",
    "CREATE INDEX credential_resource ON credential (account, resource) WHERE resource <> ''",
    // What `providers.configure` or the provider itself has brought, one for each provider. `bound_origins`: the only
    // servers that it goes to. `issued`: by the provider on request (RFC 7591), until `expires_at` if it says so.
    // The two last columns are sealed.
    """
    CREATE TABLE registration (
      provider TEXT NOT NULL PRIMARY KEY,
      client_id TEXT NOT NULL,
      redirect TEXT,
      authentication TEXT,
      key_id TEXT,
      bound_origins TEXT NOT NULL,
      issued INTEGER NOT NULL,
      expires_at INTEGER,
      client_secret BLOB,
      private_key BLOB
    ) STRICT
    """,
  ]

  /// The list of changes for front ends, and indexes for reading a few accounts or grants of many.
  private static let changesAndOrders = [
    // The last changes in order, without gaps; `ChangeRows.swift`. Either `account` and its kind of change, or the
    // `application` and `provider` of a grant.
    """
    CREATE TABLE change (
      number INTEGER PRIMARY KEY,
      account TEXT,
      kind TEXT,
      application TEXT,
      provider TEXT
    ) STRICT
    """,
    // The list of an older store begins behind a gap, because what was changed before is not in it.
    "INSERT INTO change (number) SELECT 2 FROM meta",
    "CREATE INDEX account_provider ON account (provider)",
    "CREATE INDEX account_last_used ON account (provider, last_used_at DESC)",
    "CREATE INDEX access_grant_place ON access_grant (provider, application)",
  ]

  private static let releasedColumns: [String: Set<String>] = [
    "meta": ["id", "store", "revision", "key_id", "encryptions"],
    "keyslot": ["id", "kind", "parameters", "salt", "wrapped_key"],
    "account": [
      "position", "id", "provider", "username", "display_name", "subject", "email", "avatar",
      "health", "added_at", "last_used_at",
    ],
    "credential": [
      "account", "client_id", "resource", "role", "kind", "bound_origins", "bound_client_id",
      "bound_flow_kind", "binding", "token_type", "scopes", "expires_at", "token", "token_secret",
      "refresh_token", "id_token", "client_secret", "proof_key", "generation", "refused",
      "id_token_former",
    ],
    "registration": [
      "provider", "client_id", "redirect", "authentication", "key_id", "bound_origins", "issued",
      "expires_at", "client_secret", "private_key",
    ],
    "access_grant": [
      "application", "provider", "state", "permissions", "audience", "changed_at", "includes",
    ],
    "preference": ["application", "provider", "account"],
    "change": ["number", "account", "kind", "application", "provider"],
  ]
}
