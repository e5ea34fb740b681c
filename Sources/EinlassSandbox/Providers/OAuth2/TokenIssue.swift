import EinlassJSON

/// Tokens and their families. A family contains all tokens from one consent.
extension OAuth2Provider {
  /// Begins a family for a new consent.
  func start(_ family: String, of grant: Grant, in world: inout World) {
    let record = JSONObject(present: [
      "application": .string(grant.application.id), "user": grant.user.map { .string($0.id) },
      "scopes": JSONValue(grant.scopes), "resource": grant.resource.map(JSONValue.string),
    ])
    world.state[at: name, "families", family] = .object(record)
  }

  /// Issues the tokens of a grant and returns the response (RFC 6749 section 5.1).
  func issue(
    _ grant: Grant, for request: Request, refreshed old: String?, in world: inout World
  ) throws(OAuth2Refusal) -> Answer {
    let behaviour = behaviour(in: world)
    let access = accessToken(for: grant, in: &world)
    if let family = grant.family, behaviour.refreshPauseSeconds > 0 {
      world.state[at: name, "families", family, "renewableAt"] = JSONValue(
        world.now + behaviour.refreshPauseSeconds)
    }
    var members = JSONObject(present: [
      "access_token": .string(access), "token_type": .string(behaviour.tokenType),
      "expires_in": lifetime(grant.scopes, behaviour),
      "scope": behaviour.scope(grant.scopes),
    ])
    members["refresh_token"] = refreshToken(for: grant, instead: old, in: &world)
      .map(JSONValue.string)
    members["issued_token_type"] = grant.issuedType.map(JSONValue.string)
    if let user = grant.user, grant.scopes.contains("openid"), old == nil || behaviour.renewsIDToken
    {
      members["id_token"] = .string(
        try idToken(for: grant, user: user, access: access, request, in: &world))
    }
    if let user = grant.user, let template = world.state[at: name, "tokenMembers"],
      case .object(let more)? = Self.fill(template, with: user)
    {
      for member in more.members { members[member.name] = member.value }
    }
    let isForm =
      behaviour.answersForms
      || behaviour.answersAsAsked && request.header("Accept")?.contains("json") != true
    return isForm ? form(members) : json(members)
  }

  private func json(_ members: JSONObject) -> Answer {
    .json(
      .object(members),
      headers: [
        Parameter(name: "Cache-Control", value: "no-store"),
        Parameter(name: "Pragma", value: "no-cache"),
      ])
  }

  private func form(_ members: JSONObject) -> Answer {
    let form = members.members.map { member in
      Parameter(name: member.name, value: member.value.string ?? member.value.text)
    }
    return .text(form.formEncoded, type: "application/x-www-form-urlencoded; charset=utf-8")
  }

  private func accessToken(for grant: Grant, in world: inout World) -> String {
    let behaviour = behaviour(in: world)
    let token = world.randomText(40)
    let record = JSONObject(present: [
      "application": .string(grant.application.id), "user": grant.user.map { .string($0.id) },
      "family": grant.family.map(JSONValue.string), "scopes": JSONValue(grant.scopes),
      "issuedAt": JSONValue(world.now),
      "expiresAt": behaviour.lifetime(of: grant.scopes) == "none"
        ? nil : JSONValue(world.now + behaviour.accessSeconds),
    ])
    world.state[at: name, "tokens", token] = .object(record)
    return token
  }

  private func lifetime(_ scopes: [String], _ behaviour: OAuth2Behaviour) -> JSONValue? {
    switch behaviour.lifetime(of: scopes) {
    case "text": .string(String(behaviour.accessSeconds))
    case "none": nil
    default: JSONValue(behaviour.accessSeconds)
    }
  }

  /// Returns the refresh token for a response, if any, and marks a rotated one as used.
  private func refreshToken(
    for grant: Grant, instead old: String?, in world: inout World
  ) -> String? {
    let behaviour = behaviour(in: world)
    guard let family = grant.family else { return nil }
    switch (behaviour.refresh, old) {
    case ("never", _), ("kept", .some): return nil
    case ("reusable", let old?): return old
    case (_, nil):
      if let needed = behaviour.offlineScope, !grant.scopes.contains(needed) { return nil }
    case (_, let old?): world.state[at: name, "refreshTokens", old, "used"] = true
    }
    let token = world.randomText(40)
    world.state[at: name, "refreshTokens", token] = [
      "family": .string(family), "expiresAt": JSONValue(world.now + behaviour.refreshSeconds),
    ]
    return token
  }

  /// Returns the record of an access token, and its flaw if it is not valid.
  func token(_ token: String, in world: World) -> (record: JSONValue?, flaw: String?) {
    let record = world.state[at: name, "tokens", token]
    let family = record?["family"]?.string.flatMap { world.state[at: name, "families", $0] }
    let application = record?["application"]?.string.flatMap { consumer($0, in: world.state) }
    let flaw: String? =
      switch record {
      case nil: "unknown"
      case let record? where record["revoked"]?.bool == true: "revoked"
      case let record? where record["expiresAt"]?.int64 ?? .max <= world.now: "expired"
      case _ where family?["revoked"]?.bool == true: "revoked"
      // A token that the person has made on a page belongs to no application.
      case let record? where record["application"] != nil && application?.isRevoked ?? true:
        "of an application that is gone"
      default: nil
      }
    return (record, flaw)
  }
}
