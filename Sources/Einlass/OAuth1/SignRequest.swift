/// A request that a front end is about to send and wants an `Authorization` header for: `credentials.sign`.
public struct SignRequest: Sendable {
  public var application: String
  public var registration: ClientRegistration?
  public var account: Account.ID
  /// As sent, upper case: `GET`, `PUT`.
  public var method: String
  public var url: String
  /// The body's fields, if it is form-encoded; OAuth 1.0a signs them. RFC 5849 section 3.4.1.3.1.
  public var form: [Parameter]

  public init(
    application: String, registration: ClientRegistration?, account: Account.ID, method: String,
    url: String, form: [Parameter] = []
  ) {
    self.application = application
    self.registration = registration
    self.account = account
    self.method = method
    self.url = url
    self.form = form
  }
}
