import Einlass
import EinlassCrypto
import EinlassSystem
import Foundation

@testable import EinlassStorage

/// A temporary home with places for the store and for its key. It is removed when the value is
/// released.
final class StoreHome: Sendable {
  let path: String
  private let isOurs: Bool

  /// Uses the home of a parent process, which removes it.
  init(adopting path: String) {
    self.path = path
    isOurs = false
  }

  init() throws {
    let template = FileManager.default.temporaryDirectory.path + "/einlass-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: template, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    path = template
    isOurs = true
  }

  deinit {
    if isOurs { remove() }
  }

  func remove() { _ = try? FileManager.default.removeItem(atPath: path) }

  var directory: String { path + "/data" }
  var keyDirectory: String { path + "/keys" }
  var database: String { directory + "/store.db" }

  /// Returns a store with its own connection, lock and caches, as in another process.
  func store(_ choice: KeySource.Choice = .usual) -> AccountStore {
    SQLiteAccountStore.store(
      location: StoreLocation(directory: directory, keyDirectory: keyDirectory), choice: choice)
  }
}

extension SQLiteAccountStore {
  static func store(location: StoreLocation, choice: KeySource.Choice) -> AccountStore {
    store(location: location, keys: KeySource(choice, location: location))
  }
}

extension StoreHome {
  /// Removes the tables of the users.
  static let withoutUsers =
    "DROP TABLE user_identity; DROP TABLE user_password; DROP TABLE current_user; DROP TABLE user; DROP TABLE pending_credential"

  /// Removes the columns about the provider's word.
  static let withoutReports =
    "ALTER TABLE account DROP COLUMN email_verified; ALTER TABLE account DROP COLUMN reported"

  /// Removes the accounts and titles of grants.
  static let withoutAccountGrants =
    "DROP INDEX access_grant_accounts; ALTER TABLE access_grant DROP COLUMN accounts; ALTER TABLE access_grant DROP COLUMN title"

  /// Removes the refusals by services.
  static let withoutServiceRefusals = "DROP TABLE service_refusal; DROP INDEX credential_refused"

  /// Removes the einlass that the store needs.
  static let withoutNeeds = "ALTER TABLE meta DROP COLUMN needs"

  /// Turns a store of the newest schema into one of the schema before.
  static let withoutFlowRegistrations = """
    CREATE TABLE older (provider TEXT NOT NULL PRIMARY KEY, client_id TEXT NOT NULL, redirect TEXT,
      authentication TEXT, key_id TEXT, bound_origins TEXT NOT NULL, issued INTEGER NOT NULL,
      expires_at INTEGER, client_secret BLOB, private_key BLOB, properties TEXT) STRICT;
    INSERT INTO older SELECT provider, client_id, redirect, authentication, key_id, bound_origins,
      issued, expires_at, client_secret, private_key, properties FROM registration;
    DROP TABLE registration; ALTER TABLE older RENAME TO registration;
    ALTER TABLE credential DROP COLUMN refresh_expires_at;
    PRAGMA user_version = \(Migrations.released.schema - 1)
    """

  /// Turns a store of the newest schema into one of schema 2.
  static let backToSchema2 = """
    \(withoutNeeds); \(withoutServiceRefusals);
    ALTER TABLE credential RENAME TO newer; DROP INDEX credential_resource;
    \(Migrations.released.steps[0].first { $0.hasPrefix("CREATE TABLE credential") } ?? "");
    INSERT INTO credential SELECT account, client_id, role, kind, bound_origins, bound_client_id,
      bound_flow_kind, binding, token_type, scopes, expires_at, token, token_secret, refresh_token,
      id_token, client_secret FROM newer;
    DROP TABLE newer; DROP TABLE registration; DROP TABLE preference; DROP TABLE change;
    DROP TABLE login_refusal; DROP TABLE server_setting; \(withoutUsers);
    \(withoutAccountGrants);
    \(withoutReports);
    DROP INDEX account_provider; DROP INDEX account_last_used; DROP INDEX access_grant_place;
    PRAGMA user_version = 2
    """
}

extension AccountStore {
  /// Returns an account's credentials as they were given, without generations, sorted by place.
  func contents(_ account: Account.ID) throws -> [StoredCredential] {
    try credentials(account).map { stored in
      var stored = stored
      stored.generation = 0
      return stored
    }.sorted {
      ($0.registration.clientID, $0.resource ?? "") < ($1.registration.clientID, $1.resource ?? "")
    }
  }

  /// Saves a credential and replaces the one in its place.
  func saveCredential(_ account: Account.ID, _ credential: StoredCredential) throws -> Int64 {
    let former = try credentials(account).filter { $0.place == credential.place }
    return try settle(account, Settlement(basis: former, credential: credential)) ?? 0
  }
}

extension AccountStore.NewAccount {
  var credential: StoredCredential {
    get { credentials[0] }
    set { credentials = [newValue] }
  }

  /// Returns an account with every member, and a credential with every secret.
  static func example(
    _ username: String = "ada", provider: String = "example", subject: String? = nil,
    secrets: String = "secret", replacesExisting: Bool = false, isOnlyOne: Bool = false
  ) -> AccountStore.NewAccount {
    AccountStore.NewAccount(
      account: Account(
        id: Account.ID(rawValue: "a_\(username)-\(UUID().uuidString)"), provider: provider,
        username: username, displayName: "Ada L.", subject: subject, email: "ada@example.com",
        avatar: "https://example.com/ada.png", isSignedIn: true, addedAt: 1_763_700_000),
      credentials: [.oauth1Example(secrets)], replacesExisting: replacesExisting,
      isOnlyOne: isOnlyOne)
  }
}

extension StoredCredential {
  /// Returns a system credential with three secrets that start with this text.
  static func oauth1Example(_ secrets: String) -> StoredCredential {
    StoredCredential(
      role: .system,
      registration: ClientRegistration(
        clientID: "SYS", clientSecret: Secret(secrets + "-consumer")),
      credential: .oauth1(
        OAuth1Credential(
          token: Secret(secrets + "-token"), tokenSecret: Secret(secrets + "-tokensecret"))),
      binding: ProviderBinding(
        origins: ["https://api.example.com", "https://example.com"], clientID: "SYS",
        flowKind: .reverseAuth))
  }

  /// Returns an application credential with three secrets that start with this text.
  static func oauth2Example(
    _ secrets: String, clientID: String = "APP", resource: String? = nil
  ) -> StoredCredential {
    StoredCredential(
      role: .application, registration: ClientRegistration(clientID: clientID),
      credential: .oauth2(
        OAuth2Credential(
          accessToken: Secret(secrets + "-access"), tokenType: "bearer",
          scopes: ["email", "a\nb\\"],
          expiresAt: 1_763_800_000, refreshToken: Secret(secrets + "-refresh"),
          idToken: Secret(secrets + "-id"))),
      binding: ProviderBinding(
        origins: ["https://graph.example.com"], clientID: clientID, flowKind: .systemToken),
      resource: resource)
  }
}
