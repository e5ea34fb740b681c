internal import EinlassJSON

/// An account as `accounts.list` tells it.
struct Account {
  let json: JSONValue
  let id: String
  let provider: String
  let username: String

  /// `nil` for what is no account.
  init?(_ json: JSONValue) {
    guard let id = json["account"]?.string, let provider = json["provider"]?.string,
      let username = json["username"]?.string
    else { return nil }
    (self.json, self.id, self.provider, self.username) = (json, id, provider, username)
  }

  /// What a person calls it.
  var title: String { clean("\(provider)/\(username)") }

  /// Whether the person may mean it by this text: its id, its user name, or `provider/username`. By bytes, so
  /// that a look-alike is another account.
  func isNamed(_ text: String) -> Bool {
    [id, username, "\(provider)/\(username)"].contains { sameBytes($0, text) }
  }

  /// What can be done with it.
  var state: Table.Cell {
    switch json["health"]?.string {
    case "reloginNeeded": Table.Cell("sign in again", .warning)
    case "banned": Table.Cell("banned", .bad)
    case "locked": Table.Cell("locked", .bad)
    default:
      json["signedIn"]?.bool == false
        ? Table.Cell("signed out", .faint) : Table.Cell(json["health"]?.string ?? "", .good)
    }
  }

  /// These accounts as a table.
  static func table(_ accounts: [Account]) -> Table {
    Table(
      headings: [
        "PROVIDER", "ACCOUNT", "NAME", "STATE", "PREFERRED", Table.Heading("ID", isWhole: true),
      ],
      rows: accounts.map { account in
        [
          Table.Cell(account.provider), Table.Cell(account.username),
          Table.Cell(account.json["displayName"]?.string), account.state,
          Table.Cell(account.json["preferred"]?.bool == true ? "yes" : ""), Table.Cell(account.id),
        ]
      })
  }

  /// A line for each of them, to choose from.
  static func rows(_ accounts: [Account]) -> [String] {
    table(accounts).choices(leavingOut: 1)
  }
}
