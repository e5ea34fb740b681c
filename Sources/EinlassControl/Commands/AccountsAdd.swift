internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// `einlassctl accounts add`.
struct AccountsAdd: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add accounts with existing credentials.",
    discussion: """
      FILE, which only you may be able to read (chmod 600), holds one JSON object, a list of them, or one per line:
        {"provider": "twitter", "username": "ada", "credential":
          {"type": "oauth1", "key": "…", "secret": "…",
           "clientId": "…", "clientSecret": "…"}}
        {"provider": "facebook", "username": "ada", "credential":
          {"type": "oauth2", "token": "…", "clientId": "…"}}
      Accounts that can't be added are named, and the others are added; the exit code is then 1.
      Without FILE the command asks for everything and does not show secrets. It never reads a secret from the command line.

      EXAMPLES:
        einlassctl accounts add
        einlassctl accounts add accounts.json
        some-program | einlassctl accounts add -
      """)

  @Argument(help: "JSON with the accounts; - for standard input.", completion: .file())
  var file: String?

  @Flag(help: "Replace the credential of an account that is in the store already.")
  var replace = false

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let accounts = try given(console)
    guard accounts.count > 1 else {
      let (result, line) = try add(accounts[0], console)
      return try console.report(["added": [result]], [line])
    }
    var added: [(result: JSONValue, line: String)] = []
    var notAdded: [JSONValue] = []
    var last: Failure?
    for account in accounts {
      do throws(Failure) {
        // After a failed store or a cancellation the remaining accounts are not tried. A failed
        // store would fail again, after another long wait.
        if let last, last.isForAll { throw last }
        added.append(try add(account, console))
      } catch {
        complain("Not added: \(title(account))")
        notAdded.append(.string(title(account)))
        guard last?.isForAll != true else { continue }
        last = error
        let lines = error.lines(repeating: server.repeated, Style(for: STDERR_FILENO))
        for line in lines { complain(line) }
      }
    }
    try console.report(
      ["added": .array(added.map(\.result)), "notAdded": .array(notAdded)], added.map(\.line))
    if last != nil { throw .badNews }
  }

  private func add(
    _ account: JSONObject, _ console: Console
  ) throws(Failure) -> (result: JSONValue, line: String) {
    var params = account
    if replace { params["replace"] = true }
    let result: JSONObject
    do throws(Failure) { result = try console.call("accounts.add", params) } catch {
      guard case .refused(var refusal) = error, refusal.reason == "accountExists", let file,
        var step = refusal.nextSteps.first
      else { throw error }
      step.command.append(file)
      refusal.ownStep = step
      throw .refused(refusal)
    }
    let verb = result["created"]?.bool == true ? "Added" : "Replaced"
    let id = clean(result["account"]?.plain ?? "")
    return (.object(result), "\(verb) \(title(account)) (\(id)).")
  }

  private func title(_ account: JSONObject) -> String {
    [account["provider"], account["username"]].map { clean($0?.plain ?? "") }
      .joined(separator: "/")
  }

  private func given(_ console: Console) throws(Failure) -> [JSONObject] {
    guard let path = file else { return [try asked(console)] }
    let name = path == "-" ? "Standard input" : path
    let bytes = try bytes(path, console)
    do throws(JSONFile.Fault) { return try Self.accounts(bytes) } catch {
      throw .unusable(
        "\(name) \(error.explanation).",
        NextStep("See the format of the file:", "accounts", "add", "--help"))
    }
  }

  /// Reads one object, a list of them, or one in each line.
  private static func accounts(_ bytes: [UInt8]) throws(JSONFile.Fault) -> [JSONObject] {
    let value: JSONValue
    do throws(JSONFile.Fault) { value = try JSONFile.read(bytes) } catch {
      if let accounts = try accounts(ofLines: bytes) { return accounts }
      throw error
    }
    let values = value.array ?? [value]
    let accounts = values.compactMap(\.object)
    guard !accounts.isEmpty, accounts.count == values.count else {
      throw JSONFile.Fault(explanation: "does not contain a JSON object")
    }
    return accounts
  }

  /// Returns `nil` if the first line has no object of its own, or none has one, so that the text is
  /// not JSON Lines.
  private static func accounts(ofLines bytes: [UInt8]) throws(JSONFile.Fault) -> [JSONObject]? {
    var accounts: [JSONObject] = []
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() where !line.allSatisfy({ " \t\r".utf8.contains($0) }) {
      guard let account = (try? JSONFile.read(Array(line)))?.object else {
        guard !accounts.isEmpty else { return nil }
        throw JSONFile.Fault(explanation: "has no JSON object in line \(index + 1)")
      }
      accounts.append(account)
    }
    return accounts.isEmpty ? nil : accounts
  }

  private func bytes(_ path: String, _ console: Console) throws(Failure) -> [UInt8] {
    guard path == "-" else {
      do throws(FileError) {
        return try PersonalFile.read(path, others: .mayNothing, limitBytes: 1 << 20)
      } catch { throw .unusableFile(path, error) }
    }
    if let bytes = try console.einlass.contents(of: STDIN_FILENO, limitBytes: 1 << 20) {
      return bytes
    }
    throw .unusable("Standard input is longer than 1 MiB or can't be read.")
  }

  private func asked(_ console: Console) throws(Failure) -> JSONObject {
    let missing = "Name a file with the account: FILE is missing."
    guard console.person != nil else { throw .usage(missing) }
    let provider = try console.provider(nil)
    let kinds = try Self.kinds(at: provider, console)
    let username = try console.text("User name:", orElse: missing)
    let kind =
      kinds.count == 1
      ? 0 : try console.choice("What kind of credential?", kinds.map(\.title), orElse: missing)
    let isOAuth1 = kinds[kind].isOAuth1
    let asked: [(question: String, member: String)] =
      isOAuth1
      ? [("Key (not shown):", "key"), ("Secret (not shown):", "secret")]
      : [("Token (not shown):", "token")]
    var credential: JSONObject = ["type": isOAuth1 ? "oauth1" : "oauth2"]
    for (question, member) in asked {
      credential[member] = .string(try console.text(question, isHidden: true, orElse: missing))
    }
    credential["clientId"] = .string(
      try console.text("Client id of the credential:", orElse: missing))
    if isOAuth1 {
      credential["clientSecret"] = .string(
        try console.text("Secret of that client (not shown):", isHidden: true, orElse: missing))
    }
    return [
      "provider": .string(provider), "username": .string(username),
      "credential": .object(credential),
    ]
  }
}

extension AccountsAdd {
  /// Returns the kinds of credential that the provider's flows start from.
  private static func kinds(
    at provider: String, _ console: Console
  ) throws(Failure) -> [(isOAuth1: Bool, title: String)] {
    let flows = try console.flowKinds(of: provider)
    var kinds: [(isOAuth1: Bool, title: String)] = []
    if flows.contains("reverseAuth") { kinds.append((true, "OAuth 1.0a: key and secret")) }
    if flows.contains(where: { !["reverseAuth", "oauth1"].contains($0) }) {
      kinds.append((false, "OAuth 2: token"))
    }
    guard kinds.isEmpty else { return kinds }
    throw .unusable(
      "Accounts of \(clean(provider)) can't be added with a credential, but only by signing in.",
      NextStep("Sign in there:", "sign-in", clean(provider)))
  }
}

extension Failure {
  /// Whether every further account would fail in the same way.
  fileprivate var isForAll: Bool {
    guard case .refused(let refusal) = self else { return true }
    return refusal.code == 1009
  }
}
