internal import EinlassJSON

/// A directory of users and its rules, for one application. Each function is one change within a
/// transaction.
public struct UserDirectory: Sendable {
  /// The application of the directory; empty for the shared one.
  public var name: String
  /// The calling application.
  public var application: String
  /// Whether an address belongs to one user only.
  public var hasOneUserPerEmail: Bool
  /// The age in seconds from which a sign-in is not recent. Only a proof by the person counts,
  /// because the application can name an account or keep a token without the person.
  public var recentSeconds: Int64

  public init(
    name: String, application: String, hasOneUserPerEmail: Bool = true, recentSeconds: Int64 = 300
  ) {
    self.name = name
    self.application = application
    self.hasOneUserPerEmail = hasOneUserPerEmail
    self.recentSeconds = recentSeconds
  }

  /// The outcome of a sign-in or a link.
  enum Outcome {
    case user(User, isNew: Bool)
    /// The address of the identity is another user's, so the person must prove to be that user.
    case collision(User, email: String)
    /// The same with a user that another application has made, so that nothing can be linked here.
    case foreignCollision(User, email: String)
    /// Another request has linked the identity to a user.
    case alreadyLinked(email: String?)
  }
}

// MARK: - Signing in

extension UserDirectory {
  /// Returns the user of a proven identity: the one that it is linked to, the one with the same
  /// verified address, or a new one. It becomes the application's current user.
  ///
  /// Two users merge only if the provider has verified the address and another one has verified it
  /// for the existing user. A user with an unverified address may have been made by anybody. A merge
  /// changes the user, so only the application that made the user does it.
  func signIn(
    _ person: ProvenIdentity, _ rows: inout any UserRows, at now: UnixTime, newID: () -> User.ID
  ) throws(Problem) -> Outcome {
    let address = person.email.flatMap(emailKey)
    var user: User
    var isNew = false
    if let known = try rows.user(at: person.place, in: name) {
      try known.requireSameProvider(as: person)
      user = known
      user.adopt(person)
    } else if hasOneUserPerEmail, let address,
      let holder = try rows.user(withEmail: address, in: name)
    {
      guard person.isEmailVerified, holder.isEmailVerified,
        sameBytes(holder.application, application)
      else {
        return sameBytes(holder.application, application)
          ? .collision(holder, email: person.email ?? address)
          : .foreignCollision(holder, email: person.email ?? address)
      }
      user = holder
      // The same provider now names another person for the address.
      user.identities.removeAll { sameBytes($0.place.provider, person.place.provider) }
      user.link(person)
      user.displayName = person.displayName ?? user.displayName
      user.photo = person.photo ?? user.photo
    } else {
      isNew = true
      user = User(id: newID(), directory: name, application: application, createdAt: now)
      user.displayName = person.displayName
      user.photo = person.photo
      if hasOneUserPerEmail, address != nil {
        user.email = person.email
        user.isEmailVerified = person.isEmailVerified
      }
      user.link(person)
    }
    try signIn(&user, &rows, at: now, provenAt: person.provenAt)
    return .user(user, isNew: isNew)
  }

  /// Stores the user and makes it the application's current one.
  func signIn(
    _ user: inout User, _ rows: inout any UserRows, at now: UnixTime, provenAt: UnixTime?
  ) throws(Problem) {
    let former = try rows.user(user.id)
    user.lastSignInAt = now
    try rows.put(user)
    user = try rows.user(user.id) ?? user
    try rows.noteChange(of: user, from: former)
    // The newest proof of the same user counts. After a step of the clock back the last one may be of
    // the future, and would outlast the new one.
    let last = try rows.currentUser(of: application).flatMap { $0.user == user.id ? $0 : nil }
    let proofs = [provenAt, last?.provenAt].compactMap(\.self).filter { $0 <= now }
    try become(CurrentUser(user: user.id, provenAt: proofs.max() ?? 0), &rows)
  }

  /// Makes the user the application's current one.
  func become(_ user: CurrentUser?, _ rows: inout any UserRows) throws(Problem) {
    let former = try rows.currentUser(of: application)
    try rows.setCurrentUser(user, of: application)
    guard former?.user != user?.user else { return }
    if let user {
      try rows.note(.user(user.user, .signedIn, scope: application))
    } else if let former {
      try rows.note(.user(former.user, .signedOut, scope: application))
    }
  }

  /// Returns the application's current user; `nil` without one, and for one of the directory that the
  /// configuration named before.
  func currentUser(_ rows: any UserRows) throws(Problem) -> User? {
    guard let current = try rows.currentUser(of: application),
      let user = try rows.user(current.user), sameBytes(user.directory, name)
    else { return nil }
    return user
  }

  /// Returns the application's current user. Throws `nullUser` without one.
  func requiredCurrentUser(_ rows: any UserRows) throws(Problem) -> User {
    guard let user = try currentUser(rows) else { throw .nullUser }
    return user
  }

  /// Notes that the person has just proven to be the current user. Throws `userMismatch` for an
  /// identity of somebody else, and `requiresRecentLogin` for a proof that is not recent.
  func reauthenticate(
    _ person: ProvenIdentity, _ rows: inout any UserRows, at now: UnixTime
  ) throws(Problem) -> User {
    var user = try requiredCurrentUser(rows)
    guard user.identities.contains(where: { $0.place == person.place }) else {
      throw .userMismatch
    }
    try user.requireSameProvider(as: person)
    guard isRecent(person.provenAt ?? 0, at: now) else {
      throw .staleProof(of: person.place.provider, seconds: recentSeconds)
    }
    try signIn(&user, &rows, at: now, provenAt: person.provenAt)
    return user
  }
}

// MARK: - Changing

extension UserDirectory {
  /// The user that a request changes.
  enum Subject {
    /// The application's current one, which the application may change if it has made it.
    case current
    /// The one with this id, changed by the person.
    case named(User.ID)
  }

  /// Returns the user that a request may change.
  ///
  /// - Parameter now: for changes that need a recent sign-in of the current user: the time.
  func user(
    _ subject: Subject, _ rows: any UserRows, recentlyAt now: UnixTime? = nil
  ) throws(Problem) -> User {
    switch subject {
    case .named(let id):
      guard let user = try rows.user(id) else { throw .userNotFound }
      return user
    case .current:
      let user = try requiredCurrentUser(rows)
      guard sameBytes(user.application, application) else {
        throw .madeByAnother(user.application)
      }
      if let now { try requireRecentSignIn(of: user, rows, at: now) }
      return user
    }
  }

  private func requireRecentSignIn(
    of user: User, _ rows: any UserRows, at now: UnixTime
  ) throws(Problem) {
    guard let current = try rows.currentUser(of: application), isRecent(current.provenAt, at: now)
    else { throw .requiresRecentLogin(user, seconds: recentSeconds) }
  }

  private func isRecent(_ proof: UnixTime, at now: UnixTime) -> Bool {
    // A step of the clock back makes no proof recent.
    proof <= now && proof >= now - recentSeconds
  }

  /// Links a proven identity to a user.
  func link(
    _ person: ProvenIdentity, to subject: Subject, _ rows: inout any UserRows
  ) throws(Problem) -> Outcome {
    let former = try user(subject, rows)
    guard former.identity(of: person.place.provider) == nil else {
      throw .providerAlreadyLinked(person.place.provider)
    }
    guard try rows.user(at: person.place, in: former.directory) == nil else {
      return .alreadyLinked(email: person.email)
    }
    let address = person.email.flatMap(emailKey)
    if hasOneUserPerEmail, let address { try requireFree(address, for: former, rows) }
    var user = former
    user.link(person)
    if hasOneUserPerEmail, user.email == nil, address != nil { user.email = person.email }
    user.adopt(person)
    try rows.put(user)
    try rows.noteChange(of: user, from: former)
    return .user(user, isNew: false)
  }

  /// Throws `emailAlreadyInUse` if another user has the address.
  func requireFree(
    _ address: String, for user: User?, in directory: String? = nil, _ rows: any UserRows
  ) throws(Problem) {
    let holder = try rows.user(withEmail: address, in: directory ?? user?.directory ?? name)
    if let holder, holder.id != user?.id { throw .emailAlreadyInUse }
  }

  /// Removes the user's identity of a provider, or the password.
  ///
  /// The last identity is removed only if this is asked for, and after a recent sign-in, because
  /// nobody can sign in as the user any more. The user's address becomes free then, so that it does not
  /// keep people from making another user.
  func unlink(
    _ provider: String, from subject: Subject, evenTheLast: Bool, _ rows: inout any UserRows,
    at now: UnixTime
  ) throws(Problem) -> User {
    let former = try user(subject, rows)
    guard let identity = former.identity(of: provider) else { throw .noSuchProvider(provider) }
    var user = former
    user.identities.removeAll { $0.place == identity.place }
    if user.identities.isEmpty {
      guard evenTheLast else { throw .lastIdentity(provider) }
      _ = try self.user(subject, rows, recentlyAt: now)
    }
    let isPassword = sameBytes(provider, User.password)
    if isPassword { try rows.setPasswordVerifier(nil, of: user.id) }
    if user.identities.isEmpty
      || isPassword && !user.identities.contains(where: { isSameAddress($0.email, identity.email) })
    {
      user.email = nil
      user.isEmailVerified = false
    }
    try rows.put(user)
    try rows.noteChange(of: user, from: former)
    return user
  }

  /// Removes a user. Needs a recent sign-in.
  func delete(
    _ subject: Subject, _ rows: inout any UserRows, at now: UnixTime
  ) throws(Problem) -> User {
    let user = try user(subject, rows, recentlyAt: now)
    if case .current = subject { try become(nil, &rows) }
    try rows.remove(user.id)
    try rows.note(.user(user.id, .removed, scope: user.directory))
    return user
  }

  /// The changes of a profile. An empty text removes a name or a picture.
  public struct Profile: Sendable {
    public var displayName: String?
    public var photo: String?
    public var email: String?

    public init(displayName: String? = nil, photo: String? = nil, email: String? = nil) {
      self.displayName = displayName
      self.photo = photo
      self.email = email
    }

    /// Returns the profile if its texts can be shown. Throws `invalidParameter`.
    func checked() throws(Problem) -> Profile {
      for (name, text) in [("displayName", displayName), ("photo", photo)] {
        guard let text, !text.isEmpty, !isDisplayable(text) else { continue }
        throw .invalidParameter(
          "/\(name)", "The parameter /\(name) must be without control characters.")
      }
      return self
    }
  }

  /// Changes a profile. Another address needs a recent sign-in, and is the user name of the password
  /// from then on. A user without a way to sign in takes no address, because nobody could free it by a
  /// sign-in; an address with a first password is accepted.
  func update(
    _ profile: Profile, of subject: Subject, withPassword: Bool = false,
    _ rows: inout any UserRows, at now: UnixTime
  ) throws(Problem) -> User {
    let former = try user(subject, rows)
    var user = former
    if let name = profile.displayName { user.displayName = name.isEmpty ? nil : name }
    if let photo = profile.photo { user.photo = photo.isEmpty ? nil : photo }
    if let email = profile.email {
      let address = try validAddress(email)
      guard withPassword || !user.identities.isEmpty else { throw .addressWithoutSignIn }
      if !isSameAddress(user.email, address) {
        _ = try self.user(subject, rows, recentlyAt: now)
        user.isEmailVerified = false
      }
      try requireFree(address, for: user, rows)
      user.email = email
      for index in user.identities.indices
      where sameBytes(user.identities[index].place.provider, User.password) {
        let place = User.Place(User.password, address)
        let holder = try rows.user(at: place, in: user.directory)
        guard holder == nil || holder?.id == user.id else { throw .emailAlreadyInUse }
        user.identities[index].place = place
        user.identities[index].email = email
      }
    }
    try rows.put(user)
    try rows.noteChange(of: user, from: former)
    return user
  }

  /// Returns the providers by which the user with this address signs in. With several users for an
  /// address only `password` tells which one is meant.
  func providers(forEmail email: String, _ rows: any UserRows) throws(Problem) -> [String] {
    let address = try validAddress(email)
    guard hasOneUserPerEmail else {
      let holder = try rows.user(at: .init(User.password, address), in: name)
      return holder == nil ? [] : [User.password]
    }
    let user =
      if let user = try rows.user(withEmail: address, in: name) {
        user
      } else {
        try rows.user(withIdentityEmail: address, in: name)
      }
    return user?.identities.map(\.place.provider) ?? []
  }
}

/// Returns the key of an address. Throws `missingEmail` for an empty one and `invalidEmail`.
func validAddress(_ email: String) throws(Problem) -> String {
  guard !email.isEmpty else { throw .missingEmail }
  guard let key = emailKey(email) else { throw .invalidEmail }
  return key
}

extension User {
  /// Adds the identity.
  fileprivate mutating func link(_ person: ProvenIdentity) {
    identities.append(
      Identity(
        place: person.place, email: person.email, account: person.account,
        providerDigest: person.providerDigest))
  }

  /// Throws `bindingMismatch` if the user's identity is of a different provider with the same id.
  fileprivate func requireSameProvider(as person: ProvenIdentity) throws(Problem) {
    let known = identities.first { $0.place == person.place }?.providerDigest
    guard sameBytes(known ?? person.providerDigest, person.providerDigest)
    else { throw .otherProvider(person.place.provider, of: self) }
  }

  /// Takes over the current state of an identity that the user has. The name and the picture of the
  /// user change only if there is none.
  fileprivate mutating func adopt(_ person: ProvenIdentity) {
    guard let index = identities.firstIndex(where: { $0.place == person.place }) else { return }
    identities[index].email = person.email ?? identities[index].email
    identities[index].account = person.account ?? identities[index].account
    identities[index].providerDigest = identities[index].providerDigest ?? person.providerDigest
    displayName = displayName ?? person.displayName
    photo = photo ?? person.photo
    if person.isEmailVerified, isSameAddress(person.email, email) { isEmailVerified = true }
  }
}

extension UserRows {
  /// Records the part of a change that front ends see.
  fileprivate mutating func noteChange(of user: User, from former: User?) throws(Problem) {
    guard var former else { return try note(.user(user.id, .added, scope: user.directory)) }
    former.lastSignInAt = user.lastSignInAt
    if former != user { try note(.user(user.id, .updated, scope: user.directory)) }
  }
}
