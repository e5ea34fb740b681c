internal import Einlass

/// The only place that interprets SQLSTATEs and lost connections.
enum PostgresProblem {
  /// Returns the problem for an error of the server.
  static func problem(_ state: String, _ text: String, _ address: PostgresAddress) -> Problem {
    let path = address.text
    return switch state {
    case "42P01", "3F000": .noDatabaseStore
    case "25006": readOnly(path)
    case "42501",
      _ where state.hasPrefix("28"):
      .store(
        .permissions,
        "The database refuses this to the user of the account store \(path): \(plain(text)).",
        advice: .askForRights,
        path: path)
    case "3D000":
      .store(
        .refused,
        "The database of the account store \(path) does not exist.", advice: .createDatabase,
        path: path)
    case "42P06":
      .store(
        .refused,
        "The database has the remains of an earlier move of the account store \(path), in a schema with a name that ends in .moved.",
        advice: .dropSchema,
        path: path)
    case "53100":
      .store(
        .full, "The database server of the account store \(path) has no space left on its disk.",
        path: path)
    case "55P03", "40P01", "40001": locked(path)
    // Our statements are valid, so a wrong name, type or row means a changed schema.
    case _ where state.hasPrefix("42") || state.hasPrefix("22") || state.hasPrefix("23"):
      .damaged(path, "SQLSTATE \(state)")
    default: unreachable(path, "the server answered SQLSTATE \(state), \(plain(text))")
    }
  }

  /// The connection cannot be made, or was lost. Nothing is known about a statement that was sent.
  static func unreachable(_ path: String, _ reason: String) -> Problem {
    .store(
      .unreachable,
      "The database of the account store \(path) can't be reached: \(reason).",
      path: path)
  }

  static func locked(_ path: String) -> Problem {
    .store(
      .locked, "Another machine keeps the account store \(path) locked.", path: path)
  }

  static func readOnly(_ path: String) -> Problem {
    .store(
      .readOnly,
      "The database of the account store \(path) can't be written, because it is a standby or read-only.",
      advice: .namePrimary,
      path: path)
  }

  /// The tables are of an older version, and the role may not change them.
  static func olderTables(_ path: String) -> Problem {
    .store(
      .permissions,
      "The tables of the account store \(path) are of an older einlass, and its user may not change them.",
      advice: .changeTables, command: "einlass --dump-schema",
      path: path)
  }

  /// Returns the first line, without control characters and the mark at its end.
  static func plain(_ text: String) -> String {
    var kept = ""
    for scalar in text.unicodeScalars.prefix(300).prefix(while: { $0 != "\n" }) {
      kept.unicodeScalars.append(0x20..<0x7F ~= scalar.value ? scalar : " ")
    }
    while kept.last == " " || kept.last == "." { kept.removeLast() }
    return kept
  }
}

extension Problem {
  /// The tables are missing, because no machine has stored anything yet.
  static let noDatabaseStore = Problem(.internal, "There is no account store in the database yet.")
}
