internal import EinlassJSON

/// Whole seconds since 1970, UTC, without leap seconds: the unit of times in the protocol.
public typealias UnixTime = Int64

/// An identity at a provider, as stored. Holds no secret.
public struct Account: Sendable, Equatable {
  /// `a_` and 128 random bits in base64url; compares as bytes.
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

  /// The state of the account according to the provider's last answer.
  public enum Health: String, Sendable, CaseIterable {
    case ok, reloginNeeded, banned, locked
  }

  public var id: ID
  /// The provider's id in the catalogue, for example `example`.
  public var provider: String
  /// The person's name at the provider: a handle, an e-mail address, a phone number.
  public var username: String
  public var displayName: String?
  /// The provider's stable id of the person, once known.
  public var subject: String?
  public var email: String?
  public var avatar: String?
  public var health: Health
  /// Whether a credential is stored.
  public var isSignedIn: Bool
  public var addedAt: UnixTime
  /// The end of the last successful flow with this account; `nil` if there was none. Orders the
  /// picker.
  public var lastUsedAt: UnixTime?
  /// The order of adding. Never used again after a removal, so that paged lists continue after it.
  public var position: Int64
  /// The applications that prefer this account of its provider.
  public var preferredBy: [String]
  /// The protected resources with a credential of their own. RFC 8707.
  public var resources: [String] = []
  /// The scopes of its newest credential without a resource; empty if they are not known.
  public var scopes: [String] = []
  /// The latest end of a refresh token without a resource, where the provider names one.
  public var refreshExpiresAt: UnixTime?
  /// The refusals of its credentials by services, ended ones included.
  public var serviceRefusals: [ServiceRefusal] = []
  /// The protected resources whose credential was refused and has no refresh token; empty for none
  /// in particular.
  public var refusedResources: [String] = []
  /// Whether the provider says that it has verified `email`.
  public var isEmailVerified = false
  /// `ProviderCatalog.reporter` of the provider that has named `subject` to einlass; 0 if none has. A
  /// subject that a front end has passed, or that an import has brought, is not enough.
  public var reportedBy: Int64 = 0
  public var isReported: Bool { reportedBy != 0 }

  public init(
    id: ID, provider: String, username: String, displayName: String? = nil, subject: String? = nil,
    email: String? = nil, avatar: String? = nil, health: Health = .ok, isSignedIn: Bool,
    addedAt: UnixTime, lastUsedAt: UnixTime? = nil, position: Int64 = 0,
    preferredBy: [String] = []
  ) {
    self.id = id
    self.provider = provider
    self.username = username
    self.displayName = displayName
    self.subject = subject
    self.email = email
    self.avatar = avatar
    self.health = health
    self.isSignedIn = isSignedIn
    self.addedAt = addedAt
    self.lastUsedAt = lastUsedAt
    self.position = position
    self.preferredBy = preferredBy
  }
}
