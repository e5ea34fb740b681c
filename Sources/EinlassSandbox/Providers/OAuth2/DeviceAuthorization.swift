import EinlassJSON

/// The device authorization grant (RFC 8628).
extension OAuth2Provider {
  /// Issues the codes for a device (RFC 8628 section 3.2).
  func device(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
    guard sameBytes(request.method, "POST"), let form = request.form, form.duplicate() == nil else {
      throw OAuth2Refusal("invalid_request", "Send a form by POST, each parameter once")
    }
    let application = try application(of: request, form, in: &world)
    guard application.record["device"]?.bool != false else {
      throw OAuth2Refusal(
        "device_flow_disabled", "Device Flow must be explicitly enabled for this App")
    }
    let behaviour = behaviour(in: world)
    if let name = behaviour.deviceScopeName, form[name] == nil {
      throw OAuth2Refusal("invalid_request", "The parameter \(name) is missing")
    }
    let scopes = behaviour.split(form[behaviour.deviceScopeName ?? "scope"] ?? "")
    let known = behaviour.deviceScopes ?? behaviour.scopes
    if let unknown = scopes.first(where: { known?.contains($0) == false }) {
      throw OAuth2Refusal("invalid_scope", "There is no scope \(unknown)")
    }
    let code = world.randomText(40)
    let userCode = Self.userCode(world.randomText(8))
    world.state[at: name, "devices", code] = [
      "userCode": .string(userCode), "application": .string(application.id),
      "scopes": JSONValue(behaviour.grants ?? scopes), "decision": "pending",
      "expiresAt": JSONValue(world.now + behaviour.deviceSeconds),
      "intervalSeconds": JSONValue(behaviour.intervalSeconds),
    ]
    if behaviour.consent != "page", let user = person(hint: nil, in: world) {
      decide(behaviour.consent == "allow", on: code, by: user.id, in: &world)
    }
    let address = origin(of: request) + (path(of: .verification, in: world) ?? "/device")
    let answer = JSONObject(present: [
      "device_code": .string(code), "user_code": .string(userCode),
      "verification_uri": .string(address),
      "verification_uri_complete": behaviour.tellsCompleteAddress
        ? .string("\(address)?user_code=\(userCode)") : nil,
      "expires_in": JSONValue(behaviour.deviceSeconds),
      "interval": JSONValue(behaviour.intervalSeconds),
    ])
    let names = world.state[at: name, "deviceNames"]
    return .json(
      .object(JSONObject(answer.members.map { (names?[$0.name]?.string ?? $0.name, $0.value) })),
      headers: [Parameter(name: "Cache-Control", value: "no-store")])
  }

  /// Answers a poll at a separate endpoint, which takes both codes and has a single error, with
  /// status 400.
  func deviceToken(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
    guard sameBytes(request.method, "POST"), let form = request.form, form.duplicate() == nil else {
      throw OAuth2Refusal("invalid_request", "Send a form by POST, each parameter once")
    }
    let application = try application(of: request, form, in: &world)
    let known = form["device_code"].flatMap { world.state[at: name, "devices", $0, "userCode"] }
    world.note("userCode", known?.string.map { sameBytes($0, form["user_code"] ?? "") } ?? false)
    do throws(OAuth2Refusal) {
      guard known?.string == form["user_code"] else { throw OAuth2Refusal("", "") }
      let grant = try redeemDevice(form, of: application, in: &world)
      return try issue(grant, for: request, refreshed: nil, in: &world)
    } catch {
      throw OAuth2Refusal("invalid_request", "The person has not answered yet, or denied it")
    }
  }

  /// Answers a poll (RFC 8628 section 3.5). Each poll that comes too early adds five seconds to the
  /// interval.
  func redeemDevice(
    _ parameters: [Parameter], of application: Consumer, in world: inout World
  ) throws(OAuth2Refusal) -> Grant {
    let member = behaviour(in: world).deviceGrant == nil ? "device_code" : "code"
    guard let code = parameters[member] else {
      throw OAuth2Refusal("invalid_request", "\(member) is missing")
    }
    guard let record = world.state[at: name, "devices", code], record["used"]?.bool != true,
      sameBytes(record["application"]?.string ?? "", application.id)
    else {
      world.note("deviceCode", false)
      throw OAuth2Refusal("invalid_grant", "The device code is unknown or used")
    }
    world.note("deviceCode", true)
    guard record["expiresAt"]?.int64 ?? 0 > world.now else {
      throw OAuth2Refusal("expired_token", "The device code has expired")
    }
    let interval = record["intervalSeconds"]?.int64 ?? behaviour(in: world).intervalSeconds
    let askedAt = record["askedAt"]?.int64
    world.state[at: name, "devices", code, "askedAt"] = JSONValue(world.now)
    let isPatient = askedAt.map { world.now - $0 >= interval } ?? true
    world.note("interval", isPatient)
    switch record["decision"]?.string {
    case "denied": throw OAuth2Refusal(behaviour(in: world).deviceDenial, "The person denied it")
    case _ where !isPatient:
      world.state[at: name, "devices", code, "intervalSeconds"] = JSONValue(interval + 5)
      throw OAuth2Refusal("slow_down", "Ask every \(interval + 5) seconds")
    case "allowed": break
    default: throw OAuth2Refusal("authorization_pending", "The person has not answered yet")
    }
    guard let user = record["user"]?.string.flatMap({ user($0, in: world) }) else {
      throw OAuth2Refusal("invalid_grant", "The user is gone")
    }
    world.state[at: name, "devices", code, "used"] = true
    let family = world.randomText(16)
    let grant = Grant(
      application: application, user: user, scopes: record["scopes"]?.strings ?? [], family: family)
    start(family, of: grant, in: &world)
    return grant
  }

  /// The page for entering the code and deciding (RFC 8628 section 3.3).
  func verification(_ request: Request, in world: inout World) -> Answer {
    guard let query = request.query, let form = request.form else {
      return ConsentPage.problem("The parameters cannot be decoded.")
    }
    let typed = (form["user_code"] ?? query["user_code"] ?? "").uppercased()
    let found = (world.state[at: name, "devices"]?.object?.members ?? []).first { device in
      sameBytes(
        Self.letters(device.value["userCode"]?.string ?? ""), Self.letters(typed))
        && device.value["decision"] == "pending"
        && device.value["expiresAt"]?.int64 ?? 0 > world.now
    }
    guard let decision = form["decision"] else {
      let record = found?.value
      let application = record?["application"]?.string.flatMap { consumer($0, in: world.state) }
      return ConsentPage(
        provider: name, application: application?.record["name"]?.string ?? "A device",
        scopes: record?["scopes"]?.strings ?? [], people: people(hint: nil, in: world),
        userCode: typed
      ).answer
    }
    world.note("userCode", found != nil)
    guard let found else { return ConsentPage.problem("No device waits with this code.") }
    let user = form["user"] ?? person(hint: nil, in: world)?.id ?? ""
    decide(decision == "allow", on: found.name, by: user, in: &world)
    return decision == "allow"
      ? ConsentPage.message("Allowed", "You can continue at your device.")
      : ConsentPage.message("Denied", "Your device is not signed in.")
  }

  private func decide(_ isAllowed: Bool, on code: String, by user: String, in world: inout World) {
    world.state[at: name, "devices", code, "decision"] = isAllowed ? "allowed" : "denied"
    world.state[at: name, "devices", code, "user"] = .string(user)
  }

  /// Returns eight consonants in two groups, as RFC 8628 section 6.1 proposes.
  private static func userCode(_ random: String) -> String {
    let alphabet = Array("BCDFGHJKLMNPQRSTVWXZ")
    let letters = random.utf8.map { alphabet[Int($0) % alphabet.count] }
    return String(letters.prefix(4)) + "-" + String(letters.suffix(4))
  }

  private static func letters(_ code: String) -> String { code.filter(\.isLetter) }
}
