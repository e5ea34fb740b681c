internal import EinlassCrypto
internal import EinlassJSON

/// The servers of a provider.
extension Provider {
  /// The origin of a request, or the innermost folder of the provider around it.
  func origin(of address: WebAddress) -> String {
    guard !folders.isEmpty, let place = try? ServiceAddress(address.origin + address.path) else {
      return address.origin
    }
    let around = folders.filter(place.isServed(at:)).map(\.text)
    return around.max { $0.utf8.count < $1.utf8.count } ?? address.origin
  }

  /// The origins, or folders there, that receive a flow's credentials, verification included. An
  /// account is bound to them.
  func origins(of flow: FlowDescriptor) -> [String] {
    Set(secretRequests(of: flow).map { origin(of: $0.address) }).sorted()
  }

  /// Returns the binding of a credential of this flow.
  func binding(of flow: FlowDescriptor, for clientID: String) -> ProviderBinding {
    ProviderBinding(
      origins: origins(of: flow), clientID: clientID, flowKind: flow.kind, trust: trust)
  }

  /// Whether a stored credential may be sent to all origins of its flow.
  func isBound(_ stored: StoredCredential) -> Bool {
    guard let flow = flows.first(where: { $0.kind == stored.binding.flowKind }) else {
      return false
    }
    return Set(origins(of: flow)).isSubset(of: stored.binding.origins)
  }

  func secretRequests(of flow: FlowDescriptor) -> [RequestTemplate] {
    flow.requests + specialized(for: flow).requests
  }

  /// Whether a sign-in tells the person's identity.
  var namesPeople: Bool {
    flows.contains { specialized(for: $0).identity != nil || $0.kind == .passwordSession }
  }

  /// A digest of the parts that decide whose id an answer has: the addresses of all requests, issuers
  /// and keys, and the place of the id.
  var identityDigest: String {
    let places = flows.compactMap { specialized(for: $0).identity }.map {
      "id \($0.pointers[.id] ?? "") \($0.idPrefix ?? "")\($0.isInTokenAnswer ? " token" : "")"
    }
    let text = Set(places + identityAddresses.map(\.text)).sorted().joined(separator: "\n")
    return Base64URL.encode(Digest.sha256(Array(text.utf8)))
  }

  /// The addresses of the requests, issuers and keys that decide whose id an answer has.
  var identityAddresses: [WebAddress] {
    flows.flatMap { flow in
      secretRequests(of: flow).map(\.address)
        + [flow.tokens?.issuer, flow.tokens?.keySet].compactMap(\.self)
    }
  }

  /// The origins of all requests, or folders there. A stored registration is bound to them.
  var origins: [String] {
    Set(flows.flatMap { origins(of: $0) } + requests.map { origin(of: $0.address) }).sorted()
  }

  /// Every address of the descriptor that is no page for reading.
  var addresses: [WebAddress] {
    flows.flatMap { $0.addresses + specialized(for: $0).requests.map(\.address) }
      + requests.map(\.address) + [dynamicRegistration?.endpoint].compactMap(\.self)
  }

  /// Whether every address is at one of these origins or below one of these folders.
  func isAt(_ servers: [WebAddress]) -> Bool {
    addresses.allSatisfy { address in
      servers.contains { sameBytes($0.text, origin(of: address)) }
    }
  }

  /// Whether every request stays on this machine.
  var isLoopbackOnly: Bool { addresses.allSatisfy(\.isLoopback) }

  /// The requests outside the flows.
  var requests: [RequestTemplate] {
    [identity?.request, identity?.emails?.request, revocation, verification?.request]
      .compactMap(\.self)
  }
}
