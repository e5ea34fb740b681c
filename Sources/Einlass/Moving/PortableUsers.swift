internal import EinlassCrypto
internal import EinlassJSON

/// A user with the verifier of the password, on the way from one store to another. Accounts are named
/// by provider and subject there, because an import gives them new ids.
struct PortableUser: Sendable {
  var user: User
  var verifier: Secret?
}

extension Einlass {
  /// Returns the users of all directories.
  func exportedUsers() throws(Problem) -> [PortableUser] {
    let isEmpty = try store.users.read { rows throws(Problem) in
      try rows.users(in: nil, after: .min, limit: 1).isEmpty
    }
    guard isEmpty == false else { return [] }
    // The verifiers need the key.
    return try store.users.change { rows throws(Problem) in
      var users: [PortableUser] = []
      while true {
        let page = try rows.users(in: nil, after: users.last?.user.position ?? .min, limit: 100)
        guard !page.isEmpty else { return users }
        for user in page {
          users.append(
            PortableUser(user: user, verifier: try rows.passwordVerifier(of: user.id)))
        }
      }
    }
  }

  /// Adds the users of a file in one transaction. A user of the same id, with one of the identities or
  /// with the address stays as it is. Returns the number of added users.
  func importUsers(_ users: [PortableUser]) throws(Problem) -> Int {
    guard !users.isEmpty else { return 0 }
    var moved: [PortableUser] = []
    for var portable in users {
      for index in portable.user.identities.indices {
        let place = portable.user.identities[index].place
        portable.user.identities[index].account = try store.read { reader throws(Problem) in
          try reader.accounts(of: place.provider, subject: place.subject, limit: 1)
            .first(where: \.isReported)?.id
        }
      }
      moved.append(portable)
    }
    return try store.users.change { rows throws(Problem) in
      var count = 0
      for portable in moved {
        let user = portable.user
        guard try rows.user(user.id) == nil else { continue }
        var isTaken = false
        for identity in user.identities where !isTaken {
          isTaken = try rows.user(at: identity.place, in: user.directory) != nil
        }
        if let address = user.email.flatMap(emailKey), !isTaken {
          isTaken = try rows.user(withEmail: address, in: user.directory) != nil
        }
        guard !isTaken else { continue }
        try rows.put(user)
        try rows.setPasswordVerifier(portable.verifier, of: user.id)
        try rows.note(.user(user.id, .added, scope: user.directory))
        count += 1
      }
      return count
    }
  }
}

extension JSONValue {
  init(portable: PortableUser) {
    let user = portable.user
    self = .object(
      JSONObject(present: [
        "id": .string(user.id.rawValue), "directory": .string(user.directory),
        "application": .string(user.application),
        "displayName": user.displayName.map(JSONValue.string),
        "email": user.email.map(JSONValue.string),
        "photo": user.photo.map(JSONValue.string), "createdAt": JSONValue(user.createdAt),
        "lastSignInAt": user.lastSignInAt.map { JSONValue($0) },
        "password": portable.verifier.map { .string(revealedText($0)) },
        "identities": .array(
          user.identities.map { identity in
            .object(
              JSONObject(present: [
                "provider": .string(identity.place.provider),
                "subject": .string(identity.place.subject),
                "email": identity.email.map(JSONValue.string),
                "providerDigest": identity.providerDigest.map(JSONValue.string),
              ]))
          }),
      ]))
  }
}

extension PortableUser {
  /// Returns `nil` for a user that this version would not have written.
  init?(portable value: JSONValue) {
    func text(_ name: String) -> String? { value[name]?.string }
    // Earlier versions kept empty texts of providers.
    let texts = ["displayName", "email", "photo"].map { text($0).flatMap { $0.isEmpty ? nil : $0 } }
    guard let id = text("id"), isIdentifier(id), let directory = text("directory"),
      directory.isEmpty || isIdentifier(directory), let application = text("application"),
      isIdentifier(application), let createdAt = value["createdAt"]?.int64, isTime(createdAt),
      value["lastSignInAt"]?.int64.map(isTime) ?? true,
      texts[..<2].allSatisfy({ $0.map(isDisplayable) ?? true }),
      texts[2].map({ isDisplayable($0, limitBytes: 8192) }) ?? true,
      let identities = value["identities"]?.array, identities.count <= 256
    else { return nil }
    user = User(
      id: User.ID(rawValue: id), directory: directory, application: application,
      createdAt: createdAt)
    user.displayName = texts[0]
    user.email = texts[1]
    user.photo = texts[2]
    user.lastSignInAt = value["lastSignInAt"]?.int64
    for identity in identities {
      guard let provider = identity["provider"]?.string, isIdentifier(provider),
        let subject = identity["subject"]?.string, isDisplayable(subject),
        user.identity(of: provider) == nil
      else { return nil }
      let email = identity["email"]?.string.flatMap { $0.isEmpty ? nil : $0 }
      guard email.map(isDisplayable) ?? true else { return nil }
      user.identities.append(
        User.Identity(
          place: User.Place(provider, subject), email: email,
          providerDigest: identity["providerDigest"]?.string))
    }
    // As after the unlinking of the last identity.
    if user.identities.isEmpty { user.email = nil }
    verifier = value["password"]?.string.map { Secret($0) }
    guard verifier.map({ PasswordVerifier($0) != nil }) ?? true else { return nil }
  }
}
