internal import EinlassCrypto
internal import EinlassJSON

/// A password of the directory as it is kept: `scrypt N r p SALT KEY`, salt and key in hexadecimal.
struct PasswordVerifier {
  /// The shortest password in characters.
  static let leastCharacters = 6

  private let stretching: ScryptParameters
  private let salt: [UInt8]
  private let key: [UInt8]

  /// Derives the verifier of a new password. `randomBytes`: from `Effects`.
  init(
    _ password: Secret, stretching: ScryptParameters, randomBytes: (Int) -> [UInt8]
  ) throws(Problem) {
    self.stretching = stretching
    salt = randomBytes(ScryptParameters.saltCount)
    key = try Self.key(of: password, stretching, salt)
  }

  /// Parses a kept verifier; `nil` for another text.
  init?(_ kept: Secret) {
    let words = revealedText(kept).split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 6,
      let stretching = ScryptParameters(words[..<4].joined(separator: " ")),
      let salt = Hexadecimal.decode(String(words[4])), salt.count == ScryptParameters.saltCount,
      let key = Hexadecimal.decode(String(words[5])), !key.isEmpty
    else { return nil }
    (self.stretching, self.salt, self.key) = (stretching, salt, key)
  }

  var kept: Secret {
    Secret("\(stretching.text) \(Hexadecimal.encode(salt)) \(Hexadecimal.encode(key))")
  }

  func verifies(_ password: Secret) throws(Problem) -> Bool {
    constantTimeEqual(try Self.key(of: password, stretching, salt), key)
  }

  private static func key(
    of password: Secret, _ stretching: ScryptParameters, _ salt: [UInt8]
  ) throws(Problem) -> [UInt8] {
    guard let key = stretching.key(of: password, salt: salt) else {
      throw .store(
        .refused,
        "There is not enough memory to check a password.", advice: .freeMemory)
    }
    return revealedBytes(key)
  }
}

extension UserDirectory {
  /// Returns the key of the refusals of a password, as of a login at a server.
  func login(_ user: User.ID) -> OwnServerStore.Login {
    OwnServerStore.Login(server: "users", username: user.rawValue)
  }

  /// Makes a user with a password and signs it in.
  func create(
    _ email: String, _ verifier: PasswordVerifier, _ profile: Profile,
    _ rows: inout any UserRows, at now: UnixTime, newID: () -> User.ID
  ) throws(Problem) -> User {
    let address = try validAddress(email)
    try requireFree(address, for: nil, rows)
    let place = User.Place(User.password, address)
    guard try rows.user(at: place, in: name) == nil else { throw .emailAlreadyInUse }
    var user = User(id: newID(), directory: name, application: application, createdAt: now)
    user.email = email
    user.displayName = profile.displayName.flatMap { $0.isEmpty ? nil : $0 }
    user.photo = profile.photo.flatMap { $0.isEmpty ? nil : $0 }
    user.identities = [User.Identity(place: place, email: email)]
    try signIn(&user, &rows, at: now, provenAt: now)
    try rows.setPasswordVerifier(verifier.kept, of: user.id)
    return user
  }

  /// Gives a user the first password. Needs a recent sign-in, because the password is a proof from then
  /// on.
  ///
  /// - Parameter email: the address that goes with it; `nil` for the user's.
  func linkPassword(
    _ verifier: PasswordVerifier, _ email: String?, to subject: Subject,
    _ rows: inout any UserRows, at now: UnixTime
  ) throws(Problem) -> User {
    var user = try user(subject, rows, recentlyAt: now)
    guard user.identity(of: User.password) == nil else {
      throw .providerAlreadyLinked(User.password)
    }
    guard let email = email ?? user.email else { throw .missingEmail }
    let address = try validAddress(email)
    try requireFree(address, for: user, rows)
    let place = User.Place(User.password, address)
    guard try rows.user(at: place, in: user.directory) == nil else { throw .emailAlreadyInUse }
    user.identities.append(User.Identity(place: place, email: email))
    if !isSameAddress(user.email, email) {
      user.email = email
      user.isEmailVerified = false
    }
    try rows.put(user)
    return try keep(verifier, of: user, &rows)
  }

  /// Replaces the password of a user, or gives the user with an address the first one. Needs a
  /// recent sign-in.
  func setPassword(
    _ verifier: PasswordVerifier, of subject: Subject, _ rows: inout any UserRows, at now: UnixTime
  ) throws(Problem) -> User {
    let user = try user(subject, rows, recentlyAt: now)
    guard user.identity(of: User.password) != nil else {
      return try linkPassword(verifier, nil, to: subject, &rows, at: now)
    }
    return try keep(verifier, of: user, &rows)
  }

  private func keep(
    _ verifier: PasswordVerifier, of user: User, _ rows: inout any UserRows
  ) throws(Problem) -> User {
    try rows.setPasswordVerifier(verifier.kept, of: user.id)
    try rows.note(.user(user.id, .updated, scope: user.directory))
    return user
  }
}
