internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl verify`.
struct VerifyCommand: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check a token at its provider: its validity, its application and its person.",
    discussion: """
      With --token-fd, WHAT is a provider, and the token is the first line of that descriptor, never \
      an argument. A line that begins with { is a credential, as the method verify takes it: \
      {"type": "oauth1", "key": "…", "secret": "…"}.

      Exit code 0: the token is valid, and each condition holds; 2: it is not valid; 1: it could \
      not be checked.

      EXAMPLES:
        einlassctl verify github/ada
        einlassctl verify github --token-fd 0 --id 3001 --scope repo <FILE
        einlassctl verify google --id-token --token-fd 0 <FILE
      """)

  @Argument(
    help:
      "User name, provider/user name or id of an account, or a provider with one; with --token-fd a provider.",
    completion: .accounts)
  var what: String?

  @Option(
    help: ArgumentHelp(
      "Read the token, one line, from this open descriptor; 0 is standard input.",
      valueName: "number"))
  var tokenFd: Int32?

  @Flag(help: "The token of --token-fd is an id_token (OpenID Connect).")
  var idToken = false

  @Option(help: ArgumentHelp("Condition: the provider's id of the person.", valueName: "id"))
  var id: String?

  @Option(
    name: .customLong("scope"),
    help: "Condition: a scope of the token; may be repeated.")
  var scopes: [String] = []

  @Option(help: "Condition: the client id of the token (default: the application's own).")
  var clientId: String?

  @Option(help: "Condition: the nonce of an id_token.")
  var nonce: String?

  @Option(
    name: .customLong("for"),
    help: "The application of the token (default: einlassctl).", completion: .applications)
  var application: String?

  @OptionGroup var server: ServerOptions

  var actsAs: String? { application }

  func validate() throws {
    try requireReadable(tokenFd, "--token-fd")
    if idToken, tokenFd == nil { throw ValidationError("--id-token needs --token-fd.") }
  }

  func run(with console: Console) throws(Failure) {
    var params: JSONObject = ["expect": .object(conditions)]
    let subject: (name: String, value: String)
    if let tokenFd {
      let provider = try console.provider(what)
      params["provider"] = .string(provider)
      params["credential"] = try credential(try console.line(of: tokenFd, "token"))
      subject = ("provider", provider)
    } else {
      let ofProvider = try console.accounts().filter { sameBytes($0.provider, what ?? "") }
      let account = ofProvider.count == 1 ? ofProvider[0] : try console.account(what)
      params["provider"] = .string(account.provider)
      params["account"] = .string(account.id)
      subject = ("account", account.title)
    }
    let result = try console.call("verify", params)
    let isValid = result["valid"]?.bool == true
    try console.report(
      .object(result),
      [(subject.name, subject.value), ("token", isValid ? "valid" : "not valid")]
        + Self.members(of: .object(result)))
    if !isValid { throw .notValid }
  }

  private var conditions: JSONObject {
    var conditions = JSONObject(present: [
      "id": id.map { .string($0) }, "clientId": clientId.map { .string($0) },
      "nonce": nonce.map { .string($0) },
    ])
    if !scopes.isEmpty { conditions["scopes"] = .array(scopes.map { .string($0) }) }
    return conditions
  }

  private func credential(_ line: String) throws(Failure) -> JSONValue {
    if idToken { return ["type": "idToken", "idToken": .string(line)] }
    guard line.hasPrefix("{") else { return ["type": "oauth2", "token": .string(line)] }
    do throws(JSONFile.Fault) { return try JSONFile.read(Array(line.utf8)) } catch {
      throw .unusable("The credential \(error.explanation).")
    }
  }

  private static func members(of result: JSONValue) -> [(name: String, value: String?)] {
    let checks = result["checks"]?.array ?? []
    let passed = checks.filter { $0["ok"]?.bool == true }.compactMap { $0["check"]?.string }
    let failed = checks.filter { $0["ok"]?.bool != true }.map { check in
      [check["check"], check["detail"]].compactMap { $0?.string }.joined(separator: ": ")
    }
    let person = result["identity"].map { identity in
      let name = identity["username"]?.string ?? identity["name"]?.string
      let id = identity["id"]?.string ?? ""
      return name.map { "\($0) (\(id))" } ?? id
    }
    return [
      ("failed", failed.isEmpty ? nil : failed.joined(separator: "; ")),
      ("person", person),
      ("client id", result["clientId"]?.string),
      ("scopes", result["scopes"]?.strings?.joined(separator: ", ")),
      ("ends", result["expiresAt"]?.int64.map(timestamp)),
      ("passed", passed.isEmpty ? nil : passed.joined(separator: ", ")),
    ]
  }
}
