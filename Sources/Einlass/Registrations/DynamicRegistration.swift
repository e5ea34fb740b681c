internal import EinlassCrypto
internal import EinlassJSON

/// A provider's registration endpoint, and the client authentication to request there. RFC 7591.
///
///     "dynamicRegistration": {"url": "https://example.com/register",
///                             "clientAuthentication": "none", "scopes": ["email"]}
///     "dynamicRegistration": {"url": "https://example.com/apps",
///                             "clientAuthentication": "client_secret_post",
///                             "form": {"name": "{application}", "redirects": "{redirect}",
///                                      "scopes": "{permissions}"}}
///
/// `form` is for a provider with a request of its own in place of the standard's JSON. `scopes` are
/// those to register beside the requested ones, because a registration has no others later. If the
/// provider refuses them, only the requested ones are registered. A usual scope that the provider
/// refuses too is replaced by the narrowest one that contains it, by `scopeContents`.
struct DynamicRegistration: Sendable, Equatable {
  /// The longest answer that is read, in bytes.
  static let limitBytes = 64 << 10
  private static let clientIDLimitBytes = 1024
  private static let secretLimitBytes = 4096

  var endpoint: WebAddress
  /// The requested way; the answer may name another.
  var clientAuthentication: ClientAuthentication
  /// The provider's own request; empty for that of the standard.
  var form: [RequestTemplate.Field] = []
  /// The scopes to register; empty if a registration names none.
  var scopes: [String] = []
  /// The refusal of the last sign-in, in a sentence; einlass writes it for an added provider.
  var refusal: String?

  /// Whether a registration has scopes, and the sign-ins have no others.
  var namesScopes: Bool { !scopes.isEmpty || form.contains { $0.value.mentions(.permissions) } }

  /// The reason an answer is no registration.
  enum Fault: Error, Equatable {
    /// The answer is no JSON object, or a member has a wrong type, is missing or too long.
    case member(String)
    /// The server demands a client authentication that einlass does not support here.
    case foreignAuthentication
    /// The registered redirect addresses lack the requested one.
    case foreignRedirect
  }

  /// Returns the request to register a native application. RFC 7591 section 3.1, with
  /// `application_type` of OpenID Connect Dynamic Client Registration 1.0 section 2.
  ///
  /// - Parameters:
  ///   - redirect: `nil` for a client without a redirect.
  ///   - scope: The scopes as one text; `nil` if the registration names none.
  func request(
    name: String, redirect: String?, grantTypes: [String], scope: String? = nil
  ) -> HTTPRequest {
    guard form.isEmpty else {
      let values = Template.Values(texts: [
        .application: name, .redirect: redirect ?? "", .permissions: scope ?? "",
      ])
      return HTTPRequest(
        .post, endpoint,
        headers: [
          .init("Content-Type", FormEncoding.mediaType), .init("Accept", "application/json"),
        ],
        body: Array(
          FormEncoding.encode(form.map { Parameter($0.name, $0.value.filled(values)) }).utf8),
        responseLimitBytes: Self.limitBytes)
    }
    let metadata = JSONObject(present: [
      "client_name": .string(name),
      "redirect_uris": redirect.map { [.string($0)] },
      "grant_types": JSONValue(grantTypes),
      "response_types": redirect.map { _ in ["code"] },
      "token_endpoint_auth_method": .string(clientAuthentication.rawValue),
      "application_type": "native", "scope": scope.map(JSONValue.string),
    ])
    return HTTPRequest(
      .post, endpoint,
      headers: [
        .init("Content-Type", "application/json"), .init("Accept", "application/json"),
      ],
      body: JSONValue.object(metadata).bytes(), responseLimitBytes: Self.limitBytes)
  }

  /// Returns the registration in an answer. The registration access token is not kept, because
  /// einlass never changes a registration. RFC 7591 section 3.2.1.
  func registration(
    in answer: JSONValue?, redirect: String?
  ) throws(Fault) -> (ClientRegistration, expiresAt: UnixTime?) {
    guard let object = answer?.object else { throw .member("document") }
    guard let clientID = object["client_id"]?.string,
      Self.isText(clientID, limitBytes: Self.clientIDLimitBytes)
    else { throw .member("client_id") }
    var way = clientAuthentication
    if let word = object["token_endpoint_auth_method"], !word.isNull {
      guard let known = word.string.flatMap(ClientAuthentication.init),
        known == .none || known.isForSecret
      else {
        throw .foreignAuthentication
      }
      way = known
    }
    if let redirect, let addresses = object["redirect_uris"], !addresses.isNull {
      guard addresses.array?.contains(.string(redirect)) == true else { throw .foreignRedirect }
    }
    guard way != .none else {
      return (
        ClientRegistration(
          clientID: clientID, redirect: redirect, authentication: way.rawValue), nil
      )
    }
    guard let secret = object["client_secret"]?.string,
      Self.isText(secret, limitBytes: Self.secretLimitBytes)
    else { throw .member("client_secret") }
    let end = object["client_secret_expires_at"].map { $0.isNull ? 0 : $0.int64 ?? -1 } ?? 0
    guard end >= 0 else { throw .member("client_secret_expires_at") }
    return (
      ClientRegistration(
        clientID: clientID, clientSecret: Secret(secret), redirect: redirect,
        authentication: way.rawValue), end == 0 ? nil : end
    )
  }

  private static func isText(_ text: String, limitBytes: Int) -> Bool {
    (1...limitBytes).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }
}

extension DynamicRegistration {
  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    let reader = try reader.object(
      name, members: ["url", "clientAuthentication", "form", "scopes", "refused"])
    endpoint = try reader.address("url")
    clientAuthentication = try reader.word("clientAuthentication", ClientAuthentication.self)
    form = try RequestTemplate.fields(
      "form", in: reader, [.application, .redirect, .permissions])
    scopes = try reader.optional("scopes", reader.strings) ?? []
    guard
      scopes.isEmpty || form.isEmpty || form.contains(where: { $0.value.mentions(.permissions) })
    else { throw reader.fault("scopes", "The member form has no {permissions} for them.") }
    refusal = try reader.optional("refused", reader.shown)
  }

  func relocated(_ move: (WebAddress) -> WebAddress) -> DynamicRegistration {
    var moved = self
    moved.endpoint = move(endpoint)
    return moved
  }
}
