import EinlassJSON

/// A simulated provider: its part of the state, and its answers.
protocol Provider: Sendable {
  /// The provider's id, and the member name of its part of the state.
  var name: String { get }
  /// The origins of the real provider.
  var origins: [String] { get }
  /// The shape of its part of the state.
  var shape: StateShape { get }
  /// The initial value of its part of the state.
  var demoState: JSONValue { get }
  /// Whether it listens on an address of its own, because it shares paths with other providers.
  var hasOwnAddress: Bool { get }
  /// Returns whether a request to the shared address is for this provider.
  func owns(_ request: Request) -> Bool
  /// Returns the response. Never throws: an error is a response in the provider's format.
  func answer(_ request: Request, in world: inout World) -> Answer
  /// Returns `accounts.add` parameters for a token that a system application holds.
  func account(user: Record, token: Record, of application: Consumer) -> JSONValue
}

/// A named record of the state, for example a user or a token.
struct Record: Sendable {
  /// The member name in the state.
  var id: String
  var value: JSONValue

  /// The string in this member of the record.
  subscript(_ name: String) -> String? { value[name]?.string }
}

/// An application registered at a provider.
struct Consumer: Sendable {
  /// The consumer key or application id.
  var id: String
  var record: JSONValue

  /// The secret; empty if there is none.
  var secret: String { record["secret"]?.string ?? "" }
  /// Whether it is the system's own application, as opposed to one of the person's programs.
  var isSystem: Bool { record["system"]?.bool == true }
  /// Whether the provider has revoked it.
  var isRevoked: Bool { record["revoked"]?.bool == true }
}

/// The simulated providers.
enum Providers {
  /// Asked in this order for the owner of a request. Twitter comes first, because Facebook owns
  /// every other request to the shared address.
  static let all: [any Provider] =
    [Twitter(), Facebook(), Flickr(), SessionServer()] + OAuth2Provider.all

  /// Returns the provider that answers a request to the shared address.
  static func owner(of request: Request) -> any Provider {
    all.first { !$0.hasOwnAddress && $0.owns(request) } ?? Facebook()
  }
}

extension Provider {
  var hasOwnAddress: Bool { false }
  /// The ids under which the catalogue of einlass contains it. A provider without one must be added
  /// first, and its registration with it.
  var catalogueIDs: [String] {
    switch name {
    case "openid", "x", "bitbucket-data-center": []
    // These ask for their tokens at one origin, so they are one provider here.
    case "google": ["google", "google-cloud"]
    case "microsoft": ["microsoft", "outlook", "azure-devops"]
    default: [name]
    }
  }

  /// Returns a registered application, even a revoked one.
  func consumer(_ id: String, in state: JSONValue) -> Consumer? {
    state[at: name, "applications", id].map { Consumer(id: id, record: $0) }
  }

  /// Returns a registration for a configuration, of the first application that is neither the
  /// system's nor revoked.
  func registration(in state: JSONValue) -> JSONValue? {
    (state[at: name, "applications"]?.object?.members ?? [])
      .map { Consumer(id: $0.name, record: $0.value) }
      .first { !$0.isSystem && !$0.isRevoked }
      .map { application in
        let redirects = application.record["redirects"]?.array ?? []
        return .object(
          JSONObject(present: [
            "clientId": .string(application.id),
            "clientSecret": application.secret.isEmpty ? nil : .string(application.secret),
            // With several redirects, einlass chooses one.
            "redirect": redirects.count == 1 ? redirects.first : nil,
          ]))
      }
  }

  /// Returns `accounts.add` parameters for every token that a system application holds.
  func accounts(in state: JSONValue) -> [JSONValue] {
    (state[at: name, "tokens"]?.object?.members ?? []).compactMap { token in
      guard let application = token.value["application"]?.string,
        let consumer = consumer(application, in: state), consumer.isSystem,
        let user = token.value["user"]?.string,
        let record = state[at: name, "users", user]
      else { return nil }
      return account(
        user: Record(id: user, value: record),
        token: Record(id: token.name, value: token.value), of: consumer)
    }
  }
}
