internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl sign-in`.
struct SignIn: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-in", abstract: "Sign in at a provider, in a browser or by a code.",
    discussion: """
      Adds a new account, or signs in to an existing one again. Without a browser on this machine, \
      for example over SSH, open the page on another machine and paste the final address of the \
      browser here, or use a device code: --flow deviceCode.

      EXAMPLES:
        einlassctl sign-in github
        einlassctl sign-in github --flow deviceCode
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

  @Option(
    name: .customLong("flow"),
    help:
      "The kind of flow: authorizationCode, deviceCode, oauth1, clientCredentials for the application itself, jwtBearer or tokenExchange with an assertion, or passwordSession at a server of your own (default: the provider's first one that works for a person).",
    completion: .list(flowKinds))
  var flowKind: String?

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

  @OptionGroup var server: ServerOptions

  func validate() throws {
    try require(flowKind, "--flow", Self.flowKinds)
    if assertionFrom != nil, flowKind != "jwtBearer", flowKind != "tokenExchange" {
      throw ValidationError("--from needs --flow jwtBearer or --flow tokenExchange.")
    }
  }

  var opensBrowser: Bool { browser }
  /// With `--flow deviceCode` no terminal is needed: in `ssh HOST einlassctl …`, for example, the
  /// person reads the code and types it in a browser elsewhere.
  var answersAlone: [String] {
    (flowKind == "deviceCode" && !server.noInput ? ["deviceCode"] : [])
      + (ownServer.passwordFd == nil ? [] : ["enterPassword"])
  }

  func run(with console: Console) throws(Failure) {
    console.password = try ownServer.password(console)
    console.remembersPassword = ownServer.remember
    var account: Account?
    var provider = self.provider
    let resource = provider.flatMap { name in
      ["https://", "http://"].contains(where: name.hasPrefix) ? name : nil
    }
    if let name = self.account {
      let named = try console.account(name)
      if resource == nil, let provider, !sameBytes(provider, named.provider) {
        throw .usage("\(named.title) is not an account of \(provider). Leave out one of the two.")
      }
      (account, provider) = (named, named.provider)
    } else if resource == nil {
      provider = try console.provider(provider)
    }
    let source = try assertionFrom.map { name throws(Failure) in try console.account(name) }
    let known = resource == nil ? [] : try console.list("providers.list", "providers")
    let own = try ownServer.parameter(console, at: provider)
    let params = JSONObject(present: [
      "provider": resource == nil ? provider.map { .string($0) } : nil,
      "resource": resource.map { .string($0) }, "probe": resource.map { _ in true },
      "account": account.map { .string($0.id) },
      "flowKind": flowKind.map { .string($0) }, "assertionFrom": source.map { .string($0.id) },
      "scopes": scopes.isEmpty ? nil : JSONValue(scopes),
      "page": loginHint.map { ["loginHint": .string($0)] },
      "server": own.members.isEmpty ? nil : .object(own),
    ])
    let result: JSONObject
    do throws(Failure) { result = try console.call("accounts.signIn", params) } catch {
      guard case .refused(var refusal) = error else { throw error }
      refusal.account = account?.title
      refusal.ownStep = ownServer.step(after: refusal, isSeen: console.person != nil)
      if flowKind != nil, refusal.reason == "flowNotSupported" {
        refusal.ownStep = NextStep(
          assertionFrom == nil ? "Leave out --flow." : "Leave out --flow and --from.")
      }
      if flowKind == nil, refusal.reason == "interactionRequired", !server.noInput, let provider,
        try console.flowKinds(of: provider).contains("deviceCode")
      {
        if console.person == nil {
          refusal.message =
            "This sign-in needs a terminal. Without one, a code is shown only for --flow deviceCode."
        }
        refusal.ownStep = NextStep(
          "Start it on a terminal (ssh -t), or sign in by a device code, which needs no input here:",
          "sign-in",
          provider, "--flow", "deviceCode")
      }
      throw .refused(refusal)
    }
    let id = result["account"]?.string ?? ""
    let place = result["provider"]?.string ?? provider
    let signedIn = try console.accounts(of: place).first { sameBytes($0.id, id) }
    let title = signedIn?.title ?? clean(id)
    let verb = result["created"]?.bool == false ? "Signed in again" : "Signed in"
    guard let name = result["resource"]?.string, let place else {
      return try console.report(.object(result), ["\(verb): \(title)."] + Self.notes(on: result))
    }
    let isNew = !known.contains { sameBytes($0["id"]?.string ?? "", place) }
    try console.report(
      .object(result),
      [
        "\(verb): \(title), only for \(clean(name)).",
        "Its tokens come from \(clean(place))\(isNew ? ", a provider that was added for this sign-in" : "").",
      ])
  }

  /// Returns a sentence about a failed identity request.
  private static func notes(on result: JSONObject) -> [String] {
    guard let problem = result["identityProblem"]?["message"]?.string else { return [] }
    return ["Only the id_token names the person. \(clean(problem))"]
  }
}
