internal import EinlassJSON

/// A person in a directory of users. Holds no secret.
public struct User: Sendable, Equatable {
  /// `u_` and 128 random bits in base64url; compares as bytes.
  public struct ID: RawRepresentable, Hashable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static func == (left: ID, right: ID) -> Bool {
      sameBytes(left.rawValue, right.rawValue)
    }

    public func hash(into hasher: inout Hasher) {
      for byte in rawValue.utf8 { hasher.combine(byte) }
    }
  }

  /// The key of an identity: a person at a provider. Compares as bytes.
  public struct Place: Hashable, Sendable {
    /// The provider's id in the catalogue, or `password`.
    public var provider: String
    /// The provider's id of the person; for `password` the `emailKey` of the address.
    public var subject: String

    public init(_ provider: String, _ subject: String) {
      self.provider = provider
      self.subject = subject
    }

    public static func == (left: Place, right: Place) -> Bool {
      sameBytes(left.provider, right.provider) && sameBytes(left.subject, right.subject)
    }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(Array(provider.utf8))
      hasher.combine(Array(subject.utf8))
    }
  }

  /// A way to sign in as the user.
  public struct Identity: Sendable, Equatable {
    public var place: Place
    public var email: String?
    /// The account of the person in the store; it may have been removed since.
    public var account: Account.ID?
    /// `Provider.identityDigest` at the time of linking; empty for a provider of the catalogue at its own
    /// addresses. A different provider with the same id signs nobody in as the user. `nil` in a store of
    /// an older version, until the next sign-in.
    public var providerDigest: String?

    public init(
      place: Place, email: String? = nil, account: Account.ID? = nil, providerDigest: String? = nil
    ) {
      self.place = place
      self.email = email
      self.account = account
      self.providerDigest = providerDigest
    }

    /// Compares texts as bytes.
    public static func == (left: Identity, right: Identity) -> Bool {
      left.place == right.place && left.account == right.account
        && isSame([left.email, left.providerDigest], [right.email, right.providerDigest])
    }
  }

  /// The provider of the directory's own passwords.
  public static let password = Provider.passwordID

  public var id: ID
  /// The application of the directory; empty for the shared one.
  public var directory: String
  /// The application that made the user.
  public var application: String
  public var displayName: String?
  public var email: String?
  /// Whether a provider that verifies addresses has vouched for the address.
  public var isEmailVerified = false
  public var photo: String?
  public var createdAt: UnixTime
  public var lastSignInAt: UnixTime?
  /// In order of linking; at most one of each provider.
  public var identities: [Identity] = []
  /// The order of making. Never used again after a removal, so that paged lists continue after it.
  public var position: Int64 = 0

  public init(id: ID, directory: String, application: String, createdAt: UnixTime) {
    self.id = id
    self.directory = directory
    self.application = application
    self.createdAt = createdAt
  }

  /// Compares texts as bytes.
  public static func == (left: User, right: User) -> Bool {
    func texts(_ user: User) -> [String?] {
      [user.directory, user.application, user.displayName, user.email, user.photo]
    }
    return left.id == right.id && left.isEmailVerified == right.isEmailVerified
      && left.createdAt == right.createdAt && left.lastSignInAt == right.lastSignInAt
      && left.position == right.position && left.identities == right.identities
      && isSame(texts(left), texts(right))
  }

  /// Returns the user's identity of a provider, or `password`.
  public func identity(of provider: String) -> Identity? {
    identities.first { sameBytes($0.place.provider, provider) }
  }
}

/// The user of an application.
public struct CurrentUser: Sendable, Equatable {
  public var user: User.ID
  /// The last time the person proved to be this user; 0 if an account of the store was enough to
  /// sign in.
  public var provenAt: UnixTime

  public init(user: User.ID, provenAt: UnixTime) {
    self.user = user
    self.provenAt = provenAt
  }
}

/// A person at a provider, as proven by a sign-in, an account or a checked credential.
public struct ProvenIdentity: Sendable, Equatable {
  public var place: User.Place
  public var email: String?
  /// Whether the provider says that it has verified the address.
  public var isEmailVerified: Bool
  public var displayName: String?
  public var username: String?
  public var photo: String?
  public var account: Account.ID?
  /// See `User.Identity.providerDigest`.
  public var providerDigest = ""
  /// The time of the proof; `nil` for one that the application can repeat without the person.
  public var provenAt: UnixTime?

  public init(
    place: User.Place, email: String? = nil, isEmailVerified: Bool = false,
    displayName: String? = nil, username: String? = nil, photo: String? = nil,
    account: Account.ID? = nil
  ) {
    self.place = place
    self.email = email
    self.isEmailVerified = isEmailVerified
    self.displayName = displayName
    self.username = username
    self.photo = photo
    self.account = account
  }
}

/// Returns the form in which two e-mail addresses compare, byte for byte: with the letters of ASCII in
/// lower case. Other letters stay, because two of them may become one, and the addresses belong to two
/// people. `nil` for a text that is no address: one `@` between two parts without spaces or controls,
/// at most 256 bytes.
public func emailKey(_ email: String) -> String? {
  let parts = email.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
  guard isIdentifier(email), parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
    !email.unicodeScalars.contains(where: \.properties.isWhitespace)
  else { return nil }
  return asciiLowercased(email)
}

/// Returns a text with the letters of ASCII in lower case.
func asciiLowercased(_ text: String) -> String {
  let lowered = text.utf8.map {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0
  }
  return String(decoding: lowered, as: UTF8.self)
}

/// Whether the texts of two lists are the same bytes.
private func isSame(_ left: [String?], _ right: [String?]) -> Bool {
  left.map { $0.map { Array($0.utf8) } } == right.map { $0.map { Array($0.utf8) } }
}

/// Whether two texts are the same address.
func isSameAddress(_ one: String?, _ other: String?) -> Bool {
  guard let one = one.flatMap(emailKey), let other = other.flatMap(emailKey) else { return false }
  return sameBytes(one, other)
}
