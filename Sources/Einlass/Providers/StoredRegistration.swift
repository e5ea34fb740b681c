internal import EinlassJSON

/// A registration at a provider that the store keeps for every application: a person brought it, or the provider gave
/// it on request.
public struct StoredRegistration: Sendable, Equatable {
  /// What of it stands in the clear.
  public struct Known: Sendable, Equatable {
    /// The provider's id.
    public var provider: String
    public var clientID: String
    public var hasSecret: Bool
    public var hasPrivateKey: Bool
    public var redirect: String?
    public var origins: [String]
    /// Whether the provider gave it on request. RFC 7591.
    public var isIssued: Bool

    public init(
      provider: String, clientID: String, hasSecret: Bool, hasPrivateKey: Bool = false,
      redirect: String?, origins: [String], isIssued: Bool
    ) {
      self.provider = provider
      self.clientID = clientID
      self.hasSecret = hasSecret
      self.hasPrivateKey = hasPrivateKey
      self.redirect = redirect
      self.origins = origins
      self.isIssued = isIssued
    }
  }

  /// The provider's id.
  public var provider: String
  public var registration: ClientRegistration
  /// The only servers that it goes to, sorted.
  public var origins: [String]
  /// Whether the provider gave it on request. RFC 7591.
  public var isIssued: Bool
  /// When its secret ends; `nil`: never.
  public var expiresAt: UnixTime?

  public init(
    provider: String, registration: ClientRegistration, origins: [String], isIssued: Bool = false,
    expiresAt: UnixTime? = nil
  ) {
    self.provider = provider
    self.registration = registration
    self.origins = origins.sorted()
    self.isIssued = isIssued
    self.expiresAt = expiresAt
  }

  /// Whether it may take this one's place.
  public func mayReplace(isIssued: Bool?) -> Bool { !self.isIssued || isIssued != false }

  /// The same without what is sealed.
  public var known: Known {
    Known(
      provider: provider, clientID: registration.clientID,
      hasSecret: registration.clientSecret != nil, hasPrivateKey: registration.privateKey != nil,
      redirect: registration.redirect, origins: origins, isIssued: isIssued)
  }
}

/// The stored registrations as the domain sees them; part of `AccountStore`, whose rules hold here too.
public struct RegistrationStore: Sendable {
  /// The one for a provider, opened; `nil` when there is none.
  public var get:
    @Sendable (_ provider: String, AccountStore.Patience) throws(Problem) -> StoredRegistration?
  /// Puts one in the place of that for the same provider, or removes it; one that was made on request never takes the
  /// place of a person's. Returns the store's revision.
  public var set:
    @Sendable (_ provider: String, StoredRegistration?, AccountStore.Patience) throws(Problem) ->
      Int64

  public init(
    get: @escaping @Sendable (String, AccountStore.Patience) throws(Problem) -> StoredRegistration?,
    set:
      @escaping @Sendable (String, StoredRegistration?, AccountStore.Patience) throws(Problem) ->
      Int64
  ) {
    self.get = get
    self.set = set
  }

  /// Of a store that says this at every use.
  public init(failing problem: Problem) {
    self.init(
      get: { _, _ throws(Problem) in throw problem },
      set: { _, _, _ throws(Problem) in throw problem })
  }
}
