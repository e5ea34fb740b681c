internal import EinlassHelpers

/// The helpers that git asks for a host, as its settings name them (gitcredentials(7)).
enum GitHelpers {
  /// Returns a helper besides einlass that git tells the tokens for a setting's host. Its setting
  /// stands after the empty value of einlass, so that value does not remove it.
  static func other(besides setting: String) throws(Failure) -> String? {
    // Outside of any repository.
    let (code, output) = try OtherProgram.run("git", ["-C", "/", "config", "--null", "--list"])
    guard code == 0, let host = host(of: setting) else { return nil }
    var helpers: [Substring] = []
    for entry in output.split(separator: "\0") {
      let parts = entry.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].hasPrefix("credential."), parts[0].hasSuffix(".helper"),
        parts[0] == "credential.helper" || self.host(of: String(parts[0])) == host
      else { continue }
      helpers = parts[1].isEmpty ? [] : helpers + [parts[1]]
    }
    return helpers.first { !$0.contains("einlass") }.map(String.init)
  }

  /// Returns the host and port in `credential.https://git.example.com/team.helper`.
  private static func host(of setting: String) -> Substring? {
    let parts = setting.dropFirst("credential.".count).split(separator: "/")
    guard parts.count > 1, parts[0].hasSuffix(":") else { return nil }
    let authority = parts[1].split(separator: "@").last
    return parts.count == 2 ? authority?.dropLast(".helper".count) : authority
  }
}
