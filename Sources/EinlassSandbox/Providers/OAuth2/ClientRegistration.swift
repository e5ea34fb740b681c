import EinlassJSON

/// Dynamic client registration (RFC 7591).
extension OAuth2Provider {
  /// Registers an application, with a secret unless it asks for the method `none`.
  func registration(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
    guard !behaviour(in: world).registersByForm else {
      return try registrationByForm(request, in: &world)
    }
    guard sameBytes(request.method, "POST"), let wish = try? JSONReader.read(request.body),
      wish.object != nil
    else { throw OAuth2Refusal("invalid_client_metadata", "Send JSON by POST") }
    let redirects = wish["redirect_uris"]?.strings ?? []
    let isSafe = { (address: String) in
      address.hasPrefix("https://") || address.hasPrefix("http://127.0.0.1")
        || address.hasPrefix("http://[::1]") || address.hasPrefix("http://localhost")
        || !address.hasPrefix("http:") && address.contains(":/")
    }
    world.note("redirects", !redirects.isEmpty && redirects.allSatisfy(isSafe))
    guard !redirects.isEmpty, redirects.allSatisfy(isSafe) else {
      throw OAuth2Refusal(
        "invalid_redirect_uri",
        "A redirect address must be https, loopback or of the application's own scheme")
    }
    let way = wish["token_endpoint_auth_method"]?.string ?? "client_secret_basic"
    guard (["none"] + behaviour(in: world).authentication).contains(way) else {
      throw OAuth2Refusal("invalid_client_metadata", "\(way) is not supported")
    }
    let id = world.randomText(20)
    let secret = way == "none" ? nil : world.randomText(40)
    let title = wish["client_name"]?.string ?? id
    world.state[at: name, "applications", id] = .object(
      JSONObject(present: [
        "secret": secret.map(JSONValue.string), "name": .string(title),
        "redirects": JSONValue(redirects), "authentication": .string(way),
      ]))
    return .json(
      .object(
        JSONObject(present: [
          "client_id": .string(id), "client_secret": secret.map(JSONValue.string),
          "client_secret_expires_at": secret.map { _ in 0 },
          "client_id_issued_at": JSONValue(world.now), "client_name": .string(title),
          "redirect_uris": JSONValue(redirects), "token_endpoint_auth_method": .string(way),
          "grant_types": wish["grant_types"] ?? ["authorization_code"],
          "response_types": ["code"],
        ])), status: 201, headers: [Parameter(name: "Cache-Control", value: "no-store")])
  }

  /// Registers an application with a secret and with these scopes alone.
  private func registrationByForm(
    _ request: Request, in world: inout World
  ) throws(OAuth2Refusal) -> Answer {
    func refused(_ why: String) -> OAuth2Refusal {
      OAuth2Refusal("Validation failed: \(why)", why, status: 422)
    }
    let form = sameBytes(request.method, "POST") ? request.form ?? [] : []
    guard let title = form["client_name"], !title.isEmpty else {
      throw refused("Application name can't be blank")
    }
    let redirects = (form["redirect_uris"] ?? "").split(separator: "\n").map(String.init)
    guard !redirects.isEmpty, redirects.allSatisfy({ $0.contains(":") }) else {
      throw refused("Redirect URI must be an absolute URI.")
    }
    let scopes = (form["scopes"] ?? "read").split(separator: " ").map(String.init)
    let isKnown = Set(scopes).isSubset(of: behaviour(in: world).scopes ?? scopes)
    world.note("registeredScopes", isKnown)
    guard isKnown else { throw refused("Scopes doesn't match configured on the server.") }
    let (id, secret) = (world.randomText(20), world.randomText(40))
    world.state[at: name, "applications", id] = [
      "secret": .string(secret), "name": .string(title), "redirects": JSONValue(redirects),
      "scopes": JSONValue(scopes),
    ]
    return .json([
      "id": "1", "name": .string(title), "client_id": .string(id),
      "client_secret": .string(secret), "client_secret_expires_at": 0,
      "redirect_uri": .string(redirects.joined(separator: "\n")),
      "redirect_uris": JSONValue(redirects), "scopes": JSONValue(scopes),
    ])
  }
}
