/// A credential to check with its provider: `verify` of the protocol.
public struct VerifyRequest: Sendable {
  /// The credential to check.
  public enum Subject: Sendable, Equatable {
    case credential(Credential)
    /// An id_token alone. It is checked without asking the provider, if the issuer's keys are
    /// known.
    case idToken(Secret)
    /// The credential stored for this account under the caller's registration.
    case account(Account.ID)
  }

  /// The expected properties of the credential; `nil` is not checked.
  public struct Expectation: Sendable, Equatable {
    public var id: String?
    /// `nil` for the caller's own.
    public var clientID: String?
    public var scopes: [String]?
    /// The nonce of the id_token.
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
  @Indirect public var registration: ClientRegistration?
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

/// The result of a check. An invalid credential is a result, not an error.
public struct Verification: Sendable, Equatable {
  /// The checks.
  public enum Check: String, Sendable, CaseIterable {
    case active, application, signature, issuer, audience, expiry, identity, scopes, nonce
  }

  /// The outcome of one check.
  public struct Finding: Sendable, Equatable {
    public var check: Check
    public var isOK: Bool
    /// The reason for a failed check, as a sentence.
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
  /// The time of the person's sign-in, from the id_token; `nil` if nothing shows it.
  var signedInAt: UnixTime?
  /// The findings, in the order made. After a failed check, checks that depend on it are left out.
  public var checks: [Finding]

  /// Whether all findings are OK.
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
