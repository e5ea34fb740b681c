public import EinlassJSON

// Exported, because nearly every value of the domain has one, and a program that uses the library
// then needs no second import.
@_exported public import class EinlassCrypto.Secret

/// The secret material of an account, stored or just issued.
public enum Credential: Sendable, Equatable {
  case oauth1(OAuth1Credential)
  case oauth2(OAuth2Credential)
  case session(SessionCredential)
}

/// A session at a server of the person's own, started with a user name and a password.
public struct SessionCredential: Sendable, Equatable {
  /// Empty if cookies alone hold the session.
  public var id: Secret
  public var username: String
  /// Further members of the server's answer, by the names of the descriptor.
  public var values: [Parameter]
  /// The session's cookies in libcurl's format, a line each; `nil` for a session without cookies.
  public var cookies: Secret?
  /// The password for the next session; `nil` unless the person wants it remembered. Never handed
  /// out.
  public var password: Secret?
  /// The time of the start or of the last successful check; `nil` for a session that cannot be
  /// checked.
  public var checkedAt: UnixTime?

  public init(
    id: Secret, username: String, values: [Parameter] = [], cookies: Secret? = nil
  ) {
    self.id = id
    self.username = username
    self.values = values
    self.cookies = cookies
  }

  /// The session as one secret for the store.
  public var packed: Secret {
    let object = JSONObject(present: [
      "id": id.isEmpty ? nil : .string(revealedText(id)), "username": .string(username),
      "values": .object(JSONObject(values.map { ($0.name, .string($0.value)) })),
      "cookies": cookies.map { .string(revealedText($0)) },
      "password": password.map { .string(revealedText($0)) },
      "checkedAt": checkedAt.map { JSONValue($0) },
    ])
    return Secret(JSONValue.object(object).text)
  }

  /// Reads a `packed` session; `nil` for another secret.
  public init?(packed secret: Secret) {
    guard let value = try? JSONReader.read(revealedBytes(secret)),
      let username = value["username"]?.string
    else { return nil }
    let members = value["values"]?.object?.members ?? []
    self.init(
      id: Secret(value["id"]?.string ?? ""), username: username,
      values: members.map { Parameter($0.name, $0.value.string ?? "") },
      cookies: value["cookies"]?.string.map { Secret($0) })
    password = value["password"]?.string.map { Secret($0) }
    checkedAt = value["checkedAt"]?.int64
  }
}

/// Token credentials of OAuth 1.0a. RFC 5849 section 1.1.
public struct OAuth1Credential: Sendable, Equatable {
  public var token: Secret
  public var tokenSecret: Secret

  public init(token: Secret, tokenSecret: Secret) {
    self.token = token
    self.tokenSecret = tokenSecret
  }
}

/// An access token and its accompanying values. RFC 6749 section 5.1.
public struct OAuth2Credential: Sendable, Equatable {
  public var accessToken: Secret
  public var tokenType: String
  /// Whether a request with the token needs a proof of its key. RFC 9449 section 7.1.
  var isBound: Bool { tokenType.lowercased() == "dpop" }
  public var scopes: [String]
  public var expiresAt: UnixTime?
  public var refreshToken: Secret?
  /// The end of `refreshToken`, where the provider names one.
  public var refreshExpiresAt: UnixTime?
  public var idToken: Secret?
  /// Whether the id_token came with a former access token, because the refresh response had none.
  public var hasFormerIDToken = false
  /// The private key that the token is bound to. RFC 9449.
  public var proofKey: Secret?

  public init(
    accessToken: Secret, tokenType: String = "Bearer", scopes: [String] = [],
    expiresAt: UnixTime? = nil, refreshToken: Secret? = nil, idToken: Secret? = nil,
    proofKey: Secret? = nil
  ) {
    self.accessToken = accessToken
    self.tokenType = tokenType
    self.scopes = scopes
    self.expiresAt = expiresAt
    self.refreshToken = refreshToken
    self.idToken = idToken
    self.proofKey = proofKey
  }
}

/// A credential as stored, with the registration that it was issued to and the origins that it may
/// be sent to.
public struct StoredCredential: Sendable, Equatable {
  /// The owner of the credential. A system credential of OAuth 1.0a is never handed out:
  /// `isForReverseAuth`.
  public enum Role: String, Sendable {
    /// The account's own credential, issued to the registration that `accounts.add` named.
    case system
    /// A credential issued to an application's own registration.
    case application
  }

  public var role: Role
  /// The registration that the credential was issued to. Only a system credential keeps the client
  /// secret.
  @Indirect public var registration: ClientRegistration
  public var credential: Credential
  @Indirect public var binding: ProviderBinding
  /// The protected resource that the credential is for; `nil` for none in particular. RFC 8707.
  public var resource: String?
  /// The store's revision at the time of writing, so that a replacement always has another
  /// generation; 0 before the credential is stored.
  public var generation: Int64
  /// Whether a resource refused the credential. A refused credential is not handed out again.
  public var isRefused: Bool
  /// The source of the assertion that the token was traded for; `nil` for another flow.
  public var assertionSource: AssertionSource?

  public init(
    role: Role, registration: ClientRegistration, credential: Credential, binding: ProviderBinding,
    resource: String? = nil, generation: Int64 = 0, isRefused: Bool = false,
    assertionSource: AssertionSource? = nil
  ) {
    self.role = role
    self.registration = registration
    self.credential = credential
    self.binding = binding
    self.resource = resource
    self.generation = generation
    self.isRefused = isRefused
    self.assertionSource = assertionSource
  }
}

/// The source of an assertion that is traded for a token: RFC 7523, RFC 8693.
public enum AssertionSource: Sendable, Equatable {
  /// The account of this provider with this subject, by its id_token.
  case account(provider: String, subject: String)
  /// The file that the registration names.
  case file

  /// The text in the store: `file`, or the provider's id and the subject with a space between them.
  public var text: String {
    switch self {
    case .account(let provider, let subject): "\(provider) \(subject)"
    case .file: "file"
    }
  }

  /// Whether the assertion comes from the id_token of this account.
  func isFrom(_ account: Account) -> Bool {
    guard case .account(let provider, let subject) = self else { return false }
    return sameBytes(provider, account.provider)
      && account.subject.map { sameBytes($0, subject) } == true
  }

  /// Whether the subject of the account may be the assertion's alone, and not a person whom the
  /// account's provider has identified.
  func mayName(_ account: Account) -> Bool {
    guard case .account(_, let subject) = self else { return true }
    return account.subject.map { sameBytes($0, subject) } ?? true
  }

  public init?(text: String) {
    guard !sameBytes(text, "file") else {
      self = .file
      return
    }
    guard let space = text.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
    self = .account(
      provider: String(text[..<space]), subject: String(text[text.utf8.index(after: space)...]))
  }
}

extension StoredCredential {
  /// Whether the person's password is kept for the next session.
  var remembersPassword: Bool {
    if case .session(let session) = credential { session.password != nil } else { false }
  }

  /// Whether a new sign-in is not the only help for an account that needs one: the next assertion
  /// may be accepted, and a refused password is not remembered any more.
  var isReplacedSilently: Bool { assertionSource != nil || remembersPassword }

  /// The key of the credential among those of its account.
  public var place: AccountStore.Place {
    registration.place(of: resource)
  }

  /// Whether the credential is never handed to an application, because reverse auth exchanges it.
  /// An OAuth 2.0 token with the role `system`, in contrast, serves the application of its
  /// registration.
  public var isForReverseAuth: Bool {
    if case (.system, .oauth1) = (role, credential) { true } else { false }
  }
}

extension [StoredCredential] {
  /// Returns the credential that was issued to this registration for this resource, or for none.
  /// Never returns a credential with `isForReverseAuth`.
  func issued(to registration: ClientRegistration, for resource: String?) -> StoredCredential? {
    stored(under: registration, for: resource).flatMap { $0.isForReverseAuth ? nil : $0 }
  }

  /// The account's own credential: the one that reverse auth exchanges, else the system credential
  /// stored last.
  var accountsOwn: StoredCredential? {
    first(where: \.isForReverseAuth)
      ?? filter { $0.role == .system }.max { $0.generation < $1.generation }
  }

  /// Returns the credential in the place of this registration, with `isForReverseAuth` or without.
  func stored(under registration: ClientRegistration, for resource: String?) -> StoredCredential? {
    let place = registration.place(of: resource)
    return first { $0.place == place }
  }
}

extension ClientRegistration {
  /// Returns the place of the registration's credential for a resource, or for none.
  func place(of resource: String?) -> AccountStore.Place {
    AccountStore.Place(clientID, resource: resource ?? "")
  }
}

/// The origins that a credential may be sent to: a snapshot taken when it was stored, independent
/// of the current descriptor.
///
/// Part of the associated data of every sealed column, so that an edit of the database without the
/// key cannot redirect a token to another server.
public struct ProviderBinding: Sendable, Equatable {
  /// The origins, sorted: `https://api.example.com`.
  public var origins: [String]
  public var clientID: String
  public var flowKind: FlowKind
  /// The trust in a server of the person's own.
  public var trust: ServerTrust

  public init(
    origins: [String], clientID: String, flowKind: FlowKind, trust: ServerTrust = ServerTrust()
  ) {
    self.origins = origins.sorted()
    self.clientID = clientID
    self.flowKind = flowKind
    self.trust = trust
  }
}

/// The owner of a credential, according to its provider.
public struct Identity: Sendable, Equatable {
  public var id: String
  public var name: String?
  public var username: String?
  public var email: String?
  public var avatar: String?
  /// Whether the provider says that it has verified the address.
  public var isEmailVerified = false
  /// The provider's answer about the person or the claims of the id_token, of at most
  /// `profileLimitBytes`. Holds no secret.
  public var profile: JSONObject?

  /// The size of the longest profile as JSON text, in bytes.
  public static let profileLimitBytes = 16 << 10

  public init(
    id: String, name: String? = nil, username: String? = nil, email: String? = nil,
    avatar: String? = nil
  ) {
    self.id = id
    self.name = name
    self.username = username
    self.email = email
    self.avatar = avatar
  }
}
