import EinlassJSON
import FoundationEssentials

/// The home folder of `--home`: the configuration of einlass, and that of git.
enum HomeFolder {
  static func write(_ announcement: JSONValue, to folder: String) throws {
    try ConfigurationFile.write(
      announcement["config"] ?? .null, to: "\(folder)/.config/einlass/config.json")
    try Data(gitConfiguration(announcement).utf8).write(
      to: URL(fileURLWithPath: "\(folder)/.gitconfig"), options: .withoutOverwriting)
  }

  /// Returns a configuration with which git finds the repositories at their real names
  /// (git-config(1), `url.<base>.insteadOf`).
  private static func gitConfiguration(_ announcement: JSONValue) -> String {
    let places = OAuth2Provider.all.filter { $0.demoState[at: "endpoints", "repository"] != nil }
      .compactMap { provider in
        announcement[at: "addresses", provider.name]?.string.map { (provider.origins[0], $0) }
      }
    return "[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n"
      + places.map { origin, address in "[url \"\(address)/\"]\n\tinsteadOf = \(origin)/\n" }
      .joined()
  }
}
