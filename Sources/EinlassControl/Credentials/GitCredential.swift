internal import ArgumentParser
internal import EinlassJSON

/// `einlassctl credential git`, the program `git-credential-einlass` (gitcredentials(7)).
struct GitCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "git", abstract: "git: git config --global credential.helper einlass",
    discussion: """
      Answers get with a token. erase, which git sends after a refused password, lets the next get \
      fetch a new token; nothing is removed. store does nothing, because einlass keeps the token.

      A user name in the remote's address selects the account: https://ada@github.com/ada/app.git
      """)
  static let program = "git"

  /// The user names that stand for any account.
  private static let placeholders = ["git", "oauth2"]

  @Argument(help: "The operation: get, store, erase or capability.")
  var operation: String

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  private var input: GitInput?

  private enum CodingKeys: CodingKey { case operation, helper, server }

  mutating func begins() throws(Failure) -> Bool {
    switch operation {
    case "get", "erase":
      input = try GitInput(try ProgramInput.read())
      _ = try input?.address()
      return true
    case "capability":
      try TextOutput(1).write("version 0\ncapability authtype\n")
      return false
    // git asks a helper to ignore operations that it does not know.
    default: return false
    }
  }

  func run(with console: Console) throws(Failure) {
    guard let input else { return }
    let target: TokenTarget
    do throws(Failure) { target = try self.target(of: input, console) } catch {
      throw error.naming(input.software, at: input["host"] ?? "")
    }
    switch operation {
    case "get": try answer(input, console.token(of: target, TokenNeeds()))
    default: try erase(input, target, console)
    }
  }

  /// Returns the account that the address and its user name select.
  private func target(of input: GitInput, _ console: Console) throws(Failure) -> TokenTarget {
    let address = JSONValue.string(try input.address())
    guard let username = input["username"], !Self.placeholders.contains(username) else {
      return try console.target(["address": address])
    }
    let resolution = try console.call("services.resolve", ["address": address])
    return sameBytes(username, resolution["username"]?.string ?? "")
      ? try console.target(["address": address])
      : try console.target(["address": address, "account": .string(username)])
  }

  private func answer(_ input: GitInput, _ token: Token) throws(Failure) {
    var lines: [(String, String)]
    if input.capabilities.contains("authtype"), !token.target.isPassword {
      // Other helpers must not store the token, because it is refreshed here.
      lines = [
        ("capability[]", "authtype"), ("authtype", "Bearer"), ("credential", token.text),
        ("ephemeral", "1"),
      ]
    } else {
      let username = input["username"] ?? token.target.username ?? Self.placeholders[1]
      lines = [("username", username), ("password", token.text)]
    }
    if let end = token.expiresAt { lines.append(("password_expiry_utc", "\(end)")) }
    for (key, value) in lines where value.unicodeScalars.contains(where: isControl) {
      throw .unusable("The \(key) holds a control character, so it cannot be sent to git.")
    }
    try TextOutput(1).write(lines.map { "\($0)=\($1)\n" }.joined())
  }

  /// Rejects the token that git names, unless it is a former one.
  private func erase(
    _ input: GitInput, _ target: TokenTarget, _ console: Console
  ) throws(Failure) {
    guard let refused = input["credential"] ?? input["password"] else {
      return try console.renewLater(target)
    }
    let current = try console.token(of: target, TokenNeeds())
    guard sameBytes(current.text, refused) else { return }
    _ = try console.reject(target)
  }
}

extension Failure {
  /// Returns the failure with the command that adds the server, if no provider serves its address
  /// and its challenge names its software.
  fileprivate func naming(_ software: String?, at host: String) -> Failure {
    guard case .refused(var refusal) = self, refusal.data["detail"]?.string == "notServed",
      let software
    else { return self }
    refusal.ownStep = NextStep(
      "It is a \(software) server. Add it:", "providers", "add", "https://\(host)")
    return .refused(refusal)
  }
}
