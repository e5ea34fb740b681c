internal import Einlass
internal import EinlassJSON

extension Configuration.DirectoryRules {
  /// Reads `{"directory": "shared", "oneAccountPerEmail": true, "recentSignInSeconds": 300}`, each
  /// member optional.
  init(_ json: JSONValue) throws(ConfigurationError) {
    guard let object = json.object else { throw ConfigurationError("/users", "an object") }
    for member in object.members {
      switch (member.name, member.value) {
      case ("directory", "shared"): isShared = true
      case ("directory", "application"): isShared = false
      case ("directory", _):
        throw ConfigurationError("/users/directory", "the text shared or application")
      case ("oneAccountPerEmail", .bool(let isOne)): hasOneUserPerEmail = isOne
      case ("oneAccountPerEmail", _):
        throw ConfigurationError("/users/oneAccountPerEmail", "true or false")
      case ("recentSignInSeconds", let value):
        guard let seconds = value.int64, (1...86_400).contains(seconds) else {
          throw ConfigurationError("/users/recentSignInSeconds", "a whole number from 1 to 86400")
        }
        recentSeconds = seconds
      default:
        throw ConfigurationError(
          "/users/\(member.name)",
          "one of directory, oneAccountPerEmail, recentSignInSeconds as a name")
      }
    }
  }
}

extension Server {
  /// The users of the front end's application.
  var users: Users {
    let rules = configuration.users
    let application = session.application
    return Users(
      UserDirectory(
        name: rules.isShared ? "" : application, application: application,
        hasOneUserPerEmail: rules.hasOneUserPerEmail, recentSeconds: rules.recentSeconds),
      in: budgetedEinlass, stretching: rules.stretching)
  }

  /// Announces the application's current user to a front end that has just asked for such changes.
  func announceCurrentUser() {
    let current = (try? users.current(.none)) ?? nil
    let revision = (try? store.changes(nil, .none).revision) ?? 0
    let signedIn = current.map { user in
      StoreChanges.OfUser(
        user: user.id, change: .signedIn, scope: session.application)
    }
    announcer.announceUsers(signedIn.map { [$0] } ?? [], revision)
  }
}
