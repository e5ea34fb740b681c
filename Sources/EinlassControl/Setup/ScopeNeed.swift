internal import EinlassHelpers
internal import EinlassJSON

/// The scopes that a program needs of the tokens that it gets.
struct ScopeNeed {
  /// A name in the `scopeNames` of providers.
  let name: String
  /// The scopes at a provider without the name.
  var others: [String] = []

  /// An account whose token is known to lack some of them.
  struct Lack {
    let account: Account
    let scopes: [String]
    /// The scopes of a sign-in that adds them.
    let wanted: [String]
    let name: String
    /// The provider of `providers.list`.
    let provider: JSONValue

    var sentence: String {
      "The token of \(account.title) lacks scopes for \(name): \(scopes.joined(separator: ", "))."
    }

    var step: NextStep {
      NextStep(
        "Sign in again with them:",
        ["sign-in", "--account", account.title] + wanted.flatMap { ["--scope", $0] })
    }
  }

  /// Returns the lacking accounts of these providers among those that an application gets: the ones
  /// that rules select, or all of a provider.
  ///
  /// - Parameter places: The requests to `services.resolve` that the program makes. A provider without
  ///   one is asked for its usual account.
  func lacking(
    for application: String, at providers: [String], _ places: [JSONObject],
    _ server: ServerOptions
  ) throws(Failure) -> [Lack] {
    let speaker = try Console(server, actingAs: application, asksPerson: false)
    defer { speaker.end() }
    let resolved = places.compactMap { try? speaker.call("services.resolve", $0) }
    var found: [Lack] = []
    for provider in try speaker.list("providers.list", "providers") {
      let id = provider["id"]?.string ?? ""
      guard providers.contains(where: { sameBytes($0, id) }) else { continue }
      var answers = resolved.filter { sameBytes($0["provider"]?.string ?? "", id) }
      if answers.isEmpty {
        answers = [try speaker.call("services.resolve", ["provider": .string(id)])]
      }
      found += try speaker.accounts(of: id).filter { account in
        answers.contains { answer in
          answer["account"]?.string.map { sameBytes($0, account.id) } ?? true
        }
      }.compactMap { lack(of: $0, at: provider) }
    }
    return found
  }

  private func lack(of account: Account, at provider: JSONValue) -> Lack? {
    let named = provider["scopeNames"]?[name]?.strings
    let scopes = account.lacking(named ?? others, at: provider)
    guard !scopes.isEmpty else { return nil }
    // A name adds to the account's scopes; scopes replace them.
    return Lack(
      account: account, scopes: scopes, wanted: named == nil ? account.scopes + scopes : [name],
      name: name, provider: provider)
  }
}

extension Account {
  /// The scopes of its token; empty if they are not known.
  var scopes: [String] { json["scopes"]?.strings ?? [] }

  /// Returns those of the scopes that its token is known to lack. A wider scope contains others, as
  /// `scopeContents` of the provider says. An application with permissions in place of scopes names
  /// none.
  func lacking(_ wanted: [String], at provider: JSONValue?) -> [String] {
    guard !scopes.isEmpty else { return [] }
    let contents = provider?["scopeContents"]
    let held = scopes + scopes.flatMap { contents?[$0]?.strings ?? [] }
    return wanted.filter { scope in !held.contains { sameBytes($0, scope) } }
  }
}

extension SetupCommand {
  /// Offers a sign-in to each account whose token lacks scopes that the program needs, or names the
  /// command for it.
  func offerScopes(
    at providers: [String], _ settings: [Setting], _ console: Console
  ) throws(Failure) {
    let places = Self.places(of: settings)
    for lack in try Self.needs?.lacking(for: Self.program, at: providers, places, server) ?? [] {
      guard !setup.yes, let person = console.person else {
        complain(
          "warning: \(clean(lack.sentence)) \(lack.step.line(repeating: server.repeated))")
        continue
      }
      complain("warning: \(clean(lack.sentence))")
      guard try person.agrees("Sign in again with them?") else {
        complain("Later: \(lack.step.line(repeating: server.repeated))")
        continue
      }
      _ = try console.call(
        "accounts.signIn",
        [
          "provider": .string(lack.account.provider), "account": .string(lack.account.id),
          "scopes": JSONValue(lack.wanted),
        ])
      let account = try console.accounts(of: lack.account.provider).first { account in
        sameBytes(account.id, lack.account.id)
      }
      let refused = account?.lacking(lack.scopes, at: lack.provider) ?? []
      guard let account, !refused.isEmpty else {
        complain("Signed in again: \(lack.account.title).")
        continue
      }
      let step = NextStep(
        "The registration decides there:", "providers", "show", account.provider)
      complain(
        "warning: The provider did not grant \(clean(refused.joined(separator: ", "))). \(step.line(repeating: server.repeated))"
      )
    }
  }
}
