import EinlassJSON

/// The initial state, and the announcement for the user.
enum DemoState {
  /// The demo state of every provider, without faults and with the correct time.
  static var whole: JSONValue {
    var state: JSONValue = ["clockOffsetSeconds": 0, "faults": [:]]
    for provider in Providers.all { state[at: provider.name] = provider.demoState }
    return state
  }

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
        applications[id] = provider.registration(in: state)
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
