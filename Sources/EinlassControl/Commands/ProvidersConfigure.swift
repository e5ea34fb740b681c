internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl providers configure`.
struct ProvidersConfigure: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "configure",
    abstract: "Store your own registration at a provider: client id and secret.",
    discussion: """
      Shows where to register an application and the values to enter there, then asks for the \
      client id and the secret, and stores them sealed. The registration is used for every \
      application without one of its own. The secret is never shown, and never read from the \
      command line.

      EXAMPLES:
        einlassctl providers configure github
        einlassctl providers configure google --client-id ID --secret-fd 0 <FILE
        einlassctl providers configure example --client-id ID --private-key key.pem
        einlassctl providers configure example --client-id ID --private-key key.pem \
          --certificate certificate.pem
        einlassctl providers configure google --flow deviceCode
        einlassctl providers configure github --remove
      """)

  private static let flowKinds = ["reverseAuth", "systemToken"] + SignIn.flowKinds

  @Argument(help: "The provider.", completion: .providers)
  var provider: String?

  @Option(
    name: .customLong("flow"),
    help: ArgumentHelp(
      "The only kind of flow that uses the registration, where the provider wants another one for it (default: every flow without one of its own).",
      valueName: "flow"),
    completion: .list(Self.flowKinds))
  var flowKind: String?

  @Option(help: "The client id; the secret is asked for, or read from --secret-fd.")
  var clientId: String?

  @Option(
    help: ArgumentHelp(
      "Read the client's secret, one line, from this open descriptor; 0 is standard input.",
      valueName: "number"))
  var secretFd: Int32?

  @Option(
    help: ArgumentHelp(
      "PEM file of the client's private key; only you may be able to read it (chmod 600).",
      valueName: "file"), completion: .file())
  var privateKey: String?

  @Option(
    help: ArgumentHelp(
      "PEM file of the client's certificate for that key, for mutual TLS (RFC 8705).",
      valueName: "file"), completion: .file())
  var certificate: String?

  @Option(help: ArgumentHelp("The provider's name for that key (kid).", valueName: "id"))
  var keyId: String?

  @Option(
    help: ArgumentHelp(
      "The provider's name for your team, where that key signs the client secret.",
      valueName: "id"))
  var teamId: String?

  @Option(
    help: ArgumentHelp(
      "The client authentication method, if the provider accepts several: client_secret_basic, private_key_jwt and others of RFC 7591.",
      valueName: "method"))
  var authentication: String?

  @Option(help: "The registered redirect address, if it is one of your own.")
  var redirect: String?

  @Flag(help: "Remove the registration.")
  var remove = false

  @OptionGroup var server: ServerOptions

  func validate() throws {
    try require(flowKind, "--flow", Self.flowKinds)
    try requireReadable(secretFd, "--secret-fd")
  }

  func run(with console: Console) throws(Failure) {
    let provider = try console.provider(provider)
    let place = clean(provider) + (flowKind.map { " for \($0)" } ?? "")
    guard !remove else {
      var params: JSONObject = ["provider": .string(provider), "remove": true]
      params["flowKind"] = flowKind.map { .string($0) }
      let result = try console.call("providers.configure", params)
      return try console.report(.object(result), ["Removed the registration at \(place)."])
    }
    let result = try store(at: provider, console, showingSteps: clientId == nil)
    let isReady = result["configured"]?.bool == true
    try console.report(
      .object(result),
      [
        "Stored your registration at \(place).",
        result["redirect"].map { "Its redirect address: \(clean($0.plain))" },
        isReady
          ? NextStep("Sign in there:", "sign-in", provider).line(repeating: server.repeated) : nil,
      ].compactMap(\.self))
  }

  /// Asks for the missing parts of the registration, and stores it.
  func store(
    at provider: String, _ console: Console, showingSteps: Bool
  ) throws(Failure) -> JSONObject {
    let known = try console.list("providers.list", "providers").first {
      sameBytes($0["id"]?.string ?? "", provider)
    }
    if showingSteps, let person = console.person {
      RegistrationSteps.show(known?["setup"], redirect: redirect, to: person)
    }
    var params: JSONObject = ["provider": .string(provider)]
    params["flowKind"] = flowKind.map { .string($0) }
    try fill(&params, known?["setup"], console)
    var result = try console.call("providers.configure", params)
    result["redirect"] = params["redirect"]
    return result
  }

  private func fill(
    _ params: inout JSONObject, _ setup: JSONValue?, _ console: Console
  ) throws(Failure) {
    let needs = setup?["needs"]?.array ?? []
    let missing = "Name the client id: --client-id is missing."
    params["clientId"] = .string(
      try console.text("Client id:", given: clientId, orElse: missing))
    let key =
      needs.contains("privateKey") || privateKey != nil || certificate != nil
      ? try pem(
        console.path(
          "File of the private key (PEM):", given: privateKey,
          orElse: "Name the file of the private key: --private-key is missing.")) : nil
    if needs.contains("certificate") || certificate != nil {
      let path = try console.path(
        "File of the certificate (PEM):", given: certificate,
        orElse: "Name the file of the certificate: --certificate is missing.")
      params["certificate"] = .string(try pem(path, others: .mayRead))
    }
    if let secretFd {
      params["clientSecret"] = .string(try console.line(of: secretFd, "secret"))
    } else if key == nil || needs.contains("clientSecret") && teamId == nil,
      let person = console.person
    {
      let isNeeded = needs.contains("clientSecret")
      let hint = isNeeded ? "not shown" : "not shown; Enter for none"
      var secret = try person.line("Client secret (\(hint)):", isHidden: true)
      while isNeeded, secret?.isEmpty == true {
        secret = try person.line("Client secret (\(hint)):", isHidden: true)
      }
      if let secret, !secret.isEmpty { params["clientSecret"] = .string(secret) }
    }
    params["privateKey"] = key.map { .string($0) }
    params["keyId"] = keyId.map { .string($0) }
    params["teamId"] = teamId.map { .string($0) }
    params["authentication"] = authentication.map { .string($0) }
    let asksRedirect = needs.contains("redirect") && redirect == nil
    if let redirect = asksRedirect
      ? try console.text(
        "Redirect address that you registered:",
        orElse: "Name the redirect address: --redirect is missing.") : redirect
    {
      params["redirect"] = .string(redirect)
    }
  }

  private func pem(
    _ path: String, others: PersonalFile.Others = .mayNothing
  ) throws(Failure) -> String {
    do throws(FileError) {
      let bytes = try PersonalFile.read(path, others: others, limitBytes: 1 << 14)
      if let text = String(validating: bytes, as: UTF8.self) { return text }
    } catch { throw .unusableFile(path, error) }
    throw .unusable("\(path) does not contain PEM text.")
  }
}
