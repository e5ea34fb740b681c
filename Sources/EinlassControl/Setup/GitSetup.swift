internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl setup git`.
struct GitSetup: SetupCommand {
  static let configuration = CommandConfiguration(
    commandName: "git", abstract: "Set git up, for the hosts of your accounts.",
    discussion: """
      Sets einlass as the only helper of each host with git, and of each https service. Other hosts \
      keep their helpers. Offers a sign-in to an account whose token lacks scopes for git.

      EXAMPLES:
        einlassctl setup git
        einlassctl setup git github
        einlassctl setup git --undo
      """)
  static let program = "git"
  static let place = "git config --global"
  static let needs: ScopeNeed? = ScopeNeed(name: "git")

  @Argument(help: "The providers (default: those with an account).", completion: .providers)
  var providers: [String] = []

  @OptionGroup var setup: SetupOptions
  @OptionGroup var server: ServerOptions

  func plan(_ console: Console) throws(Failure) -> (settings: [Setting], providers: [String]) {
    for provider in providers { try console.requireProvider(provider) }
    let wanted = providers.isEmpty ? try console.accounts().map(\.provider) : providers
    var addresses: [(address: String, provider: String)] = []
    for provider in try console.list("providers.list", "providers") {
      addresses += Self.addresses(of: provider).map { ($0, provider["id"]?.string ?? "") }
    }
    for service in try ConfigurationFile(server).services {
      let address = service["address"]?.string ?? ""
      guard address.contains("://") else { continue }
      addresses.append((address, service["provider"]?.string ?? ""))
    }
    addresses.removeAll { entry in !wanted.contains { sameBytes($0, entry.provider) } }
    guard !addresses.isEmpty else {
      throw .unusable(
        "No account is for a host of git.",
        NextStep("Sign in, or name the provider:", "sign-in", "github"))
    }
    let helper = Self.helper
    // The empty value removes the helpers of other settings for this host. They would store a token
    // that soon expires.
    let settings = addresses.flatMap { entry in
      [Setting(name: "credential.\(entry.address).helper", values: ["", helper])]
        // git names the path to a helper only if asked to.
        + (entry.address.split(separator: "/").count > 2
          ? [Setting(name: "credential.\(entry.address).useHttpPath", values: ["true"])] : [])
    }
    let used = wanted.filter { provider in addresses.contains { sameBytes($0.provider, provider) } }
    return (settings, used.reduce(into: []) { if !$0.contains($1) { $0.append($1) } })
  }

  /// Returns the addresses of a provider's hosts with git.
  static func addresses(of provider: JSONValue) -> [String] {
    // A host that takes a user name is one for git: its API takes the token alone.
    (provider["hosts"]?.array ?? []).filter { $0["username"] != nil }.map { host in
      let name = host["host"]?.string ?? ""
      // The host of a provider that the configuration moves to this machine.
      let isHere = name.hasPrefix("127.0.0.1:") || name.hasPrefix("localhost:")
      return "http\(isHere ? "" : "s")://\(name)"
    }
  }

  /// The value for `git-credential-einlass`, or a command for the shell if git would not find it.
  private static var helper: String {
    guard OtherProgram.path(of: "git-credential-einlass") == nil, let own = Program.path else {
      return "einlass"
    }
    return "!\(shellWord(own)) credential git"
  }

  static func values(of name: String) throws(Failure) -> [String] {
    let (code, output) = try OtherProgram.run(
      "git", ["config", "--global", "--null", "--get-all", name])
    guard code != 1 else { return [] }
    guard code == 0 else { throw .unusable("git config failed with exit code \(code).") }
    return output.split(separator: "\0", omittingEmptySubsequences: false).dropLast().map {
      String($0)
    }
  }

  static func present() throws(Failure) -> [String] {
    let (code, output) = try OtherProgram.run(
      "git", ["config", "--global", "--null", "--get-regexp", #"^credential(\..*)?\.helper$"#])
    guard code == 0 else { return [] }
    return output.split(separator: "\0").compactMap { entry in
      let parts = entry.split(separator: "\n", maxSplits: 1)
      return parts.count == 2 && parts[1].contains("einlass") ? String(parts[0]) : nil
    }
  }

  static func deadCommand(in values: [String]) -> String? {
    values.filter { $0.contains("einlass") }.first { value in
      // As git runs it: gitcredentials(7), "Custom helpers".
      let command =
        value.hasPrefix("!")
        ? String(value.dropFirst()) : value.hasPrefix("/") ? value : "git credential-\(value)"
      let answer = try? OtherProgram.run("sh", ["-c", "\(command) capability"])
      return answer?.code != 0 || answer?.output.contains("capability authtype") != true
    }
  }

  static func places(of settings: [Setting]) -> [JSONObject] {
    settings.filter { $0.name.hasSuffix(".helper") }.compactMap { setting -> JSONObject? in
      let address = String(setting.name.dropFirst("credential.".count).dropLast(".helper".count))
      return address.contains("://") ? ["address": .string(address)] : nil
    }
  }

  static func otherReceiver(of name: String) throws(Failure) -> String? {
    try name.hasSuffix(".helper") ? GitHelpers.other(besides: name) : nil
  }

  static func write(_ setting: Setting) throws(Failure) {
    if try !values(of: setting.name).isEmpty {
      try git("--unset-all", setting.name)
    }
    for value in setting.values { try git("--add", setting.name, value) }
  }

  private static func git(_ arguments: String...) throws(Failure) {
    let (code, _) = try OtherProgram.run("git", ["config", "--global"] + arguments)
    guard code == 0 else { throw .unusable("git config failed with exit code \(code).") }
  }
}
