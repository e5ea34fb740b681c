import EinlassJSON

/// A server of the person's own in the manner of FCSDK: a login with a user name and a password
/// starts a session, which a header holds.
struct SessionServer: Provider {
  let name = "fcsdk"
  let origins: [String] = []
  let hasOwnAddress = true

  private static let login = "/csdk-sample/SDK/login"
  private static let session = "/csdk-sample/SDK/login/id/"

  func owns(_ request: Request) -> Bool { false }

  func answer(_ request: Request, in world: inout World) -> Answer {
    if request.method == "POST", request.path == Self.login { return login(request, in: &world) }
    if request.method == "DELETE", request.path.hasPrefix(Self.session) {
      return logout(String(request.path.dropFirst(Self.session.count)), in: &world)
    }
    return .text("This path does not exist.\n", status: 404)
  }

  private func login(_ request: Request, in world: inout World) -> Answer {
    guard let object = try? JSONReader.read(request.body),
      let username = object["username"]?.string, let password = object["password"]?.string
    else {
      world.note("login", false, "the body has no username and password")
      return .json(["error": "The body is malformed."], status: 400)
    }
    guard let user = world.state[at: name, "users", username], user["password"]?.string == password
    else {
      world.note("login", false, "wrong name or password")
      return .json(["error": "The name or the password is wrong."], status: 401)
    }
    world.note("login", true, username)
    let id = world.randomText(32)
    world.state[at: name, "sessions", id] = ["user": .string(username)]
    return .json(
      [
        "sessionid": .string(id), "voiceUser": .string(username),
        "voiceDomain": user["domain"] ?? "",
      ], headers: [Parameter(name: "Set-Cookie", value: "JSESSIONID=\(id); Path=/; HttpOnly")])
  }

  private func logout(_ id: String, in world: inout World) -> Answer {
    guard world.state[at: name, "sessions", id] != nil else {
      world.note("session", false, "it is unknown")
      return .json(["error": "There is no such session."], status: 404)
    }
    world.state[at: name, "sessions", id] = nil
    return .json([:])
  }

  /// Users and sessions by their names.
  var shape: StateShape {
    .members([
      ("users", .map(.members([("password", .text), ("domain", .text)]))),
      ("sessions", .map(.members([("user", .text)]))),
    ])
  }

  var demoState: JSONValue {
    [
      "users": ["ada": ["password": "demo-password", "domain": "pbx.example.com"]], "sessions": [:],
    ]
  }

  func account(user: Record, token: Record, of application: Consumer) -> JSONValue { .null }
}
