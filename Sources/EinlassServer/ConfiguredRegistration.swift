internal import Einlass
internal import EinlassCrypto
internal import EinlassJSON
internal import EinlassRPC

extension Configuration {
  /// Reads a registration. That of a flow has no `flows`.
  static func registration(
    _ json: JSONValue, _ path: String, ofFlow: Bool = false
  ) throws(ConfigurationError) -> OnDemand<ClientRegistration> {
    guard let clientID = json["clientId"]?.string, isIdentifier(clientID) else {
      throw ConfigurationError("\(path)/clientId", "1 to 256 bytes without control characters")
    }
    func optional(_ name: String) throws(ConfigurationError) -> String? {
      try json[name].map { value throws(ConfigurationError) in
        try string(value, "\(path)/\(name)")
      }
    }
    let way = try optional("authentication")
    guard way.map(ClientRegistration.authentications.contains) ?? true else {
      throw ConfigurationError(
        "\(path)/authentication",
        "one of \(ClientRegistration.authentications.joined(separator: ", "))")
    }
    let algorithm = try optional("idTokenAlgorithm")
    guard algorithm.map(ClientRegistration.idTokenAlgorithms.contains) ?? true else {
      throw ConfigurationError(
        "\(path)/idTokenAlgorithm",
        "one of \(ClientRegistration.idTokenAlgorithms.joined(separator: ", "))")
    }
    let audience = try optional("assertionAudience")
    guard audience.map(ClientRegistration.assertionAudiences.contains) ?? true else {
      throw ConfigurationError(
        "\(path)/assertionAudience",
        "one of \(ClientRegistration.assertionAudiences.joined(separator: ", "))")
    }
    guard try optional("resourceParameter").map({ $0 == "omit" }) ?? true else {
      throw ConfigurationError("\(path)/resourceParameter", "the text omit")
    }
    guard json["dpop"].map({ $0.bool != nil }) ?? true else {
      throw ConfigurationError("\(path)/dpop", "true or false")
    }
    let file = try optional("assertionFile")
    guard file?.hasPrefix("/") ?? true else {
      throw ConfigurationError("\(path)/assertionFile", "an absolute path")
    }
    _ = try (optional("certificate"), optional("teamId"))
    let flows = try flowRegistrations(json["flows"], "\(path)/flows")
    let names = registrationNames + (ofFlow ? [] : ["flows"])
    if let unknown = json.object?.members.first(where: { !names.contains($0.name) }) {
      throw ConfigurationError(
        "\(path)/\(unknown.name)", "one of \(names.joined(separator: ", ")) as a name")
    }
    let (secret, key) = (try optional("clientSecret"), try optional("privateKey"))
    let (redirect, keyID) = (try optional("redirect"), try optional("keyId"))
    // A secret opens libcrypto, which most processes never need.
    return OnDemand {
      var registration = ClientRegistration(
        clientID: clientID, clientSecret: secret.map { Secret($0) }, redirect: redirect,
        privateKey: key.map { Secret($0) }, authentication: way, keyID: keyID)
      registration.readProperties(of: json)
      registration.assertionFile = file
      registration.flows = flows.mapValues(\.value)
      return registration
    }
  }

  private static let registrationNames =
    ["clientId", "clientSecret", "redirect", "privateKey", "authentication", "keyId"]
    + ClientRegistration.propertyNames + ["assertionFile"]

  /// Reads `flows` of a registration: those of single flows, by the kind of flow.
  private static func flowRegistrations(
    _ json: JSONValue?, _ path: String
  ) throws(ConfigurationError) -> [FlowKind: OnDemand<ClientRegistration>] {
    guard let json else { return [:] }
    guard let object = json.object else { throw ConfigurationError(path, "an object") }
    var flows: [FlowKind: OnDemand<ClientRegistration>] = [:]
    for member in object.members {
      guard let flow = FlowKind(rawValue: member.name) else {
        let kinds = FlowKind.allCases.map(\.rawValue).joined(separator: ", ")
        throw ConfigurationError("\(path)/\(member.name)", "one of \(kinds) as a name")
      }
      flows[flow] = try registration(member.value, "\(path)/\(member.name)", ofFlow: true)
    }
    return flows
  }
}
