internal import EinlassJSON

/// The parameters of a sign-in at a provider: `accounts.signIn` of the protocol.
public struct SignInRequest: Sendable {
  /// The application's id, as it named itself.
  public var application: String
  /// The application's name for people, shown on the last page in the browser.
  public var applicationTitle: String?
  /// The permissions and the audience that the sign-in grants the application; `nil` for the
  /// provider's defaults.
  public var permissions: [String]?
  public var audience: AccessGrant.Audience?
  /// Called after the sign-in has granted the application the account.
  public var granted: @Sendable (AccessGrant, Account) -> Void = { _, _ in }
  /// The application's own registration at the provider; `nil` when it has none.
  @Indirect public var registration: ClientRegistration?
  /// The provider's id in the catalogue.
  public var provider: String
  /// The account to make usable again; the sign-in fails if another account signs in.
  public var account: Account.ID?
  /// `nil` for the provider's first flow that works here.
  public var flowKind: FlowKind?
  /// The account with the id_token that becomes the assertion of `jwtBearer`, or the subject token
  /// of `tokenExchange`; `nil` for the file of the registration.
  public var assertionFrom: Account.ID?
  /// Returns the application's own registration at another provider, by the provider's id.
  public var registrations: @Sendable (String) -> ClientRegistration? = { _ in nil }
  /// `nil` for the scopes of the resource, or else those of the flow.
  public var scopes: [String]?
  /// The identifier of the protected resource that the credential is for; `nil` for none in
  /// particular. RFC 8707.
  public var resource: String?
  /// The scopes that the resource asks for, used if `scopes` is `nil`.
  public var resourceScopes: [String] = []
  /// Whether the resource has refused a token because it lacks scopes. RFC 6750 section 3.1.
  public var isStepUp = false
  /// Whether the resource takes only tokens that are bound to a key. RFC 9449.
  public var bindsTokens = false
  /// Added unchanged to the authorization request or the device authorization request.
  public var customParameters: [Parameter] = []
  /// The language of the provider's page; `nil` for the page's own choice.
  public var locale: LanguageTag?
  @Indirect public var login = Login()
  @Indirect public var openID = OpenIDParameters()

  /// A login at a server of the person's own: for `passwordSession`.
  public struct Login: Sendable {
    public var server: Server?
    public var username: String?
    /// Whether the session's cookies are kept, if the descriptor leaves it to the sign-in.
    /// `nil` for no.
    public var usesCookies: Bool?
    /// Whether the person is asked about a certificate that is not trusted; `nil` for no.
    public var acceptsUntrustedCertificates: Bool?
    /// The accepted public key of the server, instead of that question: `ServerTrust.publicKey`.
    public var trustedPublicKey: String?
    /// `ServerTrust.caFile`
    public var caFile: String?
  }

  /// The request parameters of OpenID Connect Core 1.0, sections 3.1.2.1 and 5.5.
  public struct OpenIDParameters: Sendable {
    public var loginHint: String?
    public var prompt: String?
    public var maxAgeSeconds: Int64?
    public var acrValues: String?
    /// JSON text.
    public var claims: String?
  }

  /// A server as the person names it.
  public struct Server: Sendable, Equatable {
    /// The host, or an address with scheme and port.
    public var name: String
    /// `nil` for the port in the name, or the descriptor's.
    public var port: UInt16?
    /// `nil` for the scheme in the name, or https.
    public var isSecure: Bool?

    /// Whether a name is given, and neither port nor scheme beside it.
    public var isNameAlone: Bool { !name.isEmpty && port == nil && isSecure == nil }

    public init(_ name: String, port: UInt16? = nil, isSecure: Bool? = nil) {
      self.name = name
      self.port = port
      self.isSecure = isSecure
    }
  }

  public init(application: String, registration: ClientRegistration?, provider: String) {
    self.application = application
    self.registration = registration
    self.provider = provider
  }

  /// The JSON Pointer of the first given parameter that only a server of the person's own takes;
  /// `nil` if none is given.
  var serverParameter: String? {
    [
      ("/server/host", login.server?.name.isEmpty == false),
      ("/server/port", login.server?.port != nil),
      ("/server/secure", login.server?.isSecure != nil),
      ("/server/username", login.username != nil),
      ("/server/useCookies", login.usesCookies == true),
      ("/server/acceptUntrustedCertificates", login.acceptsUntrustedCertificates == true),
      ("/server/trustedPublicKey", login.trustedPublicKey != nil),
      ("/server/caFile", login.caFile != nil),
    ].first { $0.1 }?.0
  }

  /// The JSON Pointer of the first given parameter that only a page can show; `nil` if none is
  /// given.
  var pageParameter: String? {
    [
      ("/page/loginHint", openID.loginHint != nil), ("/page/prompt", openID.prompt != nil),
      ("/page/maxAgeSeconds", openID.maxAgeSeconds != nil),
      ("/page/acrValues", openID.acrValues != nil), ("/page/claims", openID.claims != nil),
      ("/customParameters", !customParameters.isEmpty),
    ].first { $0.1 }?.0
  }

  /// Returns all parameters to add to the authorization request or the device authorization
  /// request. Throws `reservedParameter` for a custom parameter with a name that einlass sets
  /// itself.
  func pageParameters() throws(Problem) -> [Parameter] {
    let standard = [
      ("login_hint", openID.loginHint), ("prompt", openID.prompt),
      ("max_age", openID.maxAgeSeconds.map { "\($0)" }),
      ("acr_values", openID.acrValues), ("claims", openID.claims),
    ].compactMap { name, value in value.map { Parameter(name, $0) } }
    var parameters = standard
    for parameter in customParameters {
      let parameter = try AuthorizationRequest.customParameter(parameter.name, parameter.value)
      guard !standard.contains(where: { $0.name == parameter.name.lowercased() }) else {
        throw .reservedParameter(parameter.name)
      }
      parameters.append(parameter)
    }
    return parameters
  }

  /// Returns the parameter for the language of the page; nothing if the provider takes none, and if a
  /// custom parameter has its name.
  func localeParameters(at provider: Provider) -> [Parameter] {
    guard let locale, let parameter = provider.locale?.parameter(locale),
      !customParameters.contains(where: { sameBytes($0.name.lowercased(), parameter.name) })
    else { return [] }
    return [parameter]
  }
}
