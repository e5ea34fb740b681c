internal import EinlassJSON

/// The program `git-credential-einlass` (gitcredentials(7)).
package struct GitProtocol: ProgramProtocol {
  package static let program: String? = "git"

  /// The user names that stand for any account.
  private static let placeholders = ["git", "oauth2"]

  private let operation: String
  private var input: GitInput?

  package init(operation: String) { self.operation = operation }

  package mutating func begins() throws(Failure) -> Bool {
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

  package func run(with client: any Client) throws(Failure) {
    guard let input else { return }
    let target: TokenTarget
    do throws(Failure) { target = try self.target(of: input, client) } catch {
      throw error.naming(input.software, at: input["host"] ?? "")
    }
    switch operation {
    case "get": try answer(input, client.token(of: target, TokenNeeds()))
    default: try erase(input, target, client)
    }
  }

  /// Returns the account that the address and its user name select.
  private func target(of input: GitInput, _ client: any Client) throws(Failure) -> TokenTarget {
    let address = JSONValue.string(try input.address())
    guard let username = input["username"], !Self.placeholders.contains(username) else {
      return try client.target(["address": address])
    }
    let resolution = try client.call("services.resolve", ["address": address])
    let expected = resolution["username"]?.string ?? ""
    return sameBytes(username, expected) || expected == TokenTarget.anyUsername
      ? try client.target(["address": address])
      : try client.target(["address": address, "account": .string(username)])
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
    _ input: GitInput, _ target: TokenTarget, _ client: any Client
  ) throws(Failure) {
    guard let refused = input["credential"] ?? input["password"] else {
      return try client.renewLater(target)
    }
    let current = try client.token(of: target, TokenNeeds())
    guard sameBytes(current.text, refused) else { return }
    _ = try client.reject(target)
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
