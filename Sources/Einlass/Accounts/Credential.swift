internal import EinlassJSON

@_exported public import class EinlassCrypto.Secret

/// The secret material of an account, or what a flow ended in.
public enum Credential: Sendable, Equatable {
  case oauth1(OAuth1Credential)
  case oauth2(OAuth2Credential)
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

/// An access token and what came with it. RFC 6749 section 5.1.
public struct OAuth2Credential: Sendable, Equatable {
  public var accessToken: Secret
  public var tokenType: String
  public var scopes: [String]
  public var expiresAt: UnixTime?
  public var refreshToken: Secret?
  public var idToken: Secret?
  /// Whether that came with a former access token, because a refresh has brought none.
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

/// A registration at a provider: a consumer key and its secret, an application id and its secret.
public struct ClientRegistration: Sendable, Equatable {
  public var clientID: String
  public var clientSecret: Secret?
  /// The address that browsers are sent back to, where the registration names one of its own.
  public var redirect: String?
  /// What the client signs with, instead of a secret or besides: a private key as PEM text. RFC 7523, RFC 5849 3.4.3.
  public var privateKey: Secret?
  /// What the provider calls that key (`kid`), where it has to be told.
  public var keyID: String?
  /// How the client proves itself, in the words of RFC 7591 section 2; `nil`: as the provider's descriptor says.
  public var authentication: String?

  public init(
    clientID: String, clientSecret: Secret? = nil, redirect: String? = nil,
    privateKey: Secret? = nil, authentication: String? = nil, keyID: String? = nil
  ) {
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.redirect = redirect
    self.privateKey = privateKey
    self.keyID = keyID
    self.authentication = authentication
  }
}

/// A credential as the store keeps it: under which registration it was issued, and where it may be sent.
public struct StoredCredential: Sendable, Equatable {
  /// Whose secret it is. What is the system's never leaves the process.
  public enum Role: String, Sendable {
    /// The account's own, under the registration that `accounts.add` named.
    case system
    /// Issued to an application's own registration.
    case application
  }

  public var role: Role
  /// The registration under which it was issued; the secret only where it is the system's own consumer.
  public var registration: ClientRegistration
  public var credential: Credential
  public var binding: ProviderBinding
  /// The protected resource that it is for; `nil` for none in particular. RFC 8707.
  public var resource: String?
  /// The store's revision when it was written, so that no two are ever the same; 0 before it is stored.
  public var generation: Int64
  /// Whether a resource refused it: not handed out again until it is replaced.
  public var isRefused: Bool

  public init(
    role: Role, registration: ClientRegistration, credential: Credential, binding: ProviderBinding,
    resource: String? = nil, generation: Int64 = 0, isRefused: Bool = false
  ) {
    self.role = role
    self.registration = registration
    self.credential = credential
    self.binding = binding
    self.resource = resource
    self.generation = generation
    self.isRefused = isRefused
  }
}

extension StoredCredential {
  /// Where it stands among those of its account.
  public var place: AccountStore.Place {
    registration.place(of: resource)
  }

  /// Whether no application may have it, whichever registration it names: reverse auth pays with it, while a bearer
  /// token that was added under an application's registration serves that application. Protocol section 3.
  public var isSystemsAlone: Bool {
    if case (.system, .oauth1) = (role, credential) { true } else { false }
  }
}

extension [StoredCredential] {
  /// The one that was issued to this registration for this resource, or for none; never another's, never the system's
  /// alone.
  func issued(to registration: ClientRegistration, for resource: String?) -> StoredCredential? {
    stored(under: registration, for: resource).flatMap { $0.isSystemsAlone ? nil : $0 }
  }

  /// The account's own credential: the one that reverse auth exchanges, else the system credential stored last.
  var accountsOwn: StoredCredential? {
    first(where: \.isSystemsAlone)
      ?? filter { $0.role == .system }.max { $0.generation < $1.generation }
  }

  /// The one in the place of this registration, whosever it is.
  func stored(under registration: ClientRegistration, for resource: String?) -> StoredCredential? {
    let place = registration.place(of: resource)
    return first { $0.place == place }
  }
}

extension ClientRegistration {
  /// Where what is issued to it stands, for a resource or for none.
  func place(of resource: String?) -> AccountStore.Place {
    AccountStore.Place(clientID, resource: resource ?? "")
  }
}

/// Where a credential may be sent: a snapshot taken when it was stored, never the current descriptor.
///
/// Part of the associated data of every sealed column, so that whoever edits the database without the key
/// cannot point a token at another server.
public struct ProviderBinding: Sendable, Equatable {
  /// The origins really used, sorted: `https://api.example.com`.
  public var origins: [String]
  public var clientID: String
  public var flowKind: FlowKind

  public init(origins: [String], clientID: String, flowKind: FlowKind) {
    self.origins = origins.sorted()
    self.clientID = clientID
    self.flowKind = flowKind
  }
}

/// Who a credential belongs to, as its provider says.
public struct Identity: Sendable, Equatable {
  public var id: String
  public var name: String?
  public var username: String?
  public var email: String?
  public var avatar: String?

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
