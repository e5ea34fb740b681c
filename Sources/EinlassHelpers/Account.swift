package import EinlassJSON

/// An account object from `accounts.list` or from a prompt.
package struct Account {
  package let json: JSONValue
  package let id: String
  package let provider: String
  package let username: String

  /// Reads an account object; `nil` unless it has an id, a provider and a user name.
  package init?(_ json: JSONValue) {
    guard let id = json["account"]?.string, let provider = json["provider"]?.string,
      let username = json["username"]?.string
    else { return nil }
    (self.json, self.id, self.provider, self.username) = (json, id, provider, username)
  }

  /// The user name; at a server of one's own `username@host:port`.
  package var name: String {
    let subject = json["subject"]?.string ?? ""
    return subject.hasPrefix(username + "@") ? subject : username
  }

  /// The name shown to a person: `provider/name`, cleaned for a terminal.
  package var title: String { clean("\(provider)/\(name)") }

  /// Whether the text is the account's id, its name or `provider/name`. Compares bytes, because `==`
  /// treats canonically equivalent names as equal, and these can be two accounts.
  package func isNamed(_ text: String) -> Bool {
    [id, username, name, "\(provider)/\(username)", "\(provider)/\(name)"].contains {
      sameBytes($0, text)
    }
  }

  /// A refused credential of an account.
  package struct Refusal {
    /// The origin of the service that refused it until `endsAt`; `nil` if it is not returned at all.
    package var address: String?
    package var endsAt: Int64?
    package var resource: String?
  }

  /// The refused credentials, those that are not returned at all first.
  package var refusals: [Refusal] {
    (json["refusals"]?.array ?? []).map {
      Refusal(
        address: $0["address"]?.string, endsAt: $0["endsAt"]?.int64,
        resource: $0["resource"]?.string)
    }
  }
}
