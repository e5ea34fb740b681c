internal import EinlassHelpers
internal import EinlassJSON

extension Account {
  /// The account's health, "signed out" or a refusal, as a table cell.
  var state: Table.Cell {
    switch json["health"]?.string {
    case "reloginNeeded": Table.Cell("sign in again", .warning)
    case "banned": Table.Cell("banned", .bad)
    case "locked": Table.Cell("locked", .bad)
    case "refreshRefused": Table.Cell("refresh refused\(since)", .warning)
    default:
      if json["signedIn"]?.bool == false {
        Table.Cell("signed out", .faint)
      } else if let refusal = refusals.first {
        Table.Cell(refusal.address.map { "refused by \($0)" } ?? "token refused", .warning)
      } else if !since.isEmpty {
        Table.Cell("no refresh\(since)", .warning)
      } else {
        Table.Cell(json["health"]?.string ?? "", .good)
      }
    }
  }

  /// The time since which its refreshes fail, in words.
  private var since: String {
    json["refreshFailsSince"]?.int64.map { " since \(minute($0))" } ?? ""
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
