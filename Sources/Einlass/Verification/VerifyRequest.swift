/// A credential to be checked with its provider: `verify` of the protocol, section 3.
public struct VerifyRequest: Sendable {
  /// What is checked.
  public enum Subject: Sendable, Equatable {
    case credential(Credential)
    /// An id_token alone: its issuer need not be asked.
    case idToken(Secret)
    /// The credential stored for this account under the caller's registration.
    case account(Account.ID)
  }

  /// What the credential must be besides valid; `nil` is not checked.
  public struct Expectation: Sendable, Equatable {
    public var id: String?
    /// `nil`: the caller's own.
    public var clientID: String?
    public var scopes: [String]?
    /// Of an id_token.
    public var nonce: String?

    public init(
      id: String? = nil, clientID: String? = nil, scopes: [String]? = nil, nonce: String? = nil
    ) {
      self.id = id
      self.clientID = clientID
      self.scopes = scopes
      self.nonce = nonce
    }
  }

  public var application: String
  public var registration: ClientRegistration?
  public var provider: String
  public var subject: Subject
  public var expected: Expectation

  public init(
    application: String, registration: ClientRegistration?, provider: String, subject: Subject,
    expected: Expectation = Expectation()
  ) {
    self.application = application
    self.registration = registration
    self.provider = provider
    self.subject = subject
    self.expected = expected
  }
}

/// What a check of a credential found. A bad credential is a result, not an error.
public struct Verification: Sendable, Equatable {
  /// The checks, in the order in which they are made. Protocol section 3.
  public enum Check: String, Sendable, CaseIterable {
    case active, application, signature, issuer, audience, expiry, identity, scopes, nonce
  }

  /// One check that was made.
  public struct Finding: Sendable, Equatable {
    public var check: Check
    public var isOK: Bool
    /// A sentence: why not.
    public var detail: String?

    public init(_ check: Check, isOK: Bool, detail: String? = nil) {
      self.check = check
      self.isOK = isOK
      self.detail = detail
    }
  }

  public var identity: Identity?
  public var clientID: String?
  public var scopes: [String]?
  public var expiresAt: UnixTime?
  /// In the order made; the first that fails is the last where the others would make no sense.
  public var checks: [Finding]

  /// Whether every check that was made held.
  public var isValid: Bool { checks.allSatisfy(\.isOK) }

  public init(
    identity: Identity? = nil, clientID: String? = nil, scopes: [String]? = nil,
    expiresAt: UnixTime? = nil, checks: [Finding] = []
  ) {
    self.identity = identity
    self.clientID = clientID
    self.scopes = scopes
    self.expiresAt = expiresAt
    self.checks = checks
  }
}
