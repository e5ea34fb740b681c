import EinlassCrypto
import EinlassJSON

/// Login in a browser: a dialog, and a code redeemed by `GET`.
extension Facebook {
  /// The lifetime of a code.
  private static let codeSeconds: Int64 = 600

  /// `GET /dialog/oauth`: shows the page, and takes the person's decision.
  func dialog(_ request: Request, in world: inout World) -> Answer {
    guard let query = request.query, let form = request.form, query.duplicate() == nil,
      let id = query["client_id"], let consumer = consumer(id, in: world.state),
      !consumer.isRevoked,
      let redirect = query["redirect_uri"]
    else {
      world.note("application", false)
      return ConsentPage.problem("Invalid App ID")
    }
    world.note("application", true, id)
    let rule = RedirectRule(ports: "any")
    let registered = consumer.record["redirects"]?.strings ?? []
    let isRegistered = registered.contains { rule.matches(redirect, registered: $0) }
    world.note("redirect", isRegistered, redirect)
    guard isRegistered else { return ConsentPage.problem("URL Blocked") }
    let scopes = (query["scope"] ?? "").split(separator: ",").map(String.init)
    let people = people(in: world)
    guard let decision = form["decision"] ?? decided(in: world) else {
      return ConsentPage(
        provider: name, application: consumer.record["name"]?.string ?? id, scopes: scopes,
        people: people
      ).answer
    }
    var answer: [Parameter]
    if sameBytes(decision, "allow"), let user = form["user"] ?? people.first?.id {
      let code = "AQ" + world.randomText(60)
      world.state[at: name, "codes", code] = [
        "application": .string(id), "user": .string(user), "redirect": .string(redirect),
        "scopes": JSONValue(scopes), "expiresAt": JSONValue(world.now + Self.codeSeconds),
      ]
      answer = [Parameter(name: "code", value: code)]
    } else {
      answer = [
        Parameter(name: "error", value: "access_denied"),
        Parameter(name: "error_code", value: "200"),
        Parameter(name: "error_description", value: "Permissions error"),
        Parameter(name: "error_reason", value: "user_denied"),
      ]
    }
    if let state = query["state"] { answer.append(Parameter(name: "state", value: state)) }
    return .redirect(to: redirect + (redirect.contains("?") ? "&" : "?") + answer.formEncoded)
  }

  /// Redeems a code: `GET /oauth/access_token` with the parameters in the query, or `POST` with a
  /// form.
  func redeemCode(_ query: [Parameter], in world: inout World) throws(FacebookError) -> Answer {
    let consumer = try provenApplication(query, in: &world)
    let record = query["code"].flatMap { world.state[at: name, "codes", $0] }
    let isRight =
      record.map { record in
        sameBytes(record["application"]?.string ?? "", consumer.id)
          && sameBytes(record["redirect"]?.string ?? "", query["redirect_uri"] ?? "")
          && record["used"]?.bool != true && record["expiresAt"]?.int64 ?? 0 > world.now
      } ?? false
    world.note("code", isRight)
    guard let record, isRight, let user = user(record["user"]?.string, in: world) else {
      throw .parameter("This authorization code has been used or has expired.")
    }
    world.state[at: name, "codes", query["code"] ?? "", "used"] = true
    readmit(consumer, by: user, in: &world)
    return issue(
      to: consumer, user: user, scopes: record["scopes"] ?? [], audience: "me",
      seconds: Self.shortTokenSeconds, in: &world)
  }

  /// Returns the application after a check of its secret.
  func provenApplication(
    _ parameters: [Parameter], in world: inout World
  ) throws(FacebookError) -> Consumer {
    guard let id = parameters["client_id"], let consumer = consumer(id, in: world.state),
      !consumer.isRevoked,
      constantTimeEqual(
        Array((parameters["client_secret"] ?? "").utf8), Array(consumer.secret.utf8))
    else {
      world.note("application", false, parameters["client_id"] ?? "it is missing")
      throw FacebookError(code: 1, message: "Error validating client secret.")
    }
    return consumer
  }

  /// The users that can be chosen on the page.
  func people(in world: World) -> [Record] {
    (world.state[at: name, "users"]?.object?.members ?? [])
      .map { Record(id: $0.name, value: $0.value) }
  }

  /// Returns the decision made without a page, or `nil` if the page is shown.
  func decided(in world: World) -> String? {
    world.state[at: name, "consent"]?.string.flatMap { $0 == "page" ? nil : $0 }
  }

  func user(_ id: String?, in world: World) -> Record? {
    id.flatMap { id in
      world.state[at: name, "users", id].map { Record(id: id, value: $0) }
    }
  }
}
