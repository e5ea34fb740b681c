import EinlassJSON

/// An OAuth 2.0 authorization server, and OpenID provider, that checks everything. Which endpoints it has, how it
/// behaves and how it answers stands in its part of the state: a peculiar provider is data.
struct OAuth2Provider: Provider {
  let name: String
  let origins: [String]
  let demoState: JSONValue

  let hasOwnAddress = true

  func owns(_ request: Request) -> Bool { false }

  /// What can be asked for; the paths stand in the state's `endpoints`, and what has none is not there.
  enum Endpoint: String, CaseIterable {
    case authorization, token, device, deviceToken, verification, revocation, tokenDeletion
    case introspection, userinfo, emails, registration, keys, openIDMetadata, oauthMetadata, pushed
  }

  /// The path of an endpoint.
  func path(of endpoint: Endpoint, in world: World) -> String? {
    world.state[at: name, "endpoints", endpoint.rawValue]?.string
  }

  /// How it behaves now.
  func manners(in world: World) -> OAuth2Manners {
    OAuth2Manners(json: world.state[at: name, "manners"] ?? .null)
  }

  func answer(_ request: Request, in world: inout World) -> Answer {
    let endpoint = Endpoint.allCases.first { endpoint in
      path(of: endpoint, in: world).map { sameBytes($0, request.path) } ?? false
    }
    do throws(OAuth2Refusal) {
      guard world.exhaustedLimit(of: name, path: request.path) == nil else {
        throw OAuth2Refusal("temporarily_unavailable", "Too many requests", status: 429)
      }
      switch endpoint {
      case .authorization: return authorization(request, in: &world)
      case .token: return try token(request, in: &world)
      case .pushed: return try pushed(request, in: &world)
      case .device: return try device(request, in: &world)
      case .deviceToken: return try deviceToken(request, in: &world)
      case .verification: return verification(request, in: &world)
      case .revocation: return try revocation(request, in: &world)
      case .tokenDeletion: return try tokenDeletion(request, in: &world)
      case .introspection: return try introspection(request, in: &world)
      case .userinfo: return try userinfo(request, in: &world)
      case .emails: return try userinfo(request, filling: "emails", in: &world)
      case .registration: return try registration(request, in: &world)
      case .keys: return .json(["keys": .array(publicKeys(in: &world))])
      case .openIDMetadata, .oauthMetadata: return .json(metadata(for: request, in: world))
      case nil: return .text("There is nothing at this path.\n", status: 404)
      }
    } catch {
      world.note("answer", false, "\(error.error) \(error.description)")
      return error.answer(manners: manners(in: world), words: world.state[name] ?? .null)
    }
  }

  /// What tokens and metadata name as the issuer.
  func issuer(for request: Request, in world: World) -> String {
    manners(in: world).issuer ?? origin(of: request)
  }

  /// Where the client believes to be.
  func origin(of request: Request) -> String { "http://\(request.header("Host") ?? "")" }

  /// `accounts.add` parameters for a token that an application of the system holds.
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

/// Why a client is refused. RFC 6749 section 5.2, RFC 6750 section 3.
struct OAuth2Refusal: Error, Sendable {
  /// The code that programs look at.
  var error: String
  /// For people.
  var description: String
  var status: Int
  /// Scheme of a `WWW-Authenticate` header, where one is due.
  var challenge: String?

  init(_ error: String, _ description: String, status: Int = 400, challenge: String? = nil) {
    self.error = error
    self.description = description
    self.status = status
    self.challenge = challenge
  }

  /// The error in JSON, or as a form; status 200 where the provider tells its failures so. `words` is its state.
  func answer(manners: OAuth2Manners, words: JSONValue) -> Answer {
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
    let status = manners.tellsFailuresWith200 ? 200 : status
    guard manners.answersForms else {
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
