internal import Einlass
internal import EinlassCrypto

extension UserStore {
  /// The users of a store in a database.
  static func ofDatabase(_ shared: any SharedStore) -> UserStore {
    UserStore(
      reading: { patience, body throws(Problem) in
        _ = try shared.read(patience) { store throws(Problem) in
          try body(DatabaseUsers(store: store))
        }
      },
      changing: { patience, body throws(Problem) in
        try shared.write(patience, withKey: true) { store throws(Problem) in
          let users = DatabaseUsers(store: store)
          var rows: any UserRows = users
          let before = store.connection.countChanges
          try body(&rows)
          if store.connection.countChanges != before { _ = try store.connection.nextRevision() }
        }
      })
  }
}

/// The tables of the users: `user`, `user_identity`, `user_password`,
/// `current_user` and `pending_credential`.
private struct DatabaseUsers: UserRows {
  let store: OpenStore

  func user(_ id: User.ID) throws(Problem) -> User? {
    try store.connection.users("WHERE id = ?1", [.text(id.rawValue)]).first
  }

  func user(at place: User.Place, in directory: String) throws(Problem) -> User? {
    try store.connection.users(
      """
      WHERE id = (SELECT "user" FROM user_identity
        WHERE directory = ?1 AND provider = ?2 AND subject = ?3)
      """, [.text(directory), .text(place.provider), .text(place.subject)]
    ).first
  }

  func user(withEmail key: String, in directory: String) throws(Problem) -> User? {
    try store.connection.users(
      "WHERE directory = ?1 AND email_key = ?2 ORDER BY position LIMIT 1",
      [.text(directory), .text(key)]
    ).first
  }

  func user(withIdentityEmail key: String, in directory: String) throws(Problem) -> User? {
    try store.connection.users(
      """
      WHERE id IN (SELECT "user" FROM user_identity WHERE directory = ?1 AND email_key = ?2)
      ORDER BY position LIMIT 1
      """, [.text(directory), .text(key)]
    ).first
  }

  func users(
    in directory: String?, after position: Int64, limit: Int
  ) throws(Problem) -> [User] {
    try store.connection.users(
      """
      WHERE position > ?1 \(directory == nil ? "" : "AND directory = ?3")
      ORDER BY position LIMIT ?2
      """,
      [.integer(position), .integer(Int64(limit))] + (directory.map { [.text($0)] } ?? []))
  }

  func put(_ user: User) throws(Problem) {
    let former = try self.user(user.id)
    try store.connection.put(user, isNew: former == nil)
    guard former?.identities ?? [] != user.identities else { return }
    try store.connection.run(
      "DELETE FROM user_identity WHERE \"user\" = ?1", .text(user.id.rawValue))
    for (index, identity) in user.identities.enumerated() {
      try store.connection.insert(identity, index, of: user)
    }
  }

  func remove(_ id: User.ID) throws(Problem) {
    try store.connection.run("DELETE FROM \"user\" WHERE id = ?1", .text(id.rawValue))
  }

  func currentUser(of application: String) throws(Problem) -> CurrentUser? {
    try store.connection.first(
      "SELECT \"user\", signed_in_at FROM \"current_user\" WHERE application = ?1",
      .text(application)
    ) { row throws(Problem) in
      CurrentUser(user: User.ID(rawValue: try row.text(0)), provenAt: try row.integer(1))
    }
  }

  func setCurrentUser(_ user: CurrentUser?, of application: String) throws(Problem) {
    guard let user else {
      return try store.connection.run(
        "DELETE FROM \"current_user\" WHERE application = ?1", .text(application))
    }
    try store.connection.run(
      SQLiteConnection.upsert(
        "\"current_user\"", key: ["application"], ["\"user\"", "signed_in_at"]),
      .text(application), .text(user.user.rawValue), .integer(user.provenAt))
  }

  func passwordVerifier(of id: User.ID) throws(Problem) -> Secret? {
    let sealed = try store.connection.first(
      "SELECT verifier FROM user_password WHERE \"user\" = ?1", .text(id.rawValue)
    ) { row throws(Problem) in try row.blob(0) }
    guard let sealed else { return nil }
    return try store.openVerifier(sealed, of: id.rawValue, by: store.storeKey())
  }

  func setPasswordVerifier(_ verifier: Secret?, of id: User.ID) throws(Problem) {
    guard let verifier else {
      return try store.connection.run(
        "DELETE FROM user_password WHERE \"user\" = ?1", .text(id.rawValue))
    }
    try store.connection.countEncryptions(1)
    try store.connection.putVerifier(
      try store.storeKey().seal(verifier, in: .verifier(of: id.rawValue)), of: id.rawValue)
  }

  func pendingCredential(
    _ digest: [UInt8], of application: String, at now: UnixTime
  ) throws(Problem) -> Secret? {
    let row = try store.connection.first(
      "SELECT ends_at, contents FROM pending_credential WHERE digest = ?1 AND application = ?2",
      .blob(digest), .text(application)
    ) { row throws(Problem) in
      PendingRow(
        digest: digest, application: application, end: try row.integer(0),
        contents: try row.blob(1))
    }
    guard let row, row.end > now else { return nil }
    return try store.storeKey().open(row.contents, in: row.cell)
  }

  func addPendingCredential(
    _ contents: Secret, _ digest: [UInt8], of application: String, until end: UnixTime,
    at now: UnixTime
  ) throws(Problem) {
    try store.connection.run("DELETE FROM pending_credential WHERE ends_at <= ?1", .integer(now))
    try store.connection.countEncryptions(1)
    var row = PendingRow(digest: digest, application: application, end: end, contents: [])
    row.contents = try store.storeKey().seal(contents, in: row.cell)
    try store.connection.put(row)
  }

  func removePendingCredential(_ digest: [UInt8]) throws(Problem) {
    try store.connection.run("DELETE FROM pending_credential WHERE digest = ?1", .blob(digest))
  }

  func note(_ change: StoreChange) throws(Problem) { try store.connection.note(change) }
}

/// A row of `pending_credential`. `contents` is sealed to the other columns.
private struct PendingRow {
  var digest: [UInt8]
  var application: String
  var end: UnixTime
  var contents: [UInt8]

  var cell: SealedCell {
    SealedCell(
      table: "pending_credential", column: "contents", account: application, binding: digest,
      row: Digest.sha256(Canonical.bytes([Array("\(end)".utf8)])))
  }
}

extension SealedCell {
  fileprivate static func verifier(of user: String) -> SealedCell {
    SealedCell(table: "user_password", column: "verifier", account: user, binding: [], row: [])
  }
}

extension OpenStore {
  fileprivate func openVerifier(
    _ sealed: [UInt8], of user: String, by key: StoreKey
  ) throws(Problem) -> Secret {
    guard let verifier = key.open(sealed, in: .verifier(of: user)) else {
      throw .store(
        .decryptFailed,
        "The password of user \(user) in \(connection.path) does not decrypt, because it is damaged or was edited without the store's key.",
        advice: .linkPasswordAgain,
        path: connection.path)
    }
    return verifier
  }

  /// Compares the keys of the addresses.
  func inspectAddresses(_ check: inout StoreMaintenance.Check) throws(Problem) {
    for (table, user, advice) in [
      ("\"user\"", "id", Problem.Advice.changeAddress),
      ("user_identity", "\"user\"", Problem.Advice.linkIdentityAgain),
    ] {
      try connection.each("SELECT \(user), email, email_key FROM \(table)", []) {
        row throws(Problem) in
        let key = try row.optionalText(2)
        let address = try row.optionalText(1).flatMap(emailKey)
        guard address.map({ Array($0.utf8) }) != key.map({ Array($0.utf8) }) else { return true }
        let user = presentable(try row.text(0), limitBytes: 64)
        check.add(
          .init(
            .damage,
            "An address of the user \(user) is not found by a search.", advice: advice
          ))
        return true
      }
    }
  }

  /// Opens every password. A pending credential that does not open is no finding, because it lasts only
  /// minutes.
  func inspectPasswords(_ check: inout StoreMaintenance.Check, _ key: StoreKey) throws(Problem) {
    for row in try passwordRows() {
      check.sealedValues += 1
      do throws(Problem) { _ = try openVerifier(row.sealed, of: row.user, by: key) } catch {
        check.add(.init(.undecryptable, error))
      }
    }
  }

  private func passwordRows() throws(Problem) -> [(user: String, sealed: [UInt8])] {
    try connection.all("SELECT \"user\", verifier FROM user_password") { row throws(Problem) in
      (user: try row.text(0), sealed: try row.blob(1))
    }
  }

  /// Seals the passwords and pending credentials under a new key. Returns their number. A pending
  /// credential that does not open is removed, because it lasts only minutes.
  func resealUsers(from old: StoreKey, to new: StoreKey) throws(Problem) -> Int {
    let verifiers = try passwordRows()
    for row in verifiers {
      let verifier = try openVerifier(row.sealed, of: row.user, by: old)
      try connection.putVerifier(
        new.seal(verifier, in: .verifier(of: row.user)), of: row.user)
    }
    let pending = try connection.all(
      "SELECT digest, application, ends_at, contents FROM pending_credential"
    ) { row throws(Problem) in
      PendingRow(
        digest: try row.blob(0), application: try row.text(1), end: try row.integer(2),
        contents: try row.blob(3))
    }
    try connection.run("DELETE FROM pending_credential")
    for var row in pending {
      guard let contents = old.open(row.contents, in: row.cell) else { continue }
      row.contents = new.seal(contents, in: row.cell)
      try connection.put(row)
    }
    return verifiers.count + pending.count
  }
}

extension Database {
  /// Returns the users that a condition selects, with their identities.
  fileprivate func users(_ condition: String, _ values: [SQLValue]) throws(Problem) -> [User] {
    var users = try all(
      """
      SELECT position, id, directory, application, display_name, email, email_verified, photo,
        created_at, last_sign_in_at
      FROM "user" \(condition)
      """, values: values
    ) { row throws(Problem) in
      var user = User(
        id: User.ID(rawValue: try row.text(1)), directory: try row.text(2),
        application: try row.text(3), createdAt: try row.integer(8))
      user.position = try row.integer(0)
      user.displayName = try row.optionalText(4)
      user.email = try row.optionalText(5)
      user.isEmailVerified = try row.integer(6) != 0
      user.photo = try row.optionalText(7)
      user.lastSignInAt = try row.optionalInteger(9)
      return user
    }
    for index in users.indices {
      users[index].identities = try all(
        """
        SELECT provider, subject, email, account, provider_digest FROM user_identity
        WHERE "user" = ?1 ORDER BY position
        """, .text(users[index].id.rawValue)
      ) { row throws(Problem) in
        User.Identity(
          place: User.Place(try row.text(0), try row.text(1)), email: try row.optionalText(2),
          account: try row.optionalText(3).map(Account.ID.init(rawValue:)),
          providerDigest: try row.optionalText(4))
      }
    }
    return users
  }

  fileprivate func put(_ user: User, isNew: Bool) throws(Problem) {
    try run(
      // An upsert would use up a position for a known user.
      isNew
        ? """
        INSERT INTO "user" (id, directory, application, display_name, email, email_key,
          email_verified, photo, created_at, last_sign_in_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        """
        : """
        UPDATE "user" SET display_name = ?4, email = ?5, email_key = ?6, email_verified = ?7,
          photo = ?8, last_sign_in_at = ?10
        WHERE id = ?1
        """,
      .text(user.id.rawValue), .text(user.directory), .text(user.application),
      .optional(user.displayName), .optional(user.email), .optional(user.email.flatMap(emailKey)),
      .integer(user.isEmailVerified ? 1 : 0), .optional(user.photo), .integer(user.createdAt),
      .optional(user.lastSignInAt))
  }

  fileprivate func insert(
    _ identity: User.Identity, _ index: Int, of user: User
  ) throws(Problem) {
    try run(
      """
      INSERT INTO user_identity (directory, provider, subject, "user", position, email, email_key,
        account, provider_digest)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      """,
      .text(user.directory), .text(identity.place.provider), .text(identity.place.subject),
      .text(user.id.rawValue), .integer(Int64(index)), .optional(identity.email),
      .optional(identity.email.flatMap(emailKey)), .optional(identity.account?.rawValue),
      .optional(identity.providerDigest))
  }

  fileprivate func putVerifier(_ sealed: [UInt8], of user: String) throws(Problem) {
    try run(
      SQLiteConnection.upsert("user_password", key: ["\"user\""], ["verifier"]), .text(user),
      .blob(sealed))
  }

  fileprivate func put(_ row: PendingRow) throws(Problem) {
    try run(
      """
      INSERT INTO pending_credential (digest, application, ends_at, contents)
      VALUES (?1, ?2, ?3, ?4)
      """, .blob(row.digest), .text(row.application), .integer(row.end), .blob(row.contents))
  }
}
