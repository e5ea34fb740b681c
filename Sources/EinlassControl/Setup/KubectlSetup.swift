internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl setup kubectl`.
struct KubectlSetup: SetupCommand {
  static let configuration = CommandConfiguration(
    commandName: "kubectl", abstract: "Add a user of kubectl with an account's id_token.",
    discussion: """
      kubectl config makes the change. Choose the user for a cluster afterwards:

        kubectl config set-context --current --user=einlass

      EXAMPLES:
        einlassctl setup kubectl google/ada@example.com
        einlassctl setup kubectl --undo
      """)
  static let program = "kubectl"
  static let place = "kubectl config"
  /// OpenID Connect Core 1.0 section 3.1.2.1.
  static let needs: ScopeNeed? = ScopeNeed(name: "openid", others: ["openid"])
  private static let version = "client.authentication.k8s.io/v1"

  @Argument(
    help: "provider/user name, or the user name alone if only one account has it.",
    completion: .accounts)
  var account: String?

  @Option(help: "The name of the user in kubectl's configuration.")
  var user = "einlass"

  @OptionGroup var setup: SetupOptions
  @OptionGroup var server: ServerOptions

  func plan(_ console: Console) throws(Failure) -> (settings: [Setting], providers: [String]) {
    let account = try console.account(account)
    let command = OtherProgram.path(of: "einlassctl") == nil ? Program.path : "einlassctl"
    let words = [command ?? "einlassctl", "credential", "kubernetes", account.title]
    return ([Setting(name: "users.\(user)", values: words)], [account.provider])
  }

  static func values(of name: String) throws(Failure) -> [String] {
    let user = try users().first { "users.\($0["name"]?.string ?? "")" == name }
    guard let user else { return [] }
    guard let exec = user["user"]?["exec"], let command = exec["command"]?.string else {
      throw .unusable(
        "kubectl has a user of this name with another kind of credential.",
        NextStep("Choose another name with --user."))
    }
    return [command] + (exec["args"]?.strings ?? [])
  }

  static func present() throws(Failure) -> [String] {
    try users().compactMap { user in
      guard let command = user["user"]?["exec"]?["command"]?.string,
        let name = command.split(separator: "/").last, name.contains("einlass")
      else { return nil }
      return "users.\(user["name"]?.string ?? "")"
    }
  }

  static func places(of settings: [Setting]) -> [JSONObject] {
    settings.compactMap { setting -> JSONObject? in
      let parts = (setting.values.last ?? "").split(separator: "/", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      return ["provider": .string(String(parts[0])), "account": .string(String(parts[1]))]
    }
  }

  static func deadCommand(in values: [String]) -> String? {
    values.first.flatMap(OtherProgram.unfound)
  }

  private static func users() throws(Failure) -> [JSONValue] {
    let (code, output) = try OtherProgram.run("kubectl", ["config", "view", "--raw", "-o", "json"])
    guard code == 0, let json = try? JSONReader.read(Array(output.utf8)) else {
      throw .unusable("kubectl config view failed with exit code \(code).")
    }
    return json["users"]?.array ?? []
  }

  /// Returns an argument as kubectl reads it: as a line of comma-separated values. RFC 4180.
  private static func csvField(_ text: String) -> String {
    let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
    return "\"\(parts.joined(separator: "\"\""))\""
  }

  static func write(_ setting: Setting) throws(Failure) {
    let user = String(setting.name.dropFirst("users.".count))
    var arguments = ["config", "unset", setting.name]
    if let command = setting.values.first {
      arguments = ["config", "set-credentials", user, "--exec-api-version=\(version)"]
      arguments += ["--exec-command=\(command)", "--exec-interactive-mode=Never"]
      arguments += setting.values.dropFirst().map { "--exec-arg=\(Self.csvField($0))" }
    }
    let (code, _) = try OtherProgram.run("kubectl", arguments)
    guard code == 0 else { throw .unusable("kubectl config failed with exit code \(code).") }
  }
}
