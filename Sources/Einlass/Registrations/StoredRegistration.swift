internal import EinlassJSON

/// A stored registration at a provider, for every application. A person configured it, or the
/// provider issued it on request.
public struct StoredRegistration: Sendable, Equatable {
  /// The parts that are stored in the clear.
  public struct Known: Sendable, Equatable {
    /// The provider's id.
    public var provider: String
    public var clientID: String
    public var hasSecret: Bool
    public var hasPrivateKey: Bool
    public var hasCertificate: Bool
    public var redirect: String?
    public var origins: [String]
    /// Whether the provider issued it on request. RFC 7591.
    public var isIssued: Bool

    public init(
      provider: String, clientID: String, hasSecret: Bool, hasPrivateKey: Bool = false,
      hasCertificate: Bool = false, redirect: String?, origins: [String], isIssued: Bool
    ) {
      self.provider = provider
      self.clientID = clientID
      self.hasSecret = hasSecret
      self.hasPrivateKey = hasPrivateKey
      self.hasCertificate = hasCertificate
      self.redirect = redirect
      self.origins = origins
      self.isIssued = isIssued
    }
  }

  /// The provider's id.
  public var provider: String
  public var registration: ClientRegistration
  /// The only origins that may receive it, sorted.
  public var origins: [String]
  /// Whether the provider issued it on request. RFC 7591.
  public var isIssued: Bool
  /// The end of the secret's validity; `nil` for unlimited.
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

  /// Whether this registration may replace the stored one. An issued one never replaces a person's.
  /// `isIssued`: of the stored one; `nil` if there is none.
  public func mayReplace(isIssued: Bool?) -> Bool { !self.isIssued || isIssued != false }

  /// The registration without its secrets.
  public var known: Known {
    Known(
      provider: provider, clientID: registration.clientID,
      hasSecret: registration.clientSecret != nil, hasPrivateKey: registration.privateKey != nil,
      hasCertificate: registration.certificate != nil, redirect: registration.redirect,
      origins: origins, isIssued: isIssued)
  }
}

/// The stored registrations, as a part of `AccountStore` with the same rules.
public struct RegistrationStore: Sendable {
  /// Returns a provider's registration, opened; `nil` if there is none.
  public var get:
    @Sendable (_ provider: String, AccountStore.Patience) throws(Problem) -> StoredRegistration?
  /// Stores a registration in place of the provider's former one, or removes it. An issued one
  /// never replaces a person's. Returns the store's revision.
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

  /// A store that throws this problem at every use.
  public init(failing problem: Problem) {
    self.init(
      get: { _, _ throws(Problem) in throw problem },
      set: { _, _, _ throws(Problem) in throw problem })
  }
}
