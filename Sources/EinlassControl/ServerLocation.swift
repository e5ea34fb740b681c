internal import EinlassSystem

/// The location of the program `einlass`.
enum ServerLocation {
  /// Returns the named program, else the one of `EINLASS`, else the one beside this program, else the
  /// first on the PATH, else the one in `~/.local/bin`.
  ///
  /// The one beside this program comes before the PATH, because both were installed together.
  static func find(_ named: String?) throws(Failure) -> String {
    if let named = named ?? Environment.value("EINLASS") {
      guard Program.isExecutable(named) else {
        throw .noServer("There is no program \(named). \(remedy)")
      }
      return named
    }
    var folders = (Environment.value("PATH") ?? "").split(separator: ":").map { String($0) }
    guard let own = Program.path else {
      throw .noServer(
        "The system does not tell where einlassctl is, so the einlass beside it can't be found. "
          + remedy)
    }
    folders.insert(SafeDirectory.split(own).parent, at: 0)
    if let home = Environment.value("HOME") { folders.append("\(home)/.local/bin") }
    for folder in folders where Program.isExecutable("\(folder)/einlass") {
      return "\(folder)/einlass"
    }
    throw .noServer(
      "There is no einlass beside einlassctl, on the PATH, or in ~/.local/bin. \(remedy)")
  }

  /// The advice for an einlass that is missing or does not answer.
  static let remedy = "Name einlass with --einlass or the variable EINLASS."
}
