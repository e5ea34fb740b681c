internal import EinlassJSON

/// The parameters of the standard in a request, by the names and in the place of the descriptor.
extension RequestTemplate {
  /// The parameters that a provider may name otherwise at its page, and in its other requests.
  static let pageNames = ["client_id", "scope"]
  static let tokenNames =
    pageNames + [
      "client_secret", "grant_type", "code", "redirect_uri", "code_verifier", "refresh_token",
      "device_code",
    ]

  /// Reads the word `names`; empty without it.
  static func names(
    _ name: String, in reader: DescriptorReader, _ known: [String]
  ) throws(DescriptorReader.Fault) -> [Parameter] {
    guard reader.has(name) else { return [] }
    let reader = try reader.object(name, members: known)
    var names: [Parameter] = []
    for standard in known {
      guard let own = try reader.optional(standard, reader.parameter) else { continue }
      guard !names.contains(where: { sameBytes($0.value, own) }) else {
        throw reader.fault(standard, "Expected a name that no other parameter has.")
      }
      names.append(Parameter(standard, own))
    }
    return names
  }

  /// Whether a parameter of the standard has this name, in any letter case.
  static func isReserved(_ name: String) -> Bool {
    let name = name.lowercased()
    return tokenNames.contains(name) || AuthorizationRequest.reservedNames.contains(name)
      || [
        "access_token", "actor_token", "assertion", "audience", "error", "id_token", "iss",
        "password", "requested_token_type", "subject_token", "token", "user_code", "username",
      ].contains(name)
  }

  /// Returns the parameters by the provider's names.
  func named(_ parameters: [Parameter]) -> [Parameter] {
    names.isEmpty
      ? parameters
      : parameters.map { parameter in
        let own = names.first { sameBytes($0.name, parameter.name) }?.value
        return Parameter(own ?? parameter.name, parameter.value)
      }
  }

  /// Returns the fields of the descriptor's body, filled in.
  func fields(_ values: Template.Values) -> [Parameter] {
    (json ?? form).map { Parameter($0.name, $0.value.filled(values)) }
  }

  /// Puts all parameters into a filled request: into the query of a GET, else into its body.
  func put(_ parameters: [Parameter], into request: inout HTTPRequest) {
    let parameters = named(parameters)
    if method == .get {
      request.address = request.address.asking(parameters)
    } else if json != nil {
      let members = JSONObject(parameters.map { ($0.name, .string($0.value)) })
      request.body = Array(JSONValue.object(members).text.utf8)
    } else {
      request.body = Array(FormEncoding.encode(parameters).utf8)
    }
  }
}

extension InteractiveFlow {
  /// Throws `reservedParameter` for a parameter of the front end with one of the provider's names.
  func requireFree(_ template: RequestTemplate) throws(FlowFailure) {
    let taken = pageParameters.first { parameter in
      template.names.contains { sameBytes($0.value.lowercased(), parameter.name.lowercased()) }
    }
    if let taken { throw FlowFailure(.reservedParameter(taken.name)) }
  }
}

extension DescriptorReader {
  /// Returns the name of a parameter that no parameter of the standard has.
  func parameter(_ name: String) throws(Fault) -> String {
    let text = try string(name)
    guard isParameterName(text) else {
      throw fault(
        name, "Expected at most 64 letters, digits, dots, hyphens and underscores.")
    }
    guard !RequestTemplate.isReserved(text) else {
      throw fault(name, "A parameter of the standard has this name.")
    }
    return text
  }

  /// Returns the names of parameters of a response that a request gets too; empty without this word.
  func handedOn(_ name: String, to request: RequestTemplate) throws(Fault) -> [String] {
    let names = try optional(name, strings) ?? []
    let taken =
      request.names.map(\.value)
      + (request.query + request.form + (request.json ?? [])).map(\.name)
    guard names.count <= 8, Set(names).count == names.count, Set(taken).isDisjoint(with: names),
      names.allSatisfy({ isParameterName($0) && !RequestTemplate.isReserved($0) })
    else {
      throw fault(
        name, "Expected at most 8 names, none of them of the standard or of the token request.")
    }
    return names
  }
}

/// Whether a text is a plain name of a parameter.
func isParameterName(_ text: String) -> Bool {
  (1...64).contains(text.utf8.count)
    && text.unicodeScalars.allSatisfy { scalar in
      ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
        || ("0"..."9").contains(scalar) || ["-", ".", "_"].contains(scalar)
    }
}
