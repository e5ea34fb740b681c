internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl sign-in`.
struct SignIn: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-in", abstract: "Sign in at a provider, in a browser or by a code.",
    discussion: """
      Adds a new account, or signs in to an existing one again. On a terminal it also leads to a \
      missing registration, and offers to set git up. Without a browser on this machine, for \
      example over SSH, open the page on another machine and paste the final address of the \
      browser here, or use a code: --device.

      EXAMPLES:
        einlassctl sign-in
        einlassctl sign-in github --device
        einlassctl sign-in --account github/ada
        einlassctl sign-in https://photos.example.com/mcp
        einlassctl sign-in photos --flow jwtBearer --from work/ada
        einlassctl sign-in fcsdk --server https://pbx.example.com --username ada
        einlassctl sign-in gitlab --server https://git.example.com

      A server of your own may have a certificate that no authority has signed. Then its public key \
      is shown here, and the password is sent only after you have accepted it. Without a terminal, \
      --trusted-key accepts it.
      """)

  static let flowKinds = [
    "authorizationCode", "deviceCode", "oauth1", "clientCredentials", "jwtBearer", "tokenExchange",
    "passwordSession",
  ]

  @Argument(
    help: "A provider, or the https address of a protected resource.",
    completion: .providers)
  var provider: String?

  @Option(
    help: "Sign in to this account again: user name, provider/user name or id.",
    completion: .accounts)
  var account: String?

  @Flag(help: "Sign in by a code, in a browser on any device: --flow deviceCode.")
  var device = false

  @Option(
    name: .customLong("flow"),
    help:
      "The kind of flow: authorizationCode, deviceCode, oauth1, clientCredentials for the application itself, jwtBearer or tokenExchange with an assertion, or passwordSession at a server of your own (default: the provider's first one that works for a person).",
    completion: .list(flowKinds))
  var namedFlow: String?

  @Option(
    name: .customLong("from"),
    help:
      "With --flow jwtBearer or tokenExchange: the account with the id_token to trade (default: the file assertionFile of the configuration).",
    completion: .accounts)
  var assertionFrom: String?

  @OptionGroup var ownServer: OwnServerOptions

  @Option(
    name: .customLong("scope"),
    help:
      "Ask for this scope, or for the scopes of this name (einlassctl providers show); may be repeated."
  )
  var scopes: [String] = []

  @Option(
    help:
      "The expected person: an address or a name. It names the account if the provider does not.")
  var loginHint: String?

  @Flag(
    inversion: .prefixedNo,
    help:
      "Open the page in this desktop's browser: with DISPLAY or WAYLAND_DISPLAY, and not over SSH."
  )
  var browser = true

  @Flag(
    inversion: .prefixedNo,
    help: "On a terminal: lead to a missing registration, and offer to set git up.")
  var guide = true

  @OptionGroup var server: ServerOptions

  func validate() throws {
    try require(namedFlow, "--flow", Self.flowKinds)
    if device, namedFlow != nil { throw ValidationError("--device excludes --flow.") }
    if assertionFrom != nil, flowKind != "jwtBearer", flowKind != "tokenExchange" {
      throw ValidationError("--from needs --flow jwtBearer or --flow tokenExchange.")
    }
  }

  private var flowKind: String? { device ? "deviceCode" : namedFlow }
  var opensBrowser: Bool { browser }
  /// With `--flow deviceCode` no terminal is needed: in `ssh HOST einlassctl …`, for example, the
  /// person reads the code and types it in a browser elsewhere.
  var answersAlone: [String] {
    (flowKind == "deviceCode" && !server.noInput ? ["deviceCode"] : [])
      + (ownServer.passwordFd == nil ? [] : ["enterPassword"])
  }

  /// A provider's id, or the address of a protected resource.
  private struct Place {
    var name: String
    var isResource = false
  }

  func run(with console: Console) throws(Failure) {
    console.password = try ownServer.password(console)
    console.remembersPassword = ownServer.remember
    let guide = self.guide ? SignInGuide(console, server) : nil
    if provider == nil, account == nil { try guide?.welcome() }
    let (place, account) = try place(console)
    let known = try console.list("providers.list", "providers")
    let provider = known.first { sameBytes($0["id"]?.string ?? "", place.name) }
    let isFirst = account == nil && ownServer.server == nil
    if isFirst, provider?["configured"]?.bool == false { try guide?.register(at: place.name) }
    let showsPage = [nil, "authorizationCode", "deviceCode"].contains(flowKind)
    let git = isFirst && scopes.isEmpty && showsPage ? try guide?.git(at: place.name) : nil
    let isForGit = git != nil && git != .unused
    var params = try params(at: place, account, console)
    if isForGit, provider?["scopeNames"]?["git"] != nil { params["scopes"] = ["git"] }
    let result = try signedIn(params, at: place, account, guide, console)
    let id = result["account"]?.string ?? ""
    let issuer = result["provider"]?.string ?? place.name
    let signedIn = try console.accounts(of: place.isResource ? nil : issuer).first {
      sameBytes($0.id, id)
    }
    try report(result, signedIn?.title ?? clean(id), from: issuer, among: known, console)
    guard let guide, isFirst, !place.isResource, let signedIn else { return }
    if git == .wanted { try guide.setUpGit(at: signedIn.provider) }
    try guide.suggest(signedIn, forGit: isForGit)
  }

  /// Returns the place of the sign-in, and the account for another sign-in.
  private func place(_ console: Console) throws(Failure) -> (Place, Account?) {
    let isResource =
      provider.map { name in ["https://", "http://"].contains(where: name.hasPrefix) } ?? false
    guard let name = account else {
      return (Place(name: try console.provider(provider), isResource: isResource), nil)
    }
    let named = try console.account(name)
    guard let provider else { return (Place(name: named.provider), named) }
    if !isResource, !sameBytes(provider, named.provider) {
      throw .usage("\(named.title) is not an account of \(provider). Leave out one of the two.")
    }
    return (Place(name: provider, isResource: isResource), named)
  }

  private func params(
    at place: Place, _ account: Account?, _ console: Console
  ) throws(Failure) -> JSONObject {
    let source = try assertionFrom.map { name throws(Failure) in try console.account(name) }
    let own = try ownServer.parameter(console, at: place.isResource ? nil : place.name)
    return JSONObject(present: [
      place.isResource ? "resource" : "provider": .string(place.name),
      "probe": place.isResource ? true : nil, "account": account.map { .string($0.id) },
      "flowKind": flowKind.map { .string($0) }, "assertionFrom": source.map { .string($0.id) },
      "scopes": scopes.isEmpty ? nil : JSONValue(scopes),
      "page": loginHint.map { ["loginHint": .string($0)] },
      "server": own.members.isEmpty ? nil : .object(own),
    ])
  }

  /// Signs in. With a guide, the person is asked for a missing server and leads to a missing
  /// registration.
  private func signedIn(
    _ params: JSONObject, at place: Place, _ account: Account?, _ guide: SignInGuide?,
    _ console: Console
  ) throws(Failure) -> JSONObject {
    do throws(Failure) { return try console.call("accounts.signIn", params) } catch {
      guard case .refused(let refusal) = error else { throw error }
      if guide != nil, ownServer.server == nil, refusal.data["path"]?.string == "/server/host" {
        var (params, own) = (params, params["server"]?.object ?? JSONObject())
        own["host"] = .string(try console.text("Your server (https://…):", orElse: ""))
        params["server"] = .object(own)
        return try signedIn(params, at: place, account, nil, console)
      }
      if let guide, refusal.reason == "authenticatorUnconfigured",
        let missing = refusal.step("providers.configure")?["params"],
        let id = missing["provider"]?.string
      {
        try guide.register(at: id, for: missing["flowKind"]?.string)
        return try signedIn(params, at: place, account, nil, console)
      }
      throw try explained(refusal, at: place, account, console)
    }
  }

  /// Returns the failure with the step that this command line needs.
  private func explained(
    _ refused: Refusal, at place: Place, _ account: Account?, _ console: Console
  ) throws(Failure) -> Failure {
    var refusal = refused
    refusal.account = account?.title
    if refusal.reason == "unknownProvider" {
      refusal.message = "There is no provider \(place.name)."
    }
    refusal.ownStep = ownServer.step(after: refusal, isSeen: console.person != nil)
    if flowKind != nil, refusal.reason == "flowNotSupported" {
      refusal.ownStep = NextStep(
        assertionFrom == nil ? "Leave out --flow." : "Leave out --flow and --from.")
    }
    if flowKind == nil, refusal.reason == "interactionRequired", !server.noInput, !place.isResource,
      try console.flowKinds(of: place.name).contains("deviceCode")
    {
      if console.person == nil {
        refusal.message =
          "This sign-in needs a terminal. Without one, a code is shown only for --flow deviceCode."
      }
      refusal.ownStep = NextStep(
        "Start it on a terminal (ssh -t), or sign in by a device code, which needs no input here:",
        "sign-in", place.name, "--flow", "deviceCode")
    }
    return .refused(refusal)
  }

  /// Prints the result.
  ///
  /// - Parameter known: The providers before the sign-in.
  private func report(
    _ result: JSONObject, _ title: String, from issuer: String, among known: [JSONValue],
    _ console: Console
  ) throws(Failure) {
    let verb = result["created"]?.bool == false ? "Signed in again" : "Signed in"
    guard let name = result["resource"]?.string else {
      return try console.report(.object(result), ["\(verb): \(title)."] + Self.notes(on: result))
    }
    let isNew = !known.contains { sameBytes($0["id"]?.string ?? "", issuer) }
    try console.report(
      .object(result),
      [
        "\(verb): \(title), only for \(clean(name)).",
        "Its tokens come from \(clean(issuer))\(isNew ? ", a provider that was added for this sign-in" : "").",
      ])
  }

  /// Returns a sentence about a failed identity request.
  private static func notes(on result: JSONObject) -> [String] {
    guard let problem = result["identityProblem"]?["message"]?.string else { return [] }
    return ["Only the id_token names the person. \(clean(problem))"]
  }
}
