internal import Einlass
internal import EinlassCrypto

/// The sealed columns of `registration`.
enum RegistrationColumn: String, CaseIterable {
  case clientSecret = "client_secret"
  case privateKey = "private_key"
}

/// A row of `registration` as stored: clear columns and sealed cells.
struct RegistrationRow {
  var provider: String
  /// `nil` in a row for every flow without one of its own, with an empty column.
  var flow: FlowKind?
  var clientID: String
  var redirect: String?
  var authentication: String?
  var keyID: String?
  /// `ClientRegistration.propertiesText`.
  var properties: String?
  var boundOrigins: [String]
  var isIssued: Bool
  var expiresAt: UnixTime?
  var cells: [RegistrationColumn: [UInt8]]

  fileprivate static let upsert = SQLiteConnection.upsert(
    "registration", key: ["provider", "flow"],
    [
      "client_id", "redirect", "authentication", "key_id", "bound_origins", "issued", "expires_at",
      "client_secret", "private_key", "properties",
    ])

  var known: StoredRegistration.Known {
    var shown = ClientRegistration(clientID: clientID)
    shown.propertiesText = properties
    return StoredRegistration.Known(
      provider: provider, flow: flow, clientID: clientID, hasSecret: cells[.clientSecret] != nil,
      hasPrivateKey: cells[.privateKey] != nil, hasCertificate: shown.certificate != nil,
      redirect: redirect, origins: boundOrigins,
      isIssued: isIssued)
  }
}

extension RegistrationRow {
  init(_ stored: StoredRegistration, key: StoreKey) {
    let registration = stored.registration
    self.init(
      provider: stored.provider, flow: stored.flow, clientID: registration.clientID,
      redirect: registration.redirect,
      authentication: registration.authentication, keyID: registration.keyID,
      properties: registration.propertiesText, boundOrigins: stored.origins,
      isIssued: stored.isIssued, expiresAt: stored.expiresAt,
      cells: [:])
    var secrets: [RegistrationColumn: Secret] = [:]
    secrets[.clientSecret] = registration.clientSecret
    secrets[.privateKey] = registration.privateKey
    let hash = rowHash(columns: Set(secrets.keys))
    for (column, secret) in secrets { cells[column] = key.seal(secret, in: cell(column, hash)) }
  }

  /// Opens the row. Throws `decryptFailed` if any of it was edited without the key. No part of such
  /// a row is usable.
  func open(key: StoreKey?, path: String) throws(Problem) -> StoredRegistration {
    let hash = rowHash(columns: Set(cells.keys))
    var secrets: [RegistrationColumn: Secret] = [:]
    for (column, sealed) in cells {
      guard let secret = key?.open(sealed, in: cell(column, hash)) else {
        throw .store(
          .decryptFailed,
          "The \(column.rawValue) of the registration at \(provider) in \(path) does not decrypt, because it is damaged or was edited without the store's key.",
          advice: .configureAgain,
          path: path)
      }
      secrets[column] = secret
    }
    var registration = ClientRegistration(
      clientID: clientID, clientSecret: secrets[.clientSecret], redirect: redirect,
      privateKey: secrets[.privateKey], authentication: authentication, keyID: keyID)
    registration.propertiesText = properties
    return StoredRegistration(
      provider: provider, flow: flow, registration: registration,
      origins: boundOrigins, isIssued: isIssued, expiresAt: expiresAt)
  }

  private func cell(_ column: RegistrationColumn, _ rowHash: [UInt8]) -> SealedCell {
    SealedCell(
      table: "registration", column: column.rawValue,
      // An id of a provider has no space.
      account: provider + (flow.map { " \($0.rawValue)" } ?? ""),
      binding: Digest.sha256(Canonical.texts(boundOrigins)), row: rowHash)
  }

  /// Returns the SHA-256 hash of the row's other clear columns and of the set of its secrets.
  private func rowHash(columns: Set<RegistrationColumn>) -> [UInt8] {
    var parts = [
      Array("einlass registration 1".utf8), Array(clientID.utf8), Canonical.optional(redirect),
      Canonical.optional(authentication), Canonical.optional(keyID), [isIssued ? 1 : 0],
      Canonical.optional(expiresAt.map(String.init)),
      Canonical.texts(columns.map(\.rawValue).sorted()),
    ]
    // Rows of older versions have no properties, and their hash must stay.
    if let properties { parts.append(Array(properties.utf8)) }
    return Digest.sha256(Canonical.bytes(parts))
  }
}

extension Database {
  /// Returns all registrations, ordered by provider, or those of this provider.
  func registrationRows(at provider: String? = nil) throws(Problem) -> [RegistrationRow] {
    try all(
      """
      SELECT provider, client_id, redirect, authentication, key_id, bound_origins, issued, expires_at,
        client_secret, private_key, properties, flow
      FROM registration \(provider == nil ? "" : "WHERE provider = ?1") ORDER BY provider, flow
      """, values: provider.map { [.text($0)] } ?? []
    ) { row throws(Problem) in
      var cells: [RegistrationColumn: [UInt8]] = [:]
      for (index, column) in RegistrationColumn.allCases.enumerated() {
        cells[column] = try row.optionalBlob(Int32(8 + index))
      }
      let flow = try row.text(11)
      guard flow.isEmpty || FlowKind(rawValue: flow) != nil else {
        throw Problem.damaged(path, "a registration is for an unknown flow")
      }
      return RegistrationRow(
        provider: try row.text(0), flow: FlowKind(rawValue: flow), clientID: try row.text(1),
        redirect: try row.optionalText(2),
        authentication: try row.optionalText(3), keyID: try row.optionalText(4),
        properties: try row.optionalText(10), boundOrigins: TextList.items(try row.text(5)),
        isIssued: try row.integer(6) != 0,
        expiresAt: try row.optionalInteger(7), cells: cells)
    }
  }

  /// Adds the row or replaces the one for the same provider and flow.
  func put(_ row: RegistrationRow) throws(Problem) {
    try run(
      RegistrationRow.upsert,
      .text(row.provider), .text(row.flow?.rawValue ?? ""), .text(row.clientID),
      .optional(row.redirect),
      .optional(row.authentication), .optional(row.keyID), .text(TextList.text(row.boundOrigins)),
      .integer(row.isIssued ? 1 : 0), .optional(row.expiresAt),
      .optional(row.cells[.clientSecret]), .optional(row.cells[.privateKey]),
      .optional(row.properties))
  }

  /// Returns `false` if there was no registration.
  func deleteRegistration(at provider: String, of flow: FlowKind?) throws(Problem) -> Bool {
    try run(
      "DELETE FROM registration WHERE provider = ?1 AND flow = ?2", .text(provider),
      .text(flow?.rawValue ?? ""))
    return changes > 0
  }
}

extension RegistrationStore {
  /// Registrations of a store in a database.
  static func ofDatabase(_ shared: any SharedStore) -> RegistrationStore {
    RegistrationStore(
      get: { provider, flow, patience throws(Problem) in
        try shared.read(patience, withKey: true) { store throws(Problem) -> StoredRegistration? in
          let rows = try store.connection.registrationRows(at: provider)
          guard let row = rows.first(where: { $0.flow == flow }) else { return nil }
          // A row without sealed cells needs no key.
          let key = row.cells.isEmpty ? nil : try store.storeKey()
          return try row.open(key: key, path: store.connection.path)
        } ?? nil
      },
      set: { provider, flow, registration, patience throws(Problem) in
        guard let registration else {
          return try shared.change(patience) { store throws(Problem) in
            guard try store.connection.deleteRegistration(at: provider, of: flow) else {
              return try store.connection.meta().revision
            }
            try store.connection.note(.registration(provider: provider))
            return try store.connection.nextRevision()
          } ?? 0
        }
        return try shared.write(patience, withKey: true) { store throws(Problem) in
          let former = try store.connection.registrationRows(at: provider).first {
            $0.flow == flow
          }
          guard registration.mayReplace(isIssued: former?.isIssued) else {
            return try store.connection.meta().revision
          }
          return try store.put(registration)
        }
      })
  }
}

extension OpenStore {
  /// Adds the registration or replaces the one for the same provider and flow. Returns the new
  /// revision.
  func put(_ registration: StoredRegistration) throws(Problem) -> Int64 {
    let row = RegistrationRow(registration, key: try storeKey())
    let revision = try connection.nextRevision(sealing: row.cells.count)
    try connection.put(row)
    try connection.note(.registration(provider: registration.provider))
    return revision
  }
}
