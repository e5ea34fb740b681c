internal import EinlassSystem

/// The location of the program `einlass`.
enum ServerLocation {
  /// Returns the named program, else the one of `EINLASS_BINARY`, else the one beside this program,
  /// else the first on the PATH.
  static func find(_ named: String?) throws(Failure) -> String {
    if let named = named ?? Environment.value("EINLASS_BINARY") {
      guard Program.isExecutable(named) else {
        throw .noServer("There is no program \(named). \(remedy)")
      }
      return named
    }
    var folders = (Environment.value("PATH") ?? "").split(separator: ":").map { String($0) }
    if let own = Program.path { folders.insert(SafeDirectory.split(own).parent, at: 0) }
    for folder in folders where Program.isExecutable("\(folder)/einlass") {
      return "\(folder)/einlass"
    }
    throw .noServer("There is no einlass beside einlassctl and none on the PATH. \(remedy)")
  }

  /// The advice for an einlass that is missing or does not answer.
  static let remedy = "Name einlass with --einlass or EINLASS_BINARY."
}
