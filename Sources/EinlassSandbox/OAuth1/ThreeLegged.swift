import EinlassCrypto
import EinlassJSON

/// The parts of the three-legged flow that providers have in common (RFC 5849 section 2). Temporary
/// tokens are in the provider's state under `requests`, the person's decision under `consent` and
/// `user`.
struct ThreeLegged {
  /// The provider with the state.
  let provider: String
  /// The number of digits in each group of a PIN.
  var pinGroups: [Int]
  /// Returns the callback's parameters after a denial.
  var denial: @Sendable (_ token: String) -> [Parameter]

  /// The lifetime of a temporary token.
  private static let requestSeconds: Int64 = 900

  /// The shape of its members in a provider's state.
  static let shapes: [(String, StateShape)] = [
    (
      "requests",
      .map(
        .members([
          ("secret", .text), ("application", .text), ("expiresAt", .integer), ("used", .flag),
          ("callback", .text), ("verifier", .text), ("user", .text),
        ]))
    ),
    ("consent", .word(["page", "allow", "deny"])), ("user", .text),
  ]

  /// Returns whether the callback is `oob` or allowed for the application. Without registered
  /// redirects, any callback is allowed.
  func permits(_ callback: String, to application: Consumer) -> Bool {
    let registered = application.record["redirects"]?.strings ?? []
    let rule = RedirectRule(ports: "any")
    return sameBytes(callback, "oob") || registered.isEmpty
      || registered.contains { rule.matches(callback, registered: $0) }
  }

  /// The first step: issues a temporary token (RFC 5849 section 2.1).
  func open(
    _ callback: String, for signer: OAuth1Check.Signer, in world: inout World
  ) -> [Parameter] {
    let token = world.randomText(27)
    let secret = world.randomText(32)
    world.state[at: provider, "requests", token] = [
      "application": .string(signer.application), "secret": .string(secret),
      "callback": .string(callback), "expiresAt": JSONValue(world.now + Self.requestSeconds),
    ]
    return [
      Parameter(name: "oauth_token", value: token),
      Parameter(name: "oauth_token_secret", value: secret),
      Parameter(name: "oauth_callback_confirmed", value: "true"),
    ]
  }

  /// The second step: shows the page, and takes the person's decision (RFC 5849 section 2.2).
  func authorize(_ request: Request, in world: inout World) -> Answer {
    guard let query = request.query, let form = request.form,
      let token = query["oauth_token"] ?? form["oauth_token"],
      let record = world.state[at: provider, "requests", token],
      let callback = record["callback"]?.string, record["verifier"] == nil,
      record["used"]?.bool != true, record["expiresAt"]?.int64 ?? 0 > world.now
    else {
      world.note("requestToken", false)
      return ConsentPage.problem("The request token is unknown, used or too old.")
    }
    world.note("requestToken", true)
    let people = people(in: world)
    let consent = world.state[at: provider, "consent"]?.string ?? "page"
    guard let decision = form["decision"] ?? (consent == "page" ? nil : consent) else {
      let application = world.state[
        at: provider, "applications", record["application"]?.string ?? ""]
      return ConsentPage(
        provider: provider, application: application?["name"]?.string ?? "An application",
        scopes: [], people: people
      ).answer
    }
    guard sameBytes(decision, "allow"), let user = form["user"] ?? people.first?.id else {
      world.state[at: provider, "requests", token, "used"] = true
      return back(to: callback, denial(token))
        ?? ConsentPage.message("Denied", "The application gets nothing.")
    }
    let pin = pinGroups.map { digits($0) }.joined(separator: "-")
    let verifier = sameBytes(callback, "oob") ? pin : world.randomText(32)
    world.state[at: provider, "requests", token, "verifier"] = .string(verifier)
    world.state[at: provider, "requests", token, "user"] = .string(user)
    let answer = [
      Parameter(name: "oauth_token", value: token),
      Parameter(name: "oauth_verifier", value: verifier),
    ]
    return back(to: callback, answer)
      ?? ConsentPage.message("Enter this into your application", verifier)
  }

  /// The third step: returns the user of the token to issue, once, or `nil` for a wrong verifier
  /// (RFC 5849 section 2.3).
  func redeem(_ signer: OAuth1Check.Signer, in world: inout World) -> String? {
    let token = signer.token ?? ""
    let record = world.state[at: provider, "requests", token]
    let verifier = record?["verifier"]?.string
    let isRight =
      verifier.map {
        constantTimeEqual(Array($0.utf8), Array((signer.parameters["oauth_verifier"] ?? "").utf8))
      } ?? false
    world.note("verifier", isRight)
    guard isRight else { return nil }
    world.state[at: provider, "requests", token, "used"] = true
    return record?["user"]?.string
  }

  /// All users, beginning with the one named in the state.
  private func people(in world: World) -> [Record] {
    let all = (world.state[at: provider, "users"]?.object?.members ?? [])
      .map { Record(id: $0.name, value: $0.value) }
    let wanted = world.state[at: provider, "user"]?.string
    return all.filter { $0.id == wanted } + all.filter { $0.id != wanted }
  }

  private func back(to callback: String, _ parameters: [Parameter]) -> Answer? {
    guard !sameBytes(callback, "oob") else { return nil }
    return .redirect(to: callback + (callback.contains("?") ? "&" : "?") + parameters.formEncoded)
  }

  private func digits(_ count: Int) -> String {
    SecureRandom.bytes(count).map { String($0 % 10) }.joined()
  }
}
