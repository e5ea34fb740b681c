/// The fields that a front end adds to its own request.
public struct RequestAuthorization: Sendable, Equatable {
  /// Mostly `Authorization`, and `DPoP` for a token bound to a key (RFC 9449 section 7.1); at some
  /// hosts others.
  public var fields: [Parameter]
  /// The client id of the registration that the credential was issued to.
  public var clientID: String

  public init(fields: [Parameter], clientID: String) {
    self.fields = fields
    self.clientID = clientID
  }
}

/// The front end's own request, to be authorized by `credentials.sign`.
public struct SignRequest: Sendable {
  public var application: String
  @Indirect public var registration: ClientRegistration?
  public var account: Account.ID
  /// The protected resource of the credential, compared exactly; `nil` for no particular one. RFC
  /// 8707.
  public var resource: String?
  /// The method as sent, in upper case: `GET`, `PUT`.
  public var method: String
  public var url: String
  /// The fields of a form-encoded body. OAuth 1.0a signs them. RFC 5849 section 3.4.1.3.1.
  public var form: [Parameter]
  /// The request for a newer credential, for a stored one that is refused or about to end; `nil` to
  /// sign with the stored one in any case.
  @Indirect public var renewal: CredentialRequest?
  /// The services of the configuration. Requests to them are signed too.
  public var services: [Service] = []
  /// Whether a signature that contains its secrets is refused.
  public var refusesPlaintext = false
  /// The resource's nonce for the proof: `DPoP-Nonce` of its last answer.
  public var nonce: String?

  public init(
    application: String, registration: ClientRegistration?, account: Account.ID, method: String,
    url: String, form: [Parameter] = [], nonce: String? = nil
  ) {
    self.application = application
    self.registration = registration
    self.account = account
    self.method = method
    self.url = url
    self.form = form
    self.nonce = nonce
  }
}
