import EinlassJSON

/// The state at the start, and what a user needs to know of it.
enum DemoState {
  /// Every provider's demo, no faults, the right time.
  static var whole: JSONValue {
    var state: JSONValue = ["clockOffsetSeconds": 0, "faults": [:]]
    for provider in Providers.all { state[at: provider.name] = provider.demoState }
    return state
  }

  /// The line that tells that the sandbox is ready: `{address, addresses, control, config, accounts}`.
  ///
  /// `addresses` are those of providers that have one to themselves, by name; `config` is a configuration for
  /// `einlass --config`, `accounts` are parameters for `accounts.add`.
  static func announcement(
    address: String, ownAddresses: [(name: String, address: String)] = [], control: String,
    state: JSONValue
  ) -> JSONValue {
    let addresses = JSONObject(ownAddresses.map { ($0.name, .string($0.address)) })
    var applications = JSONObject()
    var origins = JSONObject()
    for provider in Providers.all {
      if provider.isInCatalogue {
        applications[provider.name] = provider.registration(in: state)
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
