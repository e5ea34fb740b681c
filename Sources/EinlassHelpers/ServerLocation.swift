internal import EinlassSystem

/// The location of the program `einlass`.
package enum ServerLocation {
  /// Returns the named program, else the one of `EINLASS`, else the one beside this program, else the
  /// first on the PATH, else the one in `~/.local/bin`.
  ///
  /// The one beside this program comes before the PATH, because both were installed together.
  package static func find(_ named: String?) throws(Failure) -> String {
    if let named = named ?? Environment.value("EINLASS") {
      guard Program.isExecutable(named) else {
        throw .noServer("There is no program \(named). \(remedy)")
      }
      return named
    }
    guard Program.path != nil else {
      throw .noServer(
        "The system does not tell where einlassctl is, so the einlass beside it can't be found. "
          + remedy)
    }
    guard let path = installed("einlass") else {
      throw .noServer(
        "There is no einlass beside einlassctl, on the PATH, or in ~/.local/bin. \(remedy)")
    }
    return path
  }

  /// The folders of the PATH.
  package static var searched: [String] {
    (Environment.value("PATH") ?? "").split(separator: ":").map { String($0) }
  }

  /// Returns the path of a program beside this one, else on the PATH, else in `~/.local/bin`.
  package static func installed(_ name: String) -> String? {
    var folders = searched
    if let own = Program.path { folders.insert(SafeDirectory.split(own).parent, at: 0) }
    if let home = Environment.value("HOME") { folders.append("\(home)/.local/bin") }
    return folders.map { "\($0)/\(name)" }.first(where: Program.isExecutable)
  }

  /// Returns the einlass that a command without options speaks to, if it was installed together with
  /// this program: it lies in the same folder and is no script.
  package static var beside: String? {
    guard let own = Program.path, let found = (try? find(nil)).flatMap(Program.resolved) else {
      return nil
    }
    guard found == SafeDirectory.split(own).parent + "/einlass" else { return nil }
    return Program.isBinary(found) ? found : nil
  }

  /// The advice for an einlass that is missing or does not answer.
  package static let remedy = "Name einlass with --einlass or the variable EINLASS."
}
