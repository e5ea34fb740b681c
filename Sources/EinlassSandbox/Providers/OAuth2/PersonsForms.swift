import EinlassJSON

/// The forms with which a person registers an application, or makes a token without one.
extension OAuth2Provider {
  func newApplication(_ request: Request, in world: inout World) -> Answer {
    guard request.method == "POST" else { return ConsentPage.newApplication }
    guard let form = request.form, let name = form["name"], let callback = form["callback"],
      !name.isEmpty, callback.hasPrefix("http://") || callback.hasPrefix("https://")
    else { return ConsentPage.problem("The form needs a name and an http or https callback.") }
    let (id, secret) = (world.randomText(20), world.randomText(40))
    world.state[at: self.name, "applications", id] = [
      "name": .string(name), "secret": .string(secret), "redirects": [.string(callback)],
      "device": .bool(form["device"] != nil),
    ]
    return ConsentPage.made(
      name,
      [("Client ID", "client_id", id), ("Client secret", "client_secret", secret)])
  }

  func newToken(_ request: Request, in world: inout World) -> Answer {
    let scopes = ["repo", "workflow", "gist", "read:user", "user:email"]
    guard request.method == "POST" else { return ConsentPage.newToken(scopes) }
    let token = world.randomText(40)
    world.state[at: name, "tokens", token] = [
      "user": .string(person(hint: nil, in: world)?.id ?? ""),
      "scopes": JSONValue((request.form ?? []).values(of: "scope")),
      "issuedAt": JSONValue(world.now),
    ]
    return ConsentPage.made("New personal access token", [("Token", "token", token)])
  }
}
