/// What a front end wants when it asks for a sign-in at a provider: `accounts.signIn` of the protocol, section 3.
public struct SignInRequest: Sendable {
  /// The application as it named itself.
  public var application: String
  /// Its name for people, who read it on the page that the browser ends on.
  public var applicationTitle: String?
  /// The application's own registration at the provider; `nil` when it has none.
  public var registration: ClientRegistration?
  /// The provider's id in the catalogue.
  public var provider: String
  /// The account to make usable again; who signs in to another one has failed.
  public var account: Account.ID?
  /// `nil`: the first flow of the provider that works here.
  public var flowKind: FlowKind?
  /// `nil`: the flow's own, or those of the resource.
  public var scopes: [String]?
  /// The protected resource that the credential is for, by its own name; `nil` for none in particular. RFC 8707.
  public var resource: String?
  /// What the resource wants, where the front end does not say.
  public var resourceScopes: [String] = []
  /// For the provider's page, or for a device's request, as they are.
  public var customParameters: [Parameter] = []
  /// What OpenID Connect Core 1.0 section 3.1.2.1 has parameters for.
  public var loginHint: String?
  public var prompt: String?
  public var maxAgeSeconds: Int64?
  public var acrValues: String?
  /// JSON.
  public var claims: String?

  public init(application: String, registration: ClientRegistration?, provider: String) {
    self.application = application
    self.registration = registration
    self.provider = provider
  }

  /// The first of the parameters, by its name in the protocol, that only a page can show; `nil` when there is none.
  var pageParameterName: String? {
    [
      ("loginHint", loginHint != nil), ("prompt", prompt != nil),
      ("maxAgeSeconds", maxAgeSeconds != nil), ("acrValues", acrValues != nil),
      ("claims", claims != nil), ("customParameters", !customParameters.isEmpty),
    ].first { $0.1 }?.0
  }

  /// All that is added to the provider's page, or to a device's request. Throws `reservedParameter` for a name that stands for itself already.
  func pageParameters() throws(Problem) -> [Parameter] {
    let standard = [
      ("login_hint", loginHint), ("prompt", prompt), ("max_age", maxAgeSeconds.map { "\($0)" }),
      ("acr_values", acrValues), ("claims", claims),
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
}
