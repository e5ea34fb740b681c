internal import EinlassJSON

/// Whole seconds since 1970, UTC, leap seconds ignored: the times of the protocol.
public typealias UnixTime = Int64

/// A stored identity at a provider. Holds no secret.
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

  /// Whether the account can be used as it is, by what its provider last said.
  public enum Health: String, Sendable, CaseIterable {
    case ok, reloginNeeded, banned, locked
  }

  public var id: ID
  /// The provider's id in the catalogue, for example `example`.
  public var provider: String
  /// What the person is called there: a handle, an e-mail address, a phone number.
  public var username: String
  public var displayName: String?
  /// The provider's own stable id of the person, once it is known.
  public var subject: String?
  public var email: String?
  public var avatar: String?
  public var health: Health
  /// Whether a credential is stored.
  public var isSignedIn: Bool
  public var addedAt: UnixTime
  /// When a flow last ended well with it; `nil` when never. Orders the picker.
  public var lastUsedAt: UnixTime?
  /// Grows with each account that the store adds and is never used again: lists go on behind it.
  public var position: Int64
  /// The applications whose preferred account of its provider it is.
  public var preferredBy: [String]
  /// The protected resources that credentials of their own are stored for. RFC 8707.
  public var resources: [String] = []

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
