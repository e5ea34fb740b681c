internal import EinlassCrypto
public import EinlassJSON

/// The parameters of `providers.add`: a provider described by a front end.
public struct AddProviderRequest: Sendable {
  /// The source of the descriptor.
  public enum Source: Sendable {
    /// The issuer's metadata. RFC 8414, OpenID Connect Discovery 1.0.
    case issuer(String)
    /// A descriptor in the vocabulary of a catalogue.
    case descriptor(JSONValue)
  }

  public var source: Source
  /// `nil`: an id made of the issuer's address.
  public var id: String?
  /// `nil`: the issuer's host.
  public var name: String?
  /// Whether the issuer must announce PKCE with S256, because a protected resource chose it.
  var requiresS256 = false
  /// Whether the issuer must have a public address, because a resource on the internet named it;
  /// `nil` if no resource did.
  var isPublicOnly: Bool?
  /// Whether the person has chosen the issuer, and no protected resource.
  var isOfPerson: Bool { !requiresS256 && isPublicOnly == nil }

  public init(_ source: Source, id: String? = nil, name: String? = nil) {
    self.source = source
    self.id = id
    self.name = name
  }
}

/// A new provider's descriptor.
public struct NewDescriptor: Sendable {
  public var descriptor: JSONValue
  /// The members of the issuer's metadata that could not be read and count as absent.
  public var ignored: [String] = []
}

extension Einlass {
  /// Returns the checked descriptor of a new provider, from the issuer's metadata or as given.
  ///
  /// Throws `unsafeURL` for an issuer with a query, or neither https nor on this machine,
  /// `providerFailure` for missing or invalid metadata, and `invalidParameter` for an invalid
  /// descriptor.
  public func descriptor(of request: AddProviderRequest) async throws(Problem) -> NewDescriptor {
    let new: NewDescriptor
    switch request.source {
    case .descriptor(let given): new = NewDescriptor(descriptor: given)
    case .issuer(let text): new = try await discovered(text, request)
    }
    do throws(DescriptorReader.Fault) {
      _ = try Provider.added(new.descriptor, at: "/descriptor", models: catalog)
      return new
    } catch { throw .invalidParameter(error.pointer, "The descriptor is invalid: \(error)") }
  }

  private func discovered(
    _ text: String, _ request: AddProviderRequest
  ) async throws(Problem) -> NewDescriptor {
    guard let issuer = try? WebAddress.parse(text), issuer.isSafe, issuer.query == nil else {
      throw Problem(
        .unsafeURL,
        "The issuer must be an https address without a query, spelled as in its metadata.",
        path: "/issuer")
    }
    var places = ServerMetadata.addresses(ofIssuer: issuer)[...]
    var problem: Problem?
    var absence: String?
    while let place = places.popFirst() {
      let found: ServerMetadata?
      do throws(Problem) {
        found = try await metadata(of: text, at: place, issuer, request, &absence)
      } catch {
        guard error.isRetryable, error.reason == .providerFailure else { throw error }
        problem = error
        continue
      }
      guard var metadata = found else { continue }
      guard !request.requiresS256 || metadata.announcesS256 else {
        throw .undescribed(.issuer, at: issuer, ServerMetadata.Fault.lacksS256.sentence)
      }
      // Some servers name an endpoint only in another document.
      while metadata.isIncomplete, let other = places.popFirst() {
        guard let document = try? await self.document(at: other, issuer, request, &absence)
        else { continue }
        do throws(ServerMetadata.Fault) {
          metadata.complete(
            from: try ServerMetadata(
              document, issuer: text, allowsTemplate: request.isOfPerson))
        } catch {
          guard !error.isOfProtection || error == .lacksS256 && metadata.announcesS256 else {
            throw .undescribed(.issuer, at: issuer, error.sentence)
          }
        }
      }
      var descriptor = metadata.descriptor(
        id: request.id ?? issuer.providerID, name: request.name ?? issuer.host)
      guard descriptor["flows"] != [] else {
        throw .undescribed(
          .issuer, at: issuer, ServerMetadata.Fault.member("authorization_endpoint").sentence)
      }
      descriptor["publicOnly"] = request.isPublicOnly.map(JSONValue.bool)
      return NewDescriptor(descriptor: .object(descriptor), ignored: metadata.ignored)
    }
    throw problem
      ?? .undescribed(
        .issuer, at: issuer,
        absence.map { "it \($0)" } ?? "there is no document that names its issuer")
  }

  /// Returns the issuer's metadata at an address; `nil` if there is none.
  private func metadata(
    of text: String, at place: WebAddress, _ issuer: WebAddress, _ request: AddProviderRequest,
    _ absence: inout String?
  ) async throws(Problem) -> ServerMetadata? {
    guard let document = try await self.document(at: place, issuer, request, &absence)
    else { return nil }
    do throws(ServerMetadata.Fault) {
      return try ServerMetadata(document, issuer: text, allowsTemplate: request.isOfPerson)
    } catch {
      // A server that answers each path with JSON does so where it has no document.
      guard error != .member("issuer") else { return nil }
      throw .undescribed(.issuer, at: issuer, error.sentence)
    }
  }

  /// Returns the document at an address; `nil` if there is none. Throws a retryable
  /// `providerFailure` if the server cannot answer now.
  ///
  /// - Parameter absence: Receives the reason why an answer is no document, as the end of a sentence.
  private func document(
    at place: WebAddress, _ issuer: WebAddress, _ request: AddProviderRequest,
    _ absence: inout String?
  ) async throws(Problem) -> JSONValue? {
    var question = HTTPRequest(.get, place, responseLimitBytes: ServerMetadata.limitBytes)
    question.needsPublicAddress = request.isPublicOnly == true
    let response = try await effects.document(question)
    guard response.isSuccess else {
      absence = absence ?? response.foreignTrait
      guard response.status < 500, response.status != 429 else {
        throw .undescribed(
          .issuer, at: issuer, "its answer has status \(response.status)",
          isRetryable: true)
      }
      return nil
    }
    // A server with a page for every path answers with that page where it has no document.
    guard let document = try? response.json() else {
      absence = absence ?? response.fault
      return nil
    }
    return document
  }
}

extension WebAddress {
  /// An id made of the address: `op.example.com-tenant`.
  var providerID: String {
    let text = host + (port.map { "-\($0)" } ?? "") + path
    let id = text.lowercased().map { character in
      character.isASCII && (character.isLetter || character.isNumber || character == ".")
        ? character : "-"
    }
    return String(String(id).prefix(64).drop { $0 == "-" }.reversed().drop { $0 == "-" }.reversed())
  }

  /// The same id with a digest, for an issuer whose usual id is taken. Ids can collide, because
  /// `a_b` and `a-b` both become `a-b`.
  var otherProviderID: String {
    let digest = Hexadecimal.encode(Digest.sha256(Array(text.utf8)).prefix(4).map { $0 })
    return "\(providerID.prefix(55))-\(digest)"
  }
}

extension JSONValue {
  /// The issuer in this descriptor; `nil` if it names none.
  private var issuer: String? { self["flows"]?.array?.first?["issuer"]?.string }

  /// Returns the descriptor of an issuer, with another id if its own belongs to another issuer.
  ///
  /// - Parameters:
  ///   - others: The descriptors added before.
  ///   - isTaken: Whether an id belongs to a provider that was not added.
  public func renamed(beside others: [JSONValue], _ isTaken: (String) -> Bool) -> JSONValue {
    guard var object, let id = object["id"]?.string, let issuer,
      let address = try? WebAddress.parse(issuer)
    else { return self }
    let isOthers = others.contains { other in
      other["id"]?.string.map { sameBytes($0, id) } == true
        && other.issuer.map { sameBytes($0, issuer) } != true
    }
    guard isOthers || isTaken(id) else { return self }
    object["id"] = .string(address.otherProviderID)
    return .object(object)
  }
}

extension ServerMetadata {
  /// The longest metadata document that is read, in bytes.
  static let limitBytes = 256 << 10

  /// Whether a protected resource may send people here: the server announces PKCE with S256, or has
  /// no page.
  fileprivate var announcesS256: Bool {
    authorizationEndpoint == nil || codeChallengeMethods.contains("S256")
  }

  /// Whether another document of the issuer may have more.
  fileprivate var isIncomplete: Bool {
    registrationEndpoint == nil || revocationEndpoint == nil || !isOpenID || keySetAddress == nil
      || !hasOpenIDMember
  }

  /// Takes over the missing endpoints, the promises, and the members about id_tokens, of another
  /// document.
  fileprivate mutating func complete(from other: ServerMetadata) {
    registrationEndpoint = registrationEndpoint ?? other.registrationEndpoint
    revocationEndpoint = revocationEndpoint ?? other.revocationEndpoint
    ignored += other.ignored.filter { !ignored.contains($0) }
    promisesIssuer = promisesIssuer || other.promisesIssuer
    if other.mutualTLS.bindsTokens { mutualTLS.bindsTokens = true }
    if other.requiresPushedRequests {
      requiresPushedRequests = true
      pushedAuthorizationRequestEndpoint =
        pushedAuthorizationRequestEndpoint ?? other.pushedAuthorizationRequestEndpoint
    }
    guard !isOpenID || keySetAddress == nil || !hasOpenIDMember, other.isOpenID else { return }
    hasOpenIDMember = true
    if other.keySetAddress != nil {
      (keySetAddress, signingAlgorithms) = (other.keySetAddress, other.signingAlgorithms)
    }
    userinfoEndpoint = userinfoEndpoint ?? other.userinfoEndpoint
    endSessionEndpoint = endSessionEndpoint ?? other.endSessionEndpoint
    if scopes.isEmpty { scopes = other.scopes }
  }

  /// Returns the descriptor of the provider that this metadata describes.
  func descriptor(id: String, name: String) -> JSONObject {
    let verifiesIDTokens = isOpenID && keySetAddress != nil
    let home = IssuerName(issuer).isTemplate ? tokenEndpoint.origin : issuer
    let tokens = JSONObject(present: [
      "token": request("POST", tokenEndpoint),
      // A server that issues refresh tokens accepts them, although many omit them in
      // grant_types_supported.
      "refresh": [:],
      "clientAuthentication": names(clientAuthentications),
      "assertion": assertionAlgorithms.isEmpty
        ? nil : ["algorithms": JSONValue(assertionAlgorithms.map(\.rawValue))],
      "revocation": revocationEndpoint.map { request("POST", $0) },
      "revocationAuthentication": names(revocationAuthentications),
      "endSession": endSessionEndpoint.map { .string($0.text) },
      "scopes": JSONValue(wantedScopes),
      "issuer": .string(issuer), "forResources": true,
      "announcesS256": announcesS256 ? nil : false,
      "keySet": verifiesIDTokens ? keySetAddress.map { .string($0.text) } : nil,
      "algorithms": verifiesIDTokens
        ? JSONValue(signingAlgorithms.map(\.rawValue).sorted()) : nil,
      "mutualTLS": mutualTLS.word,
    ]).members
    let pushing =
      pushedAuthorizationRequestEndpoint.map {
        [("pushed", request("POST", $0)), ("requiresPushed", .bool(requiresPushedRequests))]
      } ?? []
    var flows: [JSONValue] = []
    if let authorizationEndpoint {
      let members: [(String, JSONValue)] =
        [
          ("kind", "authorizationCode"), ("authorize", request("GET", authorizationEndpoint)),
          // A fixed path, because a redirect address with a random one could not be registered.
          ("redirect", ["path": "/callback"]), ("promisesIssuer", .bool(promisesIssuer)),
        ] + pushing
      flows.append(.object(JSONObject(members + tokens.map { ($0.name, $0.value) })))
    }
    if let deviceAuthorizationEndpoint {
      let members: [(String, JSONValue)] = [
        ("kind", "deviceCode"),
        ("deviceAuthorization", request("POST", deviceAuthorizationEndpoint)),
      ]
      flows.append(.object(JSONObject(members + tokens.map { ($0.name, $0.value) })))
    }
    if grantTypes.contains("client_credentials"), clientAuthentications != [.none] {
      let members = tokens.filter { !["refresh", "scopes", "endSession"].contains($0.name) }
      flows.append(
        .object(JSONObject([("kind", "clientCredentials")] + members.map { ($0.name, $0.value) })))
    }
    flows += assertionFlows(tokens)
    return JSONObject(present: [
      "id": .string(id), "name": .string(name),
      "setup": ["documentation": .string(home), "redirect": "http://127.0.0.1/callback"],
      "accounts": "many",
      "registration": clientAuthentications.areMutualTLS
        ? ["clientId", "certificate", "privateKey"] : ["clientId"],
      "clientMetadata": takesClientMetadata ? true : nil,
      "locale": isOpenID ? ["parameter": "ui_locales"] : nil,
      "dynamicRegistration": registrationEndpoint.map { endpoint in
        ["url": .string(endpoint.text), "clientAuthentication": .string(registered.rawValue)]
      },
      "identity": identity(isOpenID: isOpenID).map(JSONValue.object), "flows": .array(flows),
      "verify": introspectionEndpoint.map {
        .object(
          JSONObject(present: [
            "recipe": "introspection", "request": request("POST", $0),
            "clientAuthentication": names(introspectionAuthentications),
          ]))
      },
    ])
  }

  /// The scopes to request by default. A server that names none is asked for the standard ones,
  /// because it ignores unknown scopes. OpenID Connect Core 1.0 sections 3.1.2.1 and 5.4.
  private var wantedScopes: [String] {
    let usual = isOpenID ? ["openid", "profile", "email"] : []
    return scopes.isEmpty ? usual : (usual + ["offline_access"]).filter(scopes.contains)
  }

  /// Returns the flows that trade an assertion for a token. Without `scopes`, because the server
  /// decides there which scopes a trusted issuer's assertion brings.
  private func assertionFlows(_ tokens: [JSONObject.Member]) -> [JSONValue] {
    let members = tokens.filter { !["scopes", "endSession"].contains($0.name) }
      .map { ($0.name, $0.value) }
    func flow(_ kind: FlowKind, _ more: [(String, JSONValue)] = []) -> JSONValue {
      .object(JSONObject([("kind", .string(kind.rawValue))] + more + members))
    }
    var flows: [JSONValue] = []
    if grantTypes.contains(AssertionGrant.jwtBearer) { flows.append(flow(.jwtBearer)) }
    if grantTypes.contains(AssertionGrant.tokenExchange) {
      let types = requestedTokenTypes.map { [("requestedTokenTypes", JSONValue($0))] } ?? []
      flows.append(flow(.tokenExchange, types))
    }
    return flows
  }

  /// Returns the names of the ways; `nil` for an empty list.
  private func names(_ ways: [ClientAuthentication]) -> JSONValue? {
    ways.isEmpty ? nil : JSONValue(ways.map(\.rawValue))
  }

  /// The client authentication to ask for in a registration: none, unless the server requires one.
  private var registered: ClientAuthentication {
    clientAuthentications.contains(.none)
      ? .none : clientAuthentications.first(where: \.isForSecret) ?? .none
  }

  /// Returns the identity descriptor for the standard claims, with or without a userinfo request.
  /// OpenID Connect Core 1.0 section 5.1.
  ///
  /// `emailVerified` is not stated: a front end may add any issuer, and an issuer that is believed
  /// about addresses could let its users into the users of other providers with the same addresses.
  /// A descriptor of the person may state it.
  private func identity(isOpenID: Bool) -> JSONObject? {
    guard isOpenID else { return nil }
    // Only the id_token names the tenant of the person.
    let userinfoEndpoint = IssuerName(issuer).isTemplate ? nil : userinfoEndpoint
    var question = userinfoEndpoint.flatMap { request("GET", $0).object }
    question?["bearer"] = "{token}"
    return JSONObject(present: [
      "request": question.map(JSONValue.object), "id": "/sub", "name": "/name",
      "username": "/preferred_username", "email": "/email", "avatar": ["pointer": "/picture"],
      "required": ["id"],
    ])
  }

  private func request(_ method: String, _ address: WebAddress) -> JSONValue {
    var place = address
    place.query = nil
    let query = address.query.flatMap { FormEncoding.decode($0.utf8, plus: .space) } ?? []
    return .object(
      JSONObject(present: [
        "method": .string(method), "url": .string(place.text),
        "query": query.isEmpty
          ? nil : .object(JSONObject(query.map { ($0.name, .string($0.value)) })),
      ]))
  }
}

/// The server whose metadata is missing or invalid.
enum DescribedServer: String { case issuer, resource }

extension Problem {
  /// The metadata of an issuer or of a protected resource is missing or invalid.
  static func undescribed(
    _ server: DescribedServer, at address: WebAddress, _ why: String, isRetryable: Bool = false
  ) -> Problem {
    Problem(
      .providerFailure,
      "The metadata of the \(server.rawValue) at \(address.host) is missing or invalid: \(why).",
      advice: isRetryable ? nil : .askOperator, isRetryable: isRetryable)
  }
}
