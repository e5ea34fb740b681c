import EinlassJSON

/// The authorization endpoint. RFC 6749 section 4.1.1, OpenID Connect Core 1.0 section 3.1.2.
extension OAuth2Provider {
  /// A request with a checked application and redirect, so that errors may be sent to the redirect.
  private struct Asked {
    var application: Consumer
    var redirect: String
    var parameters: [Parameter]
    /// The parameter `redirect_uri`, which the token endpoint compares.
    var namedRedirect: String?
  }

  /// An error response (RFC 6749 section 4.1.2.1).
  private struct Denial: Error {
    var error: String
    var description: String
    init(_ error: String, _ description: String) {
      (self.error, self.description) = (error, description)
    }
  }

  /// Shows the consent page or takes its answer. An error that must not be sent to the redirect
  /// becomes a page with status 400.
  func authorization(_ request: Request, in world: inout World) -> Answer {
    guard let query = request.query, let form = request.form else {
      return ConsentPage.problem("The parameters cannot be decoded.")
    }
    guard let parameters = referred(query.isEmpty ? form : query, in: &world) else {
      return ConsentPage.problem("The request_uri is missing, unknown or expired.")
    }
    let asked: Asked
    switch application(parameters, in: &world) {
    case .success(let found): asked = found
    case .failure(let flaw): return ConsentPage.problem(flaw.description)
    }
    do throws(Denial) {
      let scopes = try scopes(of: asked, in: &world)
      switch try decision(of: asked, form: form, in: &world) {
      case nil: return page(for: asked, scopes: scopes, in: world)
      case false?: throw Denial("access_denied", "The person denied it.")
      case true?:
        let user = person(hint: form["user"] ?? parameters["login_hint"], in: world)
        guard let user else { throw Denial("server_error", "There is no user.") }
        let code = makeCode(for: asked, user: user, scopes: scopes, in: &world)
        return back(to: asked, [("code", code)], request, in: world)
      }
    } catch {
      world.note("answer", false, "\(error.error) \(error.description)")
      return back(
        to: asked, [("error", error.error), ("error_description", error.description)], request,
        in: world)
    }
  }

  /// Checks the application and the redirect. Nothing is sent to the redirect before both are
  /// known.
  private func application(
    _ parameters: [Parameter], in world: inout World
  ) -> Result<Asked, Denial> {
    if let name = parameters.duplicate() {
      world.note("parameters", false, "\(name) occurs twice")
      return .failure(Denial("invalid_request", "The parameter \(name) occurs twice."))
    }
    guard let id = parameters["client_id"], let application = consumer(id, in: world.state),
      !application.isRevoked
    else {
      world.note("application", false, parameters["client_id"] ?? "it is missing")
      return .failure(Denial("invalid_client", "The application is not registered here."))
    }
    world.note("application", true, id)
    let registered = application.record["redirects"]?.strings ?? []
    let named = parameters["redirect_uri"]
    let redirect = named ?? (registered.count == 1 ? registered[0] : nil)
    let rule = RedirectRule(ports: behaviour(in: world).redirectPorts)
    guard let redirect, registered.contains(where: { rule.matches(redirect, registered: $0) })
    else {
      world.note("redirect", false, named ?? "it is missing")
      return .failure(Denial("invalid_request", "The redirect address is not registered."))
    }
    world.note("redirect", true, redirect)
    return .success(
      Asked(
        application: application, redirect: redirect, parameters: parameters, namedRedirect: named))
  }

  /// Checks the rest of the request and returns its scopes.
  private func scopes(of asked: Asked, in world: inout World) throws(Denial) -> [String] {
    let behaviour = behaviour(in: world)
    guard sameBytes(asked.parameters["response_type"] ?? "", "code") else {
      throw Denial("unsupported_response_type", "Only code is supported.")
    }
    guard ["query", "fragment", "form_post"].contains(asked.parameters["response_mode"] ?? "query")
    else { throw Denial("invalid_request", "There is no such response_mode.") }
    for needed in behaviour.pageParameters {
      let isThere = asked.parameters[needed.name] == needed.value.string
      world.note(needed.name, isThere)
      guard isThere else { throw Denial("invalid_request", "\(needed.name) is missing.") }
    }
    if !["unknown", "refused"].contains(behaviour.pkce) {
      switch (asked.parameters["code_challenge"], asked.parameters["code_challenge_method"]) {
      case (nil, nil) where behaviour.pkce == "optional": break
      case (let challenge?, "S256") where challenge.utf8.count == 43 && isBase64URL(challenge):
        world.note("codeChallenge", true)
      default:
        world.note("codeChallenge", false)
        throw Denial("invalid_request", "A code_challenge with S256 is required.")
      }
    }
    let scopes = behaviour.split(asked.parameters["scope"] ?? "")
    let own = asked.application.record["scopes"].map(\.strings)
    if let known = own ?? behaviour.scopes,
      let unknown = scopes.first(where: { !known.contains($0) })
    {
      world.note("scopes", false, unknown)
      throw Denial("invalid_scope", "There is no scope \(unknown).")
    }
    world.note("state", asked.parameters["state"] != nil)
    return behaviour.grants ?? scopes
  }

  /// Returns the person's decision, or `nil` if the page has to be shown.
  private func decision(
    of asked: Asked, form: [Parameter], in world: inout World
  ) throws(Denial) -> Bool? {
    switch (form["decision"], behaviour(in: world).consent) {
    case ("allow"?, _), (nil, "allow"): return true
    case (.some, _), (nil, "deny"): return false
    default:
      guard asked.parameters["prompt"] != "none" else {
        throw Denial("consent_required", "The person must be asked.")
      }
      return nil
    }
  }

  private func page(for asked: Asked, scopes: [String], in world: World) -> Answer {
    ConsentPage(
      provider: name, application: asked.application.record["name"]?.string ?? asked.application.id,
      scopes: scopes, people: people(hint: asked.parameters["login_hint"], in: world)
    ).answer
  }

  private func makeCode(
    for asked: Asked, user: Record, scopes: [String], in world: inout World
  ) -> String {
    let code = world.randomText(32)
    let record = JSONObject(present: [
      "application": .string(asked.application.id), "user": .string(user.id),
      "redirect": asked.namedRedirect.map(JSONValue.string),
      "challenge": ["unknown", "refused"].contains(behaviour(in: world).pkce)
        ? nil : asked.parameters["code_challenge"].map(JSONValue.string),
      "nonce": asked.parameters["nonce"].map(JSONValue.string), "scopes": JSONValue(scopes),
      "resource": asked.parameters["resource"].map(JSONValue.string),
      "expiresAt": JSONValue(world.now + behaviour(in: world).codeSeconds),
    ])
    world.state[at: name, "codes", code] = .object(record)
    return code
  }

  private func back(
    to asked: Asked, _ answer: [(String, String)], _ request: Request, in world: World
  ) -> Answer {
    var parameters = answer.map { Parameter(name: $0.0, value: $0.1) }
    if let state = asked.parameters["state"] {
      parameters.append(Parameter(name: "state", value: state))
    }
    if behaviour(in: world).namesIssuer {
      parameters.append(Parameter(name: "iss", value: issuer(for: request, in: world)))
    }
    if asked.parameters["response_mode"] == "form_post" {
      return ConsentPage.post(parameters, to: asked.redirect)
    }
    let separator =
      asked.parameters["response_mode"] == "fragment"
      ? "#" : asked.redirect.contains("?") ? "&" : "?"
    return .redirect(to: asked.redirect + separator + parameters.formEncoded)
  }

  /// All users, beginning with the hinted one.
  func people(hint: String?, in world: World) -> [Record] {
    let first = person(hint: hint, in: world)
    let others = (world.state[at: name, "users"]?.object?.members ?? [])
      .map { Record(id: $0.name, value: $0.value) }
      .filter { $0.id != first?.id }
    return (first.map { [$0] } ?? []) + others
  }
}

/// The comparison of a redirect address with a registered one.
struct RedirectRule {
  /// The origins of this machine whose port does not count (RFC 8252 section 7.3).
  private let origins: [String]

  /// - Parameter ports: The word `redirectPorts` of a provider's behaviour.
  init(ports: String) {
    let addresses = ["http://127.0.0.1", "http://[::1]"]
    switch ports {
    case "any": origins = addresses + ["http://localhost"]
    case "addresses": origins = addresses
    case "localhost": origins = ["http://localhost"]
    default: origins = []
    }
  }

  /// Compares bytes, except for the port of those origins.
  func matches(_ address: String, registered: String) -> Bool {
    if sameBytes(address, registered) { return true }
    return origins.contains { origin in
      guard let left = rest(of: address, after: origin),
        let right = rest(of: registered, after: origin)
      else { return false }
      return sameBytes(left, right)
    }
  }

  /// Returns the part after the host and port, or `nil` for another host.
  private func rest(of address: String, after origin: String) -> String? {
    guard address.hasPrefix(origin) else { return nil }
    var rest = address.dropFirst(origin.count)
    if rest.first == ":" {
      let port = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
      guard (UInt16(port) ?? 0) > 0 else { return nil }
      rest = rest.dropFirst(1 + port.count)
    }
    guard rest.isEmpty || rest.first == "/" || rest.first == "?" else { return nil }
    return String(rest)
  }
}

/// Returns whether the text has only base64url characters and no padding.
func isBase64URL(_ text: String) -> Bool {
  text.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
