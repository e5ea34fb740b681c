internal import Einlass
internal import EinlassCrypto

/// The sealed columns of `credential`.
enum SecretColumn: CaseIterable {
  case token, tokenSecret, refreshToken, idToken, clientSecret, proofKey

  /// The column's name in the file. Not the raw value, because dictionary look-ups would then hash
  /// this string.
  var name: String {
    switch self {
    case .token: "token"
    case .tokenSecret: "token_secret"
    case .refreshToken: "refresh_token"
    case .idToken: "id_token"
    case .clientSecret: "client_secret"
    case .proofKey: "proof_key"
    }
  }
}

/// A row of `credential` as stored: clear columns and sealed cells.
struct CredentialRow {
  /// The case of `Credential` in the row.
  enum Kind: String { case oauth1, oauth2, session }

  var account: String
  var clientID: String
  /// Empty for a credential without a particular resource (RFC 8707).
  var resource: String
  var role: StoredCredential.Role
  var kind: Kind
  var boundOrigins: [String]
  var boundClientID: String
  /// The raw value of a `FlowKind`, not validated here: an edited word is reported as a binding
  /// mismatch, not as damage.
  var boundFlowKind: String
  /// The text of a `ServerTrust`.
  var boundTrust: String?
  /// A hash of the provider and the four members above, as of the last write.
  var binding: [UInt8]
  var tokenType: String?
  var scopes: [String]?
  var expiresAt: UnixTime?
  var cells: [SecretColumn: [UInt8]]
  /// Not sealed, like the next three members: an edit of them only causes another request.
  var generation: Int64 = 0
  var isRefused = false
  var refreshExpiresAt: UnixTime?
  /// Whether the id_token came with an earlier access token. The id_token itself proves its access
  /// token by the `at_hash` claim.
  var hasFormerIDToken = false
  /// The text of an `AssertionSource`.
  var assertionSource: String?

  fileprivate static let upsert = SQLiteConnection.upsert(
    "credential", key: ["account", "client_id", "resource"],
    [
      "role", "kind", "bound_origins", "bound_client_id", "bound_flow_kind", "binding",
      "token_type", "scopes", "expires_at", "token", "token_secret", "refresh_token", "id_token",
      "client_secret", "proof_key", "generation", "refused", "id_token_former", "assertion_source",
      "bound_trust", "refresh_expires_at",
    ])
}

extension Database {
  /// Returns the credentials of an account, or the one in this place, ordered by client id and
  /// resource.
  func credentialRows(
    of account: Account.ID, at place: AccountStore.Place? = nil
  ) throws(Problem) -> [CredentialRow] {
    try all(
      """
      SELECT account, client_id, resource, role, kind, bound_origins, bound_client_id, bound_flow_kind,
        binding, token_type, scopes, expires_at, generation, refused, token, token_secret, refresh_token,
        id_token, client_secret, proof_key, id_token_former, assertion_source, bound_trust,
        refresh_expires_at
      FROM credential WHERE account = ?1 AND (client_id = ?2 AND resource = ?3 OR ?2 IS NULL)
      ORDER BY client_id, resource
      """, .text(account.rawValue), .optional(place?.clientID), .optional(place?.resource)
    ) { row throws(Problem) in
      var cells: [SecretColumn: [UInt8]] = [:]
      for (index, column) in SecretColumn.allCases.enumerated() {
        cells[column] = try row.optionalBlob(Int32(14 + index))
      }
      return CredentialRow(
        account: try row.text(0), clientID: try row.text(1), resource: try row.text(2),
        role: try row.word(3), kind: try row.word(4), boundOrigins: TextList.items(try row.text(5)),
        boundClientID: try row.text(6), boundFlowKind: try row.text(7),
        boundTrust: try row.optionalText(22), binding: try row.blob(8),
        tokenType: try row.optionalText(9), scopes: try row.optionalText(10).map(TextList.items),
        expiresAt: try row.optionalInteger(11), cells: cells, generation: try row.integer(12),
        isRefused: try row.integer(13) != 0, refreshExpiresAt: try row.optionalInteger(23),
        hasFormerIDToken: try row.integer(20) != 0,
        assertionSource: try row.optionalText(21))
    }
  }

  /// Adds the row or replaces the one with the same account, client id and resource. Others stay,
  /// because other applications may use them.
  func put(_ row: CredentialRow) throws(Problem) {
    try runByCommit(
      CredentialRow.upsert,
      [
        .text(row.account), .text(row.clientID), .text(row.resource),
        .text(row.role.rawValue), .text(row.kind.rawValue), .text(TextList.text(row.boundOrigins)),
        .text(row.boundClientID), .text(row.boundFlowKind), .blob(row.binding),
        .optional(row.tokenType), .optional(row.scopes.map(TextList.text)),
        .optional(row.expiresAt),
        .optional(row.cells[.token]), .optional(row.cells[.tokenSecret]),
        .optional(row.cells[.refreshToken]), .optional(row.cells[.idToken]),
        .optional(row.cells[.clientSecret]), .optional(row.cells[.proofKey]),
        .integer(row.generation), .integer(row.isRefused ? 1 : 0),
        .integer(row.hasFormerIDToken ? 1 : 0), .optional(row.assertionSource),
        .optional(row.boundTrust), .optional(row.refreshExpiresAt),
      ])
  }

  /// Returns the generation of each credential of an account, by its place.
  func generations(of account: Account.ID) throws(Problem) -> [AccountStore.Place: Int64] {
    let pairs = try all(
      "SELECT client_id, resource, generation FROM credential WHERE account = ?1",
      .text(account.rawValue)
    ) { row throws(Problem) in
      (AccountStore.Place(try row.text(0), resource: try row.text(1)), try row.integer(2))
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  func refuse(_ place: AccountStore.Place, of account: Account.ID) throws(Problem) {
    try run(
      "UPDATE credential SET refused = 1 WHERE account = ?1 AND client_id = ?2 AND resource = ?3",
      .text(account.rawValue), .text(place.clientID), .text(place.resource))
  }

  func deleteCredentials(of account: Account.ID) throws(Problem) {
    try run("DELETE FROM credential WHERE account = ?1", .text(account.rawValue))
  }

  /// Removes the token for reverse auth.
  func deleteReverseAuthToken(of account: Account.ID) throws(Problem) {
    try run(
      "DELETE FROM credential WHERE account = ?1 AND role = ?2 AND kind = ?3",
      .text(account.rawValue), .text(StoredCredential.Role.system.rawValue),
      .text(CredentialRow.Kind.oauth1.rawValue))
  }

  /// Returns the resources of an account's credentials, sorted.
  func resources(of account: Account.ID) throws(Problem) -> [String] {
    try all(
      "SELECT resource FROM credential WHERE account = ?1 AND resource <> '' ORDER BY resource",
      .text(account.rawValue)
    ) { row throws(Problem) in try row.text(0) }
  }
}
