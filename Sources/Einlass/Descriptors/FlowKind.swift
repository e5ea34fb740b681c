/// The kinds of flow, by their names in the protocol and in descriptors.
public enum FlowKind: String, Sendable, CaseIterable {
  case reverseAuth, systemToken, authorizationCode, deviceCode, oauth1, clientCredentials
}
