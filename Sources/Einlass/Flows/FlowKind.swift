/// The sequences that einlass runs to get a credential.
public enum FlowKind: String, Sendable, CaseIterable {
  case reverseAuth, systemToken, authorizationCode, deviceCode, oauth1, clientCredentials
}
