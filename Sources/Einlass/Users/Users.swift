public import EinlassCrypto
public import EinlassJSON

/// The user after a sign-in, a link or a new proof.
public struct SignedInUser: Sendable {
  public var user: User
  public var isNew: Bool
  /// The provider of the proof, or `password`.
  public var provider: String
  public var username: String?
  /// The provider's answer about the person, if it was asked for this request.
  public var profile: JSONObject?
}

/// The users of an application: `users.*` of the protocol. The rules are in `UserDirectory.swift`.
public struct Users: Sendable {
  let einlass: Einlass
  public let directory: UserDirectory
  let stretching: ScryptParameters

  /// `stretching` is the cost of new passwords.
  public init(
    _ directory: UserDirectory, in einlass: Einlass, stretching: ScryptParameters = .standard
  ) {
    self.directory = directory
    self.einlass = einlass
    self.stretching = stretching
  }

  private var store: UserStore { einlass.store.users }

  /// Signs in the person of a proof.
  ///
  /// Throws `accountExistsWithDifferentCredential`, `invalidCredential`, and the problems of asking
  /// the provider.
  public func signIn(_ proof: UserProof) async throws(Problem) -> SignedInUser {
    try await using(proof) { person, rows, now throws(Problem) in
      try directory.signIn(person, &rows, at: now, newID: newID)
    }
  }

  /// Links the person of a proof to a user.
  ///
  /// Throws `providerAlreadyLinked`, `credentialAlreadyInUse`, `emailAlreadyInUse`, and the problems
  /// of the proof.
  public func link(
    _ proof: UserProof, to user: User.ID? = nil
  ) async throws(Problem) -> SignedInUser {
    try await using(proof) { person, rows, _ throws(Problem) in
      try directory.link(person, to: subject(user), &rows)
    }
  }

  /// Throws the problems of a link or a new proof that are known without a provider, so that no
  /// person signs in there in vain. `provider` is the provider of a link, and `nil` if it is not
  /// known, or for a new proof.
  public func check(linking provider: String? = nil, to user: User.ID? = nil) throws(Problem) {
    guard let provider else {
      if user == nil { _ = try currentUser() }
      return
    }
    let id = providerID(provider)
    guard try self.user(user).identity(of: id) == nil else { throw .providerAlreadyLinked(id) }
  }

  /// Notes that the person of a proof has just proven to be the current user.
  ///
  /// Throws `nullUser`, `userMismatch`, and the problems of the proof.
  public func reauthenticate(_ proof: UserProof) async throws(Problem) -> SignedInUser {
    try await using(proof) { person, rows, now throws(Problem) in
      .user(try directory.reauthenticate(person, &rows, at: now), isNew: false)
    }
  }

  /// Returns the application's current user; `nil` without one.
  public func current(_ patience: AccountStore.Patience) throws(Problem) -> User? {
    try store.read(patience) { rows throws(Problem) in try directory.currentUser(rows) } ?? nil
  }

  /// Signs the current user out. Without one nothing happens.
  public func signOut(_ patience: AccountStore.Patience) throws(Problem) {
    guard try current(patience) != nil else { return }
    try store.change(patience) { rows throws(Problem) in
      try directory.become(nil, &rows)
    }
  }

  /// Removes an identity, or the password, of a user. See `UserDirectory.unlink`.
  public func unlink(
    _ provider: String, from user: User.ID?, evenTheLast: Bool, _ patience: AccountStore.Patience
  ) throws(Problem) -> User {
    try change(user, patience) { user, rows, now throws(Problem) in
      try directory.unlink(
        providerID(provider), from: user, evenTheLast: evenTheLast, &rows, at: now)
    }
  }

  /// Returns the id of the provider with this id or alias. A provider that has left the catalogue is
  /// known by its id.
  private func providerID(_ name: String) -> String { einlass.catalog.id(of: name) ?? name }

  /// Changes the profile of a user, and replaces the password, both or neither. See
  /// `UserDirectory.update` and `UserDirectory.setPassword`.
  public func update(
    _ profile: UserDirectory.Profile, password: Secret? = nil, of user: User.ID?
  ) throws(Problem) -> User {
    let profile = try profile.checked()
    var verifier: PasswordVerifier?
    if let password {
      // Before the costly derivation.
      _ = try self.user(user, recentlyAt: einlass.effects.now())
      verifier = try self.verifier(of: password)
    }
    return try change(user, .usual) { user, rows, now throws(Problem) in
      let updated = try directory.update(
        profile, of: user, withPassword: verifier != nil, &rows, at: now)
      guard let verifier else { return updated }
      return try directory.setPassword(verifier, of: user, &rows, at: now)
    }
  }

  /// Removes a user. See `UserDirectory.delete`.
  public func delete(_ user: User.ID?, _ patience: AccountStore.Patience) throws(Problem) {
    _ = try change(user, patience) { user, rows, now throws(Problem) in
      try directory.delete(user, &rows, at: now)
    }
  }

  /// Returns the providers by which the user with this address signs in; none without such a user.
  public func providers(
    forEmail email: String, _ patience: AccountStore.Patience
  ) throws(Problem) -> [String] {
    _ = try validAddress(email)
    return try store.read(patience) { rows throws(Problem) in
      try directory.providers(forEmail: email, rows)
    } ?? []
  }

  /// Returns the user that a request may change.
  private func user(
    _ id: User.ID?, _ patience: AccountStore.Patience = .usual, recentlyAt now: UnixTime? = nil
  ) throws(Problem) -> User {
    let user = try store.read(patience) { rows throws(Problem) in
      try directory.user(subject(id), rows, recentlyAt: now)
    }
    guard let user else { throw id == nil ? .nullUser : .userNotFound }
    return user
  }

  private func currentUser() throws(Problem) -> User {
    guard let user = try current(.usual) else { throw .nullUser }
    return user
  }

  /// Changes a user. A request about a user who is not there creates no store.
  private func change<Result>(
    _ id: User.ID?, _ patience: AccountStore.Patience,
    _ body:
      (UserDirectory.Subject, inout any UserRows, UnixTime) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    _ = try user(id, patience)
    return try store.change(patience) { rows throws(Problem) in
      try body(subject(id), &rows, einlass.effects.now())
    }
  }

  private func subject(_ user: User.ID?) -> UserDirectory.Subject {
    user.map { .named($0) } ?? .current
  }

  private func newID() -> User.ID {
    User.ID(rawValue: "u_" + Base64URL.encode(einlass.effects.randomBytes(16)))
  }

  /// Runs a change with the person of a proof. A pending credential is used up by the change that
  /// succeeds with it. The outcome `collision` and `alreadyLinked` leave one behind.
  private func using(
    _ proof: UserProof,
    _ change:
      (ProvenIdentity, inout any UserRows, UnixTime) throws(Problem) -> UserDirectory.Outcome
  ) async throws(Problem) -> SignedInUser {
    let found = try await einlass.person(of: proof, for: directory.application)
    let now = einlass.effects.now()
    let newText = "c_" + Base64URL.encode(einlass.effects.randomBytes(32))
    let result = try store.change { rows throws(Problem) -> Result<SignedInUser, Problem> in
      var person = found?.0
      var pending: [UInt8]?
      if case .pending(let text) = proof {
        pending = ProvenIdentity.digest(ofPending: text)
        person = try rows.pendingCredential(
          pending ?? [], of: directory.application, at: now
        ).flatMap(ProvenIdentity.init(packed:))
      }
      guard let person else { throw .noPendingCredential }
      func keep() throws(Problem) -> String {
        if case .pending(let text) = proof { return text }
        try rows.addPendingCredential(
          person.packed, ProvenIdentity.digest(ofPending: newText), of: directory.application,
          until: now + ProvenIdentity.pendingSeconds, at: now)
        return newText
      }
      switch try change(person, &rows, now) {
      case .user(let user, let isNew):
        if let pending { try rows.removePendingCredential(pending) }
        return .success(
          SignedInUser(
            user: user, isNew: isNew, provider: person.place.provider, username: person.username,
            profile: found?.profile))
      case .collision(let holder, let email):
        return .failure(
          .accountExists(
            Problem.Collision(
              email: email, providers: holder.identities.map(\.place.provider),
              pendingCredential: try keep())))
      case .foreignCollision(let holder, let email):
        return .failure(
          .accountExists(
            Problem.Collision(email: email, providers: holder.identities.map(\.place.provider))))
      case .alreadyLinked(let email):
        return .failure(
          .credentialAlreadyInUse(
            Problem.Collision(email: email, pendingCredential: try keep())))
      }
    }
    return try result.get()
  }
}

// MARK: - Passwords

extension Users {
  /// Makes a user with a password and signs it in.
  ///
  /// Throws `missingEmail`, `invalidEmail`, `weakPassword`, `emailAlreadyInUse`.
  public func create(
    email: String, password: Secret, _ profile: UserDirectory.Profile
  ) throws(Problem) -> SignedInUser {
    let address = try validAddress(email)
    let profile = try profile.checked()
    // Before the costly derivation.
    try store.read { rows throws(Problem) in
      try directory.requireFree(address, for: nil, rows)
    }
    let verifier = try verifier(of: password)
    let user = try store.change { rows throws(Problem) in
      try directory.create(
        email, verifier, profile, &rows, at: einlass.effects.now(), newID: newID)
    }
    return SignedInUser(user: user, isNew: true, provider: User.password)
  }

  /// Signs in the user with this address and password.
  ///
  /// Throws `userNotFound`, `wrongPassword`, and `tooManyRequests` after five wrong passwords in a
  /// row, of all processes together.
  public func signIn(
    email: String, password: Secret
  ) async throws(Problem) -> SignedInUser {
    let place = User.Place(User.password, try validAddress(email))
    let user = try store.read { rows throws(Problem) in
      try rows.user(at: place, in: directory.name)
    }
    guard let user = user ?? nil else { throw .userNotFound }
    return try await withPassword(of: user.id, password) { user, rows, now throws(Problem) in
      // Another process may have moved the address to another user during the check.
      guard user.identity(of: User.password)?.place == place else { throw .wrongPassword }
      var user = user
      try directory.signIn(&user, &rows, at: now, provenAt: now)
      return user
    }
  }

  /// Notes that the person has just proven to be the current user by the password.
  public func reauthenticate(
    password: Secret
  ) async throws(Problem) -> SignedInUser {
    let user = try currentUser()
    guard user.identity(of: User.password) != nil else { throw .noSuchProvider(User.password) }
    return try await withPassword(of: user.id, password) { user, rows, now throws(Problem) in
      guard let place = user.identity(of: User.password)?.place else { throw .userMismatch }
      var person = ProvenIdentity(place: place)
      person.provenAt = now
      return try directory.reauthenticate(person, &rows, at: now)
    }
  }

  /// Gives the user a first password, with the address that goes with it. Throws
  /// `providerAlreadyLinked` if there is one.
  public func link(
    email: String?, password: Secret, to user: User.ID?
  ) throws(Problem) -> SignedInUser {
    let now = einlass.effects.now()
    guard try self.user(user, recentlyAt: now).identity(of: User.password) == nil else {
      throw .providerAlreadyLinked(User.password)
    }
    let verifier = try verifier(of: password)
    let linked = try change(user, .usual) { user, rows, now throws(Problem) in
      try directory.linkPassword(verifier, email, to: user, &rows, at: now)
    }
    return SignedInUser(user: linked, isNew: false, provider: User.password)
  }

  private func verifier(of password: Secret) throws(Problem) -> PasswordVerifier {
    guard revealedText(password).count >= PasswordVerifier.leastCharacters else {
      throw .weakPassword
    }
    return try PasswordVerifier(
      password, stretching: stretching, randomBytes: einlass.effects.randomBytes)
  }

  /// Runs a change if the password is right. One process at a time checks passwords of a user, so
  /// that all of them count together.
  private func withPassword(
    of id: User.ID, _ password: Secret,
    _ change: (User, inout any UserRows, UnixTime) throws(Problem) -> User
  ) async throws(Problem) -> SignedInUser {
    let login = directory.login(id)
    let refusals = einlass.store.ownServers
    let lease = try await einlass.store.lease(login.leaseName, waiting: einlass.effects)
    defer { lease.keepAlive() }
    let now = einlass.effects.now()
    if let count = try refusals.refusals(login), count.secondsLeft(at: now) > 0 {
      throw .tooManyRequests(count.count, seconds: count.secondsLeft(at: now))
    }
    let kept = try store.change { rows throws(Problem) in try rows.passwordVerifier(of: id) }
    guard let kept, let verifier = PasswordVerifier(kept), try verifier.verifies(password) else {
      try refusals.noteRefusal(login, password, now)
      throw .wrongPassword
    }
    if try refusals.refusals(login) != nil { try refusals.forgetRefusals(login) }
    let user = try store.change { rows throws(Problem) in
      // Another process may have changed the password during the check.
      guard let user = try rows.user(id), try rows.passwordVerifier(of: id) == kept else {
        throw Problem.wrongPassword
      }
      return try change(user, &rows, einlass.effects.now())
    }
    return SignedInUser(user: user, isNew: false, provider: User.password)
  }
}
