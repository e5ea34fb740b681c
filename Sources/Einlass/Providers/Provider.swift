/// Who issues tokens, as data: one object of `providers.json`.
///
/// The vocabulary is closed. What no word expresses earns a new word with a second provider in mind.
public struct Provider: Sendable, Equatable {
  /// What a provider's accounts can do, for front ends that lay out their buttons.
  public struct Capabilities: Sendable, Equatable {
    public var reverseAuth: Bool
    public var refresh: Bool
    public var email: Bool
    public var revoke: Bool
    public var verify: Bool
  }

  /// What a person needs to register an application there.
  public struct Setup: Sendable, Equatable {
    /// An https address.
    public var documentation: String
    public var redirect: String?
    public var notes: String?
  }

  /// The parts of a registration, by their names in the protocol.
  public enum RegistrationPart: String, Sendable, CaseIterable {
    case clientID = "clientId"
    case clientSecret
  }

  public var id: String
  public var name: String
  public var setup: Setup
  /// No longer in service; works against a server that plays it.
  public var isRetired: Bool
  /// The store has room for one account: confirmed instead of selected.
  public var hasOneAccount: Bool
  /// What a registration must hold before any flow starts.
  public var registrationNeeds: [RegistrationPart]
  /// In order of preference.
  public var flowKinds: [FlowKind]
  public var can: Capabilities
}
