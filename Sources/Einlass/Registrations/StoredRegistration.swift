internal import EinlassJSON

/// A stored registration at a provider, for every application. A person configured it, or the
/// provider issued it on request.
public struct StoredRegistration: Sendable, Equatable {
  /// The parts that are stored in the clear.
  public struct Known: Sendable, Equatable {
    /// The provider's id.
    public var provider: String
    /// The only flow that uses it; `nil` for every flow without one of its own.
    public var flow: FlowKind?
    public var clientID: String
    public var hasSecret: Bool
    public var hasPrivateKey: Bool
    public var hasCertificate: Bool
    public var redirect: String?
    public var origins: [String]
    /// Whether the provider issued it on request. RFC 7591.
    public var isIssued: Bool

    public init(
      provider: String, flow: FlowKind? = nil, clientID: String, hasSecret: Bool,
      hasPrivateKey: Bool = false, hasCertificate: Bool = false, redirect: String?,
      origins: [String], isIssued: Bool
    ) {
      self.provider = provider
      self.flow = flow
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
  /// The only flow that uses it; `nil` for every flow without one of its own.
  public var flow: FlowKind?
  public var registration: ClientRegistration
  /// The only origins that may receive it, sorted.
  public var origins: [String]
  /// Whether the provider issued it on request. RFC 7591.
  public var isIssued: Bool
  /// The end of the secret's validity; `nil` for unlimited.
  public var expiresAt: UnixTime?

  public init(
    provider: String, flow: FlowKind? = nil, registration: ClientRegistration, origins: [String],
    isIssued: Bool = false, expiresAt: UnixTime? = nil
  ) {
    self.provider = provider
    self.flow = flow
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
      provider: provider, flow: flow, clientID: registration.clientID,
      hasSecret: registration.clientSecret != nil, hasPrivateKey: registration.privateKey != nil,
      hasCertificate: registration.certificate != nil, redirect: registration.redirect,
      origins: origins, isIssued: isIssued)
  }
}

/// The stored registrations, as a part of `AccountStore` with the same rules.
public struct RegistrationStore: Sendable {
  /// Reads a registration.
  public typealias Get =
    @Sendable (_ provider: String, FlowKind?, AccountStore.Patience) throws(Problem) ->
    StoredRegistration?
  /// Stores or removes a registration.
  public typealias Set =
    @Sendable (_ provider: String, FlowKind?, StoredRegistration?, AccountStore.Patience)
    throws(Problem) -> Int64

  /// Returns the registration of a provider's flow, or the general one, opened; `nil` if there is
  /// none.
  public var get: Get
  /// Stores a registration in place of the former one of the flow, or of the general one, or removes
  /// that. An issued one never replaces a person's. Returns the store's revision.
  public var set: Set

  public init(get: @escaping Get, set: @escaping Set) {
    self.get = get
    self.set = set
  }

  /// A store that throws this problem at every use.
  public init(failing problem: Problem) {
    self.init(
      get: { _, _, _ throws(Problem) in throw problem },
      set: { _, _, _, _ throws(Problem) in throw problem })
  }
}
