import EinlassJSON

/// Dynamic client registration (RFC 7591).
extension OAuth2Provider {
  /// Registers an application, with a secret unless it asks for the method `none`.
  func registration(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
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
}
