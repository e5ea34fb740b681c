import EinlassCrypto
import EinlassJSON

/// Device login, with Facebook's own endpoints, and subcodes in place of the error codes of RFC
/// 8628.
extension Facebook {
  private static let deviceSeconds: Int64 = 420
  private static let intervalSeconds: Int64 = 5

  /// `POST /device/login`
  func deviceLogin(_ request: Request, in world: inout World) throws(FacebookError) -> Answer {
    let consumer = try device(request, in: &world)
    let scopes = (request.form?["scope"] ?? "").split(separator: ",").map(String.init)
    let code = world.randomText(32)
    let userCode = String(world.randomText(8).uppercased())
    world.state[at: name, "devices", code] = [
      "application": .string(consumer.id), "userCode": .string(userCode),
      "scopes": JSONValue(scopes), "decision": "pending",
      "expiresAt": JSONValue(world.now + Self.deviceSeconds),
    ]
    if let decision = decided(in: world) {
      decide(decision, on: code, by: people(in: world).first?.id, in: &world)
    }
    return .json([
      "code": .string(code), "user_code": .string(userCode),
      "verification_uri": .string("http://\(request.header("Host") ?? "")/device"),
      "expires_in": JSONValue(Self.deviceSeconds), "interval": JSONValue(Self.intervalSeconds),
    ])
  }

  /// `POST /device/login_status`
  func deviceStatus(_ request: Request, in world: inout World) throws(FacebookError) -> Answer {
    let consumer = try device(request, in: &world)
    guard let code = request.form?["code"], let record = world.state[at: name, "devices", code],
      sameBytes(record["application"]?.string ?? "", consumer.id), record["used"]?.bool != true
    else {
      world.note("code", false)
      throw .parameter("Invalid code")
    }
    world.note("code", true)
    guard record["expiresAt"]?.int64 ?? 0 > world.now else {
      throw .device(1_349_152, "The code has expired")
    }
    let askedAt = record["askedAt"]?.int64
    world.state[at: name, "devices", code, "askedAt"] = JSONValue(world.now)
    switch record["decision"]?.string {
    case "denied": throw .device(1_349_173, "The user has declined")
    case _ where askedAt.map { world.now - $0 < Self.intervalSeconds } ?? false:
      throw .device(1_349_172, "You are polling too frequently")
    case "allowed": break
    default: throw .device(1_349_174, "The user has not answered yet")
    }
    guard let user = user(record["user"]?.string, in: world) else {
      throw .parameter("Invalid code")
    }
    world.state[at: name, "devices", code, "used"] = true
    readmit(consumer, by: user, in: &world)
    return issue(
      to: consumer, user: user, scopes: record["scopes"] ?? [], audience: "me", in: &world)
  }

  /// The page for entering the code.
  func devicePage(_ request: Request, in world: inout World) -> Answer {
    let form = request.form ?? []
    let typed = (form["user_code"] ?? "").uppercased()
    guard let decision = form["decision"] else {
      return ConsentPage(
        provider: name, application: "A device", scopes: [], people: people(in: world), userCode: ""
      ).answer
    }
    let found = (world.state[at: name, "devices"]?.object?.members ?? []).first { device in
      sameBytes(device.value["userCode"]?.string ?? "", typed)
        && device.value["decision"] == "pending"
    }
    guard let found else { return ConsentPage.problem("No device waits with this code.") }
    decide(decision, on: found.name, by: form["user"], in: &world)
    return ConsentPage.message("Thank you", "You can continue at your device.")
  }

  private func decide(_ word: String, on code: String, by user: String?, in world: inout World) {
    let isAllowed = sameBytes(word, "allow") && user != nil
    world.state[at: name, "devices", code, "decision"] = isAllowed ? "allowed" : "denied"
    world.state[at: name, "devices", code, "user"] = user.map(JSONValue.string)
  }

  /// Returns the application. The form's `access_token` consists of its id, a bar and its client
  /// token.
  private func device(
    _ request: Request, in world: inout World
  ) throws(FacebookError) -> Consumer {
    let parts = (request.form?["access_token"] ?? "").split(separator: "|", maxSplits: 1)
    guard parts.count == 2, let consumer = consumer(String(parts[0]), in: world.state),
      let token = consumer.record["clientToken"]?.string, !consumer.isRevoked,
      constantTimeEqual(Array(parts[1].utf8), Array(token.utf8))
    else {
      world.note("application", false)
      throw .invalidToken
    }
    world.note("application", true, consumer.id)
    return consumer
  }
}
