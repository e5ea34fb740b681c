internal import Einlass

/// The database schema, and the steps that bring older ones up to date.
///
/// A released step is never edited; a change is a new step at the end. Secrets are in sealed
/// columns (`Sealing.swift`) of `credential`, `registration` and `keyslot`. All other columns are
/// in the clear, so that listing accounts needs no key.
struct Migrations: Sendable {
  /// `application_id` of every store: "enls".
  static let applicationID: Int64 = 0x656E_6C73

  /// Step n brings schema n to schema n + 1. Each string holds a single statement.
  var steps: [[String]]
  /// The columns of each table in the newest schema. An additional column means a newer program, a
  /// missing one means damage.
  var columns: [String: Set<String>]
  /// `StoreCheck.fingerprint` of a store with the newest schema. A store with another one may have
  /// the same columns, because SQLite's versions write altered statements differently.
  var fingerprint: UInt64
  /// The first einlass with the last step. Each store has it, because an older einlass that refuses
  /// the store names it. `nil` without the step that adds its column.
  var needs: String?

  /// The `user_version` after the last step.
  var schema: Int64 { Int64(steps.count) }

  /// Brings an open database from this schema to the newest. The caller has begun the transaction.
  func apply(to connection: SQLiteConnection, from schema: Int64) throws(Problem) {
    for step in steps[Int(schema)...] {
      for statement in step { try connection.run(statement) }
    }
    try connection.run("PRAGMA application_id = \(Self.applicationID)")
    try connection.run("PRAGMA user_version = \(self.schema)")
    try noteNeeds(in: connection)
  }

  /// Writes `needs` into the store. A new one has its row of `meta` only after the steps.
  func noteNeeds(in connection: SQLiteConnection) throws(Problem) {
    if let needs { try connection.run("UPDATE meta SET needs = ?1", .text(needs)) }
  }

  /// The steps of this version. A start compares the hash of the statements of a new store, because
  /// asking SQLite for all columns was a tenth of it; a store with another hash is asked for them.
  static let released = Migrations(
    steps: releasedSteps, columns: releasedColumns, fingerprint: 0xD7B3_E28D_F186_00F4,
    needs: "0.2.0")

  private static let releasedSteps: [[String]] = [
    [
      // A single row. `revision` grows with the store's changes. `encryptions` counts the uses of
      // the key.
      """
      CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store TEXT NOT NULL,
        revision INTEGER NOT NULL,
        key_id BLOB NOT NULL,
        encryptions INTEGER NOT NULL
      ) STRICT
      """,
      // The store's key, wrapped once per slot. `parameters`: the key file's path if the person
      // named one, the scrypt parameters of a passphrase, else empty.
      """
      CREATE TABLE keyslot (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        parameters TEXT NOT NULL,
        salt BLOB NOT NULL,
        wrapped_key BLOB NOT NULL
      ) STRICT
      """,
      // `position` is the order of adding and is never reused.
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
      // One row per registration that has a credential of the account. The `bound_…` columns
      // restrict the servers that the credential is sent to; `binding` is a hash of them and of the
      // provider. The last five columns are sealed. A text list has one item per line.
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
      // A person's decision about an application's use of a provider's accounts.
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
    // Additional data that the application receives: a text list, one item per line.
    ["ALTER TABLE access_grant ADD COLUMN includes TEXT NOT NULL DEFAULT ''"],
    [
      // The revision of the last write, and whether a resource has refused the credential since.
      "ALTER TABLE credential ADD COLUMN generation INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE credential ADD COLUMN refused INTEGER NOT NULL DEFAULT 0",
      // The account that an application prefers at a provider.
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
    // Whether the id_token came with an earlier access token.
    ["ALTER TABLE credential ADD COLUMN id_token_former INTEGER NOT NULL DEFAULT 0"],
    changesAndOrders,
    // `properties`: a JSON object, see `ClientRegistration.properties`. `assertion_source`: the
    // source of the assertion that the token was traded for, see `AssertionSource`.
    [
      "ALTER TABLE registration ADD COLUMN properties TEXT",
      "ALTER TABLE credential ADD COLUMN assertion_source TEXT",
    ],
    ownServers,
    // Whether the provider has verified `email`, and whether it has named `subject` itself.
    [
      "ALTER TABLE account ADD COLUMN email_verified INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE account ADD COLUMN reported INTEGER NOT NULL DEFAULT 0",
    ],
    users,
    userBindings,
    accountGrants,
    serviceRefusals,
    // See `Migrations.needs`.
    ["ALTER TABLE meta ADD COLUMN needs TEXT NOT NULL DEFAULT ''"],
    flowRegistrations,
  ]

  /// Adds the resource (RFC 8707; '' for none) to the primary key of `credential`, and a proof key
  /// (RFC 9449). SQLite cannot alter a primary key, so the table is rebuilt.
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
    // A client registration per provider, from `providers.configure` or issued by the provider (RFC
    // 7591). `bound_origins`: the only servers that it is sent to. `issued`: whether the provider
    // issued it, then valid until `expires_at` unless that is NULL. The last two columns are
    // sealed.
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

  /// The list of changes for front ends, and indexes for reading a few of many accounts or grants.
  private static let changesAndOrders = [
    // The newest changes without gaps; see `ChangeRows.swift`. A row has either `account` and
    // `kind`, or the `application` and `provider` of a grant.
    """
    CREATE TABLE change (
      number INTEGER PRIMARY KEY,
      account TEXT,
      kind TEXT,
      application TEXT,
      provider TEXT
    ) STRICT
    """,
    // The list of an older store starts at 2: the gap tells readers that earlier changes are
    // unknown. In a new store `meta` is still empty, so its list starts empty.
    "INSERT INTO change (number) SELECT 2 FROM meta",
    "CREATE INDEX account_provider ON account (provider)",
    "CREATE INDEX account_last_used ON account (provider, last_used_at DESC)",
    "CREATE INDEX access_grant_place ON access_grant (provider, application)",
  ]

  /// Logins at servers of the person's own.
  private static let ownServers = [
    // The trust in the server, see `ServerTrust.text`.
    "ALTER TABLE credential ADD COLUMN bound_trust TEXT",
    // The refusals of a login since its last success. `digest`: of the password that was refused
    // last, keyed with a key derived from the store's.
    """
    CREATE TABLE login_refusal (
      server TEXT NOT NULL,
      username TEXT NOT NULL,
      count INTEGER NOT NULL,
      last_at INTEGER NOT NULL,
      digest BLOB NOT NULL,
      PRIMARY KEY (server, username)
    ) STRICT
    """,
    // An application's last settings at a provider; see `ServerSettings`.
    """
    CREATE TABLE server_setting (
      application TEXT NOT NULL,
      provider TEXT NOT NULL,
      server TEXT NOT NULL,
      port INTEGER,
      secure INTEGER,
      use_cookies INTEGER NOT NULL,
      accept_untrusted_certificates INTEGER NOT NULL,
      username TEXT,
      PRIMARY KEY (application, provider)
    ) STRICT
    """,
  ]

  /// Directories of users; see `User`. `directory` is empty for the shared one. `email_key`: see
  /// `emailKey`.
  private static let users = [
    // Keyed; see `ServerSettingRow`.
    "ALTER TABLE server_setting ADD COLUMN digest BLOB",
    """
    CREATE TABLE user (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      directory TEXT NOT NULL,
      application TEXT NOT NULL,
      display_name TEXT,
      email TEXT,
      email_key TEXT,
      email_verified INTEGER NOT NULL,
      photo TEXT,
      created_at INTEGER NOT NULL,
      last_sign_in_at INTEGER
    ) STRICT
    """,
    "CREATE INDEX user_email ON user (directory, email_key, position)",
    // `account` may name a removed account, because the identity stays.
    """
    CREATE TABLE user_identity (
      directory TEXT NOT NULL,
      provider TEXT NOT NULL,
      subject TEXT NOT NULL,
      user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      email TEXT,
      email_key TEXT,
      account TEXT,
      PRIMARY KEY (directory, provider, subject)
    ) STRICT
    """,
    "CREATE INDEX user_identity_user ON user_identity (user, position)",
    "CREATE INDEX user_identity_email ON user_identity (directory, email_key)",
    // `verifier` is sealed; see `PasswordVerifier`.
    """
    CREATE TABLE user_password (
      user TEXT NOT NULL PRIMARY KEY REFERENCES user (id) ON DELETE CASCADE,
      verifier BLOB NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE current_user (
      application TEXT NOT NULL PRIMARY KEY,
      user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
      signed_in_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX current_user_user ON current_user (user)",
    // `digest`: SHA-256 of the text that the front end got. `contents` is sealed; see
    // `ProvenIdentity.packed`.
    """
    CREATE TABLE pending_credential (
      digest BLOB NOT NULL PRIMARY KEY,
      application TEXT NOT NULL,
      ends_at INTEGER NOT NULL,
      contents BLOB NOT NULL
    ) STRICT
    """,
  ]

  private static let userBindings = [
    "ALTER TABLE user_identity ADD COLUMN provider_digest TEXT",
    // Keys of addresses had all letters in lower case; now only those of ASCII, as by `lower`.
    "UPDATE user SET email_key = lower(email) WHERE email_key NOT NULL",
    "UPDATE user_identity SET email_key = lower(email) WHERE email_key NOT NULL",
    "UPDATE user_identity SET subject = lower(email) WHERE provider = 'password' AND email NOT NULL",
  ]

  private static let accountGrants = [
    // The only accounts of the grant; NULL for all of the provider.
    "ALTER TABLE access_grant ADD COLUMN accounts TEXT",
    "ALTER TABLE access_grant ADD COLUMN title TEXT",
    // For the removal of an account.
    "CREATE INDEX access_grant_accounts ON access_grant (provider) WHERE accounts NOT NULL",
  ]

  /// See `ServiceRefusal`.
  private static let serviceRefusals = [
    """
    CREATE TABLE service_refusal (
      account TEXT NOT NULL, client_id TEXT NOT NULL, resource TEXT NOT NULL, service TEXT NOT NULL,
      ends_at INTEGER NOT NULL,
      PRIMARY KEY (account, client_id, resource, service),
      FOREIGN KEY (account, client_id, resource) REFERENCES credential ON DELETE CASCADE
    ) STRICT
    """,
    "CREATE INDEX credential_refused ON credential (account) WHERE refused <> 0",
  ]

  /// Adds the flow (empty for every flow without one of its own) to the primary key of
  /// `registration`, and the end of a refresh token.
  private static let flowRegistrations = [
    """
    CREATE TABLE new_registration (
      provider TEXT NOT NULL,
      flow TEXT NOT NULL,
      client_id TEXT NOT NULL,
      redirect TEXT,
      authentication TEXT,
      key_id TEXT,
      bound_origins TEXT NOT NULL,
      issued INTEGER NOT NULL,
      expires_at INTEGER,
      client_secret BLOB,
      private_key BLOB,
      properties TEXT,
      PRIMARY KEY (provider, flow)
    ) STRICT
    """,
    """
    INSERT INTO new_registration SELECT provider, '', client_id, redirect, authentication, key_id,
      bound_origins, issued, expires_at, client_secret, private_key, properties FROM registration
    """,
    "DROP TABLE registration",
    "ALTER TABLE new_registration RENAME TO registration",
    "ALTER TABLE credential ADD COLUMN refresh_expires_at INTEGER",
  ]
}
