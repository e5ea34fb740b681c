/// What a front end sends along with a request of its own.
public struct RequestAuthorization: Sendable, Equatable {
  /// The value of the `Authorization` header.
  public var authorization: String
  /// The value of the `DPoP` header, for a token that is bound to a key. RFC 9449 section 7.1.
  public var proof: String?
  /// The registration that the credential was issued to.
  public var clientID: String

  public init(authorization: String, proof: String? = nil, clientID: String) {
    self.authorization = authorization
    self.proof = proof
    self.clientID = clientID
  }
}

/// A request that a front end is about to send and wants an `Authorization` header for: `credentials.sign`.
public struct SignRequest: Sendable {
  public var application: String
  public var registration: ClientRegistration?
  public var account: Account.ID
  /// The protected resource that the credential is for, exactly; `nil` for none in particular. RFC 8707.
  public var resource: String?
  /// As sent, upper case: `GET`, `PUT`.
  public var method: String
  public var url: String
  /// The body's fields, if it is form-encoded; OAuth 1.0a signs them. RFC 5849 section 3.4.1.3.1.
  public var form: [Parameter]
  /// What the resource wants to see in the proof: `DPoP-Nonce` of its last answer.
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
