internal import EinlassJSON

/// An account object from `accounts.list` or from a prompt.
struct Account {
  let json: JSONValue
  let id: String
  let provider: String
  let username: String

  /// Reads an account object; `nil` unless it has an id, a provider and a user name.
  init?(_ json: JSONValue) {
    guard let id = json["account"]?.string, let provider = json["provider"]?.string,
      let username = json["username"]?.string
    else { return nil }
    (self.json, self.id, self.provider, self.username) = (json, id, provider, username)
  }

  /// The user name; at a server of one's own `username@host:port`.
  var name: String {
    let subject = json["subject"]?.string ?? ""
    return subject.hasPrefix(username + "@") ? subject : username
  }

  /// The name shown to a person: `provider/name`, cleaned for a terminal.
  var title: String { clean("\(provider)/\(name)") }

  /// Whether the text is the account's id, its name or `provider/name`. Compares bytes, because `==`
  /// treats canonically equivalent names as equal, and these can be two accounts.
  func isNamed(_ text: String) -> Bool {
    [id, username, name, "\(provider)/\(username)", "\(provider)/\(name)"].contains {
      sameBytes($0, text)
    }
  }

  /// The account's health, "signed out" or a refusal, as a table cell.
  var state: Table.Cell {
    switch json["health"]?.string {
    case "reloginNeeded": Table.Cell("sign in again", .warning)
    case "banned": Table.Cell("banned", .bad)
    case "locked": Table.Cell("locked", .bad)
    default:
      if json["signedIn"]?.bool == false {
        Table.Cell("signed out", .faint)
      } else if let refusal = refusals.first {
        Table.Cell(refusal.address.map { "refused by \($0)" } ?? "token refused", .warning)
      } else {
        Table.Cell(json["health"]?.string ?? "", .good)
      }
    }
  }

  /// A refused credential of an account.
  struct Refusal {
    /// The origin of the service that refused it until `endsAt`; `nil` if it is not returned at all.
    var address: String?
    var endsAt: Int64?
    var resource: String?
  }

  /// The refused credentials, those that are not returned at all first.
  var refusals: [Refusal] {
    (json["refusals"]?.array ?? []).map {
      Refusal(
        address: $0["address"]?.string, endsAt: $0["endsAt"]?.int64,
        resource: $0["resource"]?.string)
    }
  }

  /// Returns the accounts as a table.
  static func table(_ accounts: [Account]) -> Table {
    Table(
      headings: [
        "PROVIDER", "ACCOUNT", "NAME", "STATE", "PREFERRED", Table.Heading("ID", isWhole: true),
      ],
      rows: accounts.map { account in
        [
          Table.Cell(account.provider), Table.Cell(account.name),
          Table.Cell(account.json["displayName"]?.string), account.state,
          Table.Cell(account.json["preferred"]?.bool == true ? "yes" : ""), Table.Cell(account.id),
        ]
      })
  }

  /// Returns one line for each account, without the id, for a picker.
  static func rows(_ accounts: [Account]) -> [String] {
    table(accounts).choices(leavingOut: 1)
  }
}
