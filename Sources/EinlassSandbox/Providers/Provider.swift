import EinlassJSON

/// A provider that is played: its part of the state, and its answers. One file, or a few, for each.
protocol Provider: Sendable {
  /// Its id, and the name of its part of the state.
  var name: String { get }
  /// Where the real one lives.
  var origins: [String] { get }
  /// What may stand in its part of the state.
  var shape: StateShape { get }
  /// Its part of the state at the start.
  var demoState: JSONValue { get }
  /// Whether it has an address to itself, because its paths are those of others, too.
  var hasOwnAddress: Bool { get }
  /// Whether a request to the shared address is meant for it.
  func owns(_ request: Request) -> Bool
  /// What it says to a request. Never fails: an error is an answer in its own style.
  func answer(_ request: Request, in world: inout World) -> Answer
  /// `accounts.add` parameters for a token that an application of the system holds.
  func account(user: Record, token: Record, of application: Consumer) -> JSONValue
}

/// A member of some collection of the state: a user, a token.
struct Record: Sendable {
  /// Its name in the state.
  var id: String
  /// What is known about it.
  var value: JSONValue

  /// The string in a member.
  subscript(_ name: String) -> String? { value[name]?.string }
}

/// An application registered at a provider.
struct Consumer: Sendable {
  /// Consumer key, or application id.
  var id: String
  /// Its record in the state.
  var record: JSONValue

  /// What only it and the provider know.
  var secret: String { record["secret"]?.string ?? "" }
  /// Whether the accounts of the system belong to it.
  var isSystem: Bool { record["system"]?.bool == true }
  /// Whether the provider has withdrawn it.
  var isRevoked: Bool { record["revoked"]?.bool == true }
}

/// The providers played.
enum Providers {
  /// In the order in which they are asked whether a request is theirs; the last takes what is left.
  static let all: [any Provider] = [Twitter(), Facebook(), Flickr()] + OAuth2Provider.all

  /// The one that answers a request to the shared address.
  static func owner(of request: Request) -> any Provider {
    all.first { !$0.hasOwnAddress && $0.owns(request) } ?? Facebook()
  }
}

extension Provider {
  var hasOwnAddress: Bool { false }
  /// Whether einlass knows it by this name. Others are added first, and their registrations with them.
  var isInCatalogue: Bool { !["openid", "x"].contains(name) }

  /// A registered application, revoked or not.
  func consumer(_ id: String, in state: JSONValue) -> Consumer? {
    state[at: name, "applications", id].map { Consumer(id: id, record: $0) }
  }

  /// The registration to put into a configuration: the first that is neither the system's nor revoked.
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
            // Where there is a choice einlass makes it.
            "redirect": redirects.count == 1 ? redirects.first : nil,
          ]))
      }
  }

  /// `accounts.add` parameters for every token that an application of the system holds.
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
