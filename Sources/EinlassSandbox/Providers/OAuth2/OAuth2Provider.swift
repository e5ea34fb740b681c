import EinlassJSON

/// A strict OAuth 2.0 authorization server and OpenID provider. Its endpoints, behaviour and
/// responses are configured by its part of the state, so that a peculiar provider needs no code of
/// its own.
struct OAuth2Provider: Provider {
  let name: String
  let origins: [String]
  let demoState: JSONValue

  let hasOwnAddress = true

  func owns(_ request: Request) -> Bool { false }

  /// The endpoints. Their paths are in the state's `endpoints`; one without a path does not exist.
  enum Endpoint: String, CaseIterable {
    case authorization, token, device, deviceToken, verification, revocation, tokenDeletion
    case introspection, tokenInfo, userinfo, emails, profile, registration, keys, openIDMetadata,
      oauthMetadata, pushed
    /// The token endpoint for refresh tokens, if it is another.
    case refresh
    /// The forms for a new application, and for a token of the person's own.
    case applicationForm, tokenForm
    /// All paths below this one.
    case repository
  }

  /// Returns the path of an endpoint, or `nil` if it does not exist.
  func path(of endpoint: Endpoint, in world: World) -> String? {
    world.state[at: name, "endpoints", endpoint.rawValue]?.string
  }

  func behaviour(in world: World) -> OAuth2Behaviour {
    OAuth2Behaviour(json: world.state[at: name, "behaviour"] ?? .null)
  }

  func answer(_ request: Request, in world: inout World) -> Answer {
    let endpoint = Endpoint.allCases.first { endpoint in
      path(of: endpoint, in: world).map { path in
        endpoint == .repository
          ? request.path.hasPrefix(path + "/") : Self.fits(request.path, path)
      } ?? false
    }
    do throws(OAuth2Refusal) {
      guard world.exhaustedLimit(of: name, path: request.path) == nil else {
        throw OAuth2Refusal("temporarily_unavailable", "Too many requests", status: 429)
      }
      switch endpoint {
      case .authorization: return authorization(request, in: &world)
      case .token, .refresh:
        return try token(request, refreshing: endpoint == .refresh, in: &world)
      case .pushed: return try pushed(request, in: &world)
      case .device: return try device(request, in: &world)
      case .deviceToken: return try deviceToken(request, in: &world)
      case .verification: return verification(request, in: &world)
      case .revocation: return try revocation(request, in: &world)
      // GitHub has both under one path.
      case .tokenDeletion where request.method == "POST", .tokenInfo:
        return try tokenInfo(request, in: &world)
      case .tokenDeletion: return try tokenDeletion(request, in: &world)
      case .introspection: return try introspection(request, in: &world)
      case .userinfo: return try userinfo(request, in: &world)
      case .emails: return try userinfo(request, filling: "emails", in: &world)
      case .profile: return try userinfo(request, filling: "profile", in: &world)
      case .registration: return try registration(request, in: &world)
      case .applicationForm: return newApplication(request, in: &world)
      case .tokenForm: return newToken(request, in: &world)
      case .keys: return .json(["keys": .array(publicKeys(in: &world))])
      case .openIDMetadata, .oauthMetadata: return .json(metadata(for: request, in: world))
      case .repository:
        return try repository(request, at: path(of: .repository, in: world) ?? "", in: &world)
      case nil: return .text("This path does not exist.\n", status: 404)
      }
    } catch {
      world.note("answer", false, "\(error.error) \(error.description)")
      return error.answer(behaviour: behaviour(in: world), words: world.state[name] ?? .null)
    }
  }

  /// Whether a path is that of an endpoint; `{clientId}` there stands for any segment.
  private static func fits(_ path: String, _ endpoint: String) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let wanted = endpoint.split(separator: "/", omittingEmptySubsequences: false)
    return parts.count == wanted.count
      && zip(parts, wanted).allSatisfy { $1 == "{clientId}" || sameBytes(String($0), String($1)) }
  }

  /// Returns the issuer in tokens and metadata.
  func issuer(for request: Request, in world: World) -> String {
    behaviour(in: world).issuer ?? origin(of: request)
  }

  /// Returns the origin that the client has used.
  func origin(of request: Request) -> String { "http://\(request.header("Host") ?? "")" }

  func account(user: Record, token: Record, of application: Consumer) -> JSONValue {
    [
      "provider": .string(name),
      "username": .string(user["username"] ?? user.id),
      "displayName": .string(user["name"] ?? user.id),
      "subject": .string(user.id),
      "credential": [
        "type": "oauth2", "token": .string(token.id), "clientId": .string(application.id),
      ],
    ]
  }
}

/// An error response (RFC 6749 section 5.2, RFC 6750 section 3).
struct OAuth2Refusal: Error, Sendable {
  /// The error code for programs.
  var error: String
  /// The description for people.
  var description: String
  var status: Int
  /// The scheme of the `WWW-Authenticate` header, if one is required.
  var challenge: String?

  init(_ error: String, _ description: String, status: Int = 400, challenge: String? = nil) {
    self.error = error
    self.description = description
    self.status = status
    self.challenge = challenge
  }

  /// Returns the error in JSON or as a form, with status 200 if the provider reports errors so.
  /// `words` is the provider's state.
  func answer(behaviour: OAuth2Behaviour, words: JSONValue) -> Answer {
    var headers = [Parameter(name: "Cache-Control", value: "no-store")]
    if let challenge {
      let value =
        challenge == "Basic" ? #"Basic realm="sandbox""# : #"\#(challenge) error="\#(error)""#
      headers.append(Parameter(name: "WWW-Authenticate", value: value))
    }
    var members = words["errorMembers"]?.object ?? JSONObject()
    for (name, value) in [
      ("error", JSONValue.string(error)), ("error_description", .string(description)),
      ("error_code", words[at: "errorCodes", error]),
    ] as [(String, JSONValue?)] {
      members[words[at: "errorNames", name]?.string ?? name] = value
    }
    // A resource server answers a bad token with 401 even there. RFC 6750 section 3.1.
    let isOfResource = ["invalid_token", "bad_credentials"].contains(error)
    let status = behaviour.tellsFailuresWith200 && !isOfResource ? 200 : status
    guard behaviour.answersForms else {
      return .json(.object(members), status: status, headers: headers)
    }
    let form = members.members.map { member in
      Parameter(name: member.name, value: member.value.string ?? member.value.text)
    }
    return Answer(
      status: status, type: "application/x-www-form-urlencoded",
      body: Array(form.formEncoded.utf8), headers: headers)
  }
}
