import EinlassJSON

/// The initial state, and the announcement for the user.
enum DemoState {
  /// The demo state of every provider, without faults and with the correct time.
  static var whole: JSONValue {
    var state: JSONValue = ["clockOffsetSeconds": 0, "faults": [:]]
    for provider in Providers.all { state[at: provider.name] = provider.demoState }
    return state
  }

  /// Redirects at any port for the providers of the catalogue that know one fixed port, because
  /// another program may have that port, and one sign-in keeps it from the next.
  private static let freeRedirects: [String: String] = {
    let literal = ["twitter", "bitbucket", "discord", "figma", "reddit", "yandex"]
    let named = [
      "vimeo", "atlassian", "dropbox", "heroku", "huggingface", "line", "linear", "linkedin",
      "notion", "salesforce", "slack", "twitch",
    ]
    return Dictionary(
      uniqueKeysWithValues: literal.map { ($0, "http://127.0.0.1/callback") }
        + named.map { ($0, "http://localhost/callback") })
  }()

  /// Returns the line printed when the sandbox is ready: `{address, addresses, control, config,
  /// accounts}`.
  ///
  /// `addresses` maps the providers with an address of their own to it. `config` is a configuration
  /// for `einlass --config`, and `accounts` are parameters for `accounts.add`.
  static func announcement(
    address: String, ownAddresses: [(name: String, address: String)] = [], control: String,
    state: JSONValue
  ) -> JSONValue {
    let addresses = JSONObject(ownAddresses.map { ($0.name, .string($0.address)) })
    var applications = JSONObject()
    var origins = JSONObject()
    for provider in Providers.all {
      for id in provider.catalogueIDs {
        var registration = provider.registration(in: state)?.object
        if let redirect = freeRedirects[id] { registration?["redirect"] = .string(redirect) }
        applications[id] = registration.map { .object($0) }
      }
      for origin in provider.origins {
        origins[origin] = addresses[provider.name] ?? .string(address)
      }
    }
    return [
      "address": .string(address),
      "addresses": .object(addresses),
      "control": .string(control),
      "config": ["applications": ["*": .object(applications)], "origins": .object(origins)],
      "accounts": .array(Providers.all.flatMap { $0.accounts(in: state) }),
    ]
  }
}
