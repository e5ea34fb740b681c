internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl users`.
struct UsersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "users", abstract: "The users of applications that keep people apart.",
    discussion: """
      An application that calls users.* keeps a directory of users. A user is named by the e-mail \
      address, or by the id.
      """,
    subcommands: [
      UsersList.self, UsersShow.self, UsersLink.self, UsersUnlink.self, UsersDelete.self,
    ], defaultSubcommand: UsersList.self)
}

/// `einlassctl users list`.
struct UsersList: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the users of all applications.",
    discussion: "EXAMPLE: einlassctl users list")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let users = try console.users()
    let headings: [Table.Heading] = [
      "USER", "APPLICATION", "NAME", "SIGNS IN WITH", .init("ID", isWhole: true),
    ]
    let rows = users.map { user in
      [
        Table.Cell(user["email"]?.string ?? "–"), Table.Cell(user["application"]?.string),
        Table.Cell(user["displayName"]?.string),
        Table.Cell(user.providers.joined(separator: ", ")), Table.Cell(user["user"]?.string),
      ]
    }
    try console.report(
      ["users": .array(users)], Table(headings: headings, rows: rows),
      empty: "No users. An application makes them when somebody signs in to it.")
  }
}

/// `einlassctl users show`.
struct UsersShow: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show a user.",
    discussion: "EXAMPLE: einlassctl users show ada@example.org")

  @Argument(help: "E-mail address or id.") var user: String
  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let user = try console.user(user)
    let identities = (user["identities"]?.array ?? []).map { identity in
      let email = identity["email"]?.string.map { " (\($0))" } ?? ""
      return clean(
        "  \(identity["provider"]?.plain ?? "") \(identity["subject"]?.plain ?? "")\(email)")
    }
    let verified = user["emailVerified"]?.bool == true ? "verified" : "not verified"
    let name = user["displayName"]?.string.map { [clean("name: \($0)")] } ?? []
    try console.report(
      user,
      [
        "\(user.title), of the application \(clean(user["application"]?.plain ?? ""))"
      ] + name + [
        "id: \(clean(user["user"]?.plain ?? "")), e-mail address \(verified)",
        identities.isEmpty ? "no way to sign in" : "signs in with:",
      ] + identities)
  }
}

/// `einlassctl users link`.
struct UsersLink: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "link", abstract: "Link a provider's identity to a user, by a sign-in there.",
    discussion: "EXAMPLE: einlassctl users link ada@example.org github")

  @Argument(help: "E-mail address or id.") var user: String
  @Argument(help: "The provider to sign in at.", completion: .providers) var provider: String
  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let user = try console.user(user)
    let result = try console.call(
      "users.link", ["user": user["user"] ?? "", "provider": .string(provider)])
    try console.report(
      .object(result), ["\(user.title) now signs in with \(clean(provider)) too."])
  }
}

/// `einlassctl users unlink`.
struct UsersUnlink: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlink", abstract: "Unlink a provider's identity, or the password, from a user.",
    discussion: "EXAMPLE: einlassctl users unlink ada@example.org twitter")

  @Argument(help: "E-mail address or id.") var user: String
  @Argument(help: "The provider, or password.", completion: .providers) var provider: String
  @Flag(help: "Unlink the last way to sign in without a confirmation.") var yes = false
  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let user = try console.user(user)
    var params: JSONObject = ["user": user["user"] ?? "", "provider": .string(provider)]
    let result: JSONObject
    do throws(Failure) { result = try console.call("users.unlink", params) } catch {
      guard case .refused(let refusal) = error, refusal.data["detail"] == "lastIdentity" else {
        throw error
      }
      try console.confirm(
        "\(clean(provider)) is the last way to sign in as \(user.title). Unlink it nevertheless?",
        isAgreed: yes)
      params["evenTheLast"] = true
      result = try console.call("users.unlink", params)
    }
    try console.report(
      .object(result), ["\(user.title) no longer signs in with \(clean(provider))."])
  }
}

/// `einlassctl users delete`.
struct UsersDelete: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove a user from the directory. The accounts stay.",
    discussion: "EXAMPLE: einlassctl users delete ada@example.org --yes")

  @Argument(help: "E-mail address or id.") var user: String
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let user = try console.user(user)
    try console.confirm(
      "Remove the user \(user.title) of \(clean(user["application"]?.plain ?? ""))?", isAgreed: yes)
    let result = try console.call("users.delete", ["user": user["user"] ?? ""])
    try console.report(.object(result), ["Removed the user \(user.title)."])
  }
}

extension Console {
  fileprivate func users() throws(Failure) -> [JSONValue] {
    try list("users.list", "users", ["everyDirectory": true])
  }

  /// Returns the user with this id or address. Only the letters of ASCII compare without case, as in
  /// the directory.
  fileprivate func user(_ name: String) throws(Failure) -> JSONValue {
    func lowered(_ text: String) -> String {
      String(decoding: text.utf8.map { (65...90).contains($0) ? $0 | 32 : $0 }, as: UTF8.self)
    }
    let found = try users().filter { user in
      sameBytes(user["user"]?.string ?? "", name)
        || sameBytes(lowered(user["email"]?.string ?? ""), lowered(name))
    }
    guard let user = found.first else {
      throw .usage("There is no user \(clean(name)). List them: einlassctl users list")
    }
    guard found.count == 1 else {
      let ids = found.compactMap { $0["user"]?.string }.joined(separator: " or ")
      throw .usage("\(clean(name)) may be \(clean(ids)). Name the id.")
    }
    return user
  }
}

extension JSONValue {
  /// The e-mail address of a user, or else the id.
  fileprivate var title: String {
    clean(self["email"]?.string ?? self["user"]?.string ?? "")
  }

  fileprivate var providers: [String] {
    (self["identities"]?.array ?? []).compactMap { $0["provider"]?.string }
  }
}
