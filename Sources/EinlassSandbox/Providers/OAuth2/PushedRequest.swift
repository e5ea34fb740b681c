import EinlassJSON

/// Pushed authorization requests (RFC 9126).
extension OAuth2Provider {
  private static let prefix = "urn:ietf:params:oauth:request_uri:"

  /// Stores the parameters of an authenticated application (RFC 9126 section 2).
  func pushed(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
    guard sameBytes(request.method, "POST"), let form = request.form, form.duplicate() == nil else {
      throw OAuth2Refusal("invalid_request", "Send a form by POST, each parameter once")
    }
    let application = try application(of: request, form, in: &world)
    guard form["request_uri"] == nil, form["response_type"] != nil else {
      throw OAuth2Refusal(
        "invalid_request", "Push a complete authorization request, without request_uri")
    }
    let reference = Self.prefix + world.randomText(24)
    let secrets = ["client_secret", "client_assertion", "client_assertion_type"]
    let kept = form.filter { !secrets.contains($0.name) && $0.name != "client_id" }
    world.state[at: name, "pushed", reference] = [
      "application": .string(application.id),
      "parameters": .object(JSONObject(kept.map { ($0.name, .string($0.value)) })),
      "expiresAt": JSONValue(world.now + 90),
    ]
    return .json(
      ["request_uri": .string(reference), "expires_in": 90], status: 201,
      headers: [Parameter(name: "Cache-Control", value: "no-store")])
  }

  /// Returns the parameters, or the pushed ones that they refer to (RFC 9126 section 4). Returns
  /// `nil` for an invalid reference, or without a reference if one is required.
  func referred(_ parameters: [Parameter], in world: inout World) -> [Parameter]? {
    guard let reference = parameters["request_uri"] else {
      let isRequired = behaviour(in: world).requiresPush
      if isRequired { world.note("pushed", false, "nothing was pushed") }
      return isRequired ? nil : parameters
    }
    let record = world.state[at: name, "pushed", reference]
    let id = parameters["client_id"] ?? ""
    let isOwn = record?["application"]?.string.map { sameBytes($0, id) } ?? false
    let isGood = isOwn && record?["expiresAt"]?.int64 ?? 0 > world.now
    let isAlone = parameters.allSatisfy {
      ["client_id", "request_uri", "decision", "user"].contains($0.name)
    }
    world.note("pushed", isGood && isAlone)
    guard isGood, isAlone, let members = record?["parameters"]?.object?.members else { return nil }
    return [Parameter(name: "client_id", value: id)]
      + members.map { Parameter(name: $0.name, value: $0.value.string ?? "") }
  }
}
