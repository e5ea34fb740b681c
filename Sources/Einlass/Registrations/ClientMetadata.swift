internal import EinlassCrypto
internal import EinlassJSON

/// The client ID metadata document: a client's description at an https address, which is its client
/// id. OAuth Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document).
public enum ClientMetadata {
  /// The longest document that is read, in bytes.
  static let limitBytes = 64 << 10

  /// Returns whether an address can be a client id: https, with a path, without query.
  public static func isAddress(_ text: String) -> Bool {
    guard isIdentifier(text), let address = try? WebAddress.parse(text) else { return false }
    let segments = address.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    return address.scheme == .https && address.query == nil && segments.last?.isEmpty == false
      && !segments.contains { $0 == "." || $0 == ".." }
  }

  /// Returns the registration by which the document at this address is used.
  public static func registration(at address: String) -> ClientRegistration {
    var registration = ClientRegistration(
      clientID: address, authentication: ClientAuthentication.none.rawValue)
    registration.isDocument = true
    return registration
  }

  /// Returns the fault of a document for a provider, as the end of a sentence; `nil` for a good one.
  static func fault(
    of response: HTTPResponse, at address: String, redirect: RedirectDescriptor?
  ) -> String? {
    guard !(300..<400).contains(response.status) else { return "its address redirects" }
    guard response.isSuccess else { return "its answer has status \(response.status)" }
    guard let document = try? response.json(), document.object != nil else {
      return "it is not a JSON object"
    }
    guard let id = document["client_id"]?.string, sameBytes(id, address) else {
      return "its client_id is not its address"
    }
    let way = document["token_endpoint_auth_method"]?.string ?? "none"
    guard way == "none" else { return "its token_endpoint_auth_method is not none" }
    let grants = texts(document["grant_types"]) ?? ["authorization_code"]
    guard redirect == nil || grants.contains("authorization_code") else {
      return "its grant_types lack authorization_code"
    }
    let addresses = texts(document["redirect_uris"]) ?? []
    guard redirect.map({ descriptor in addresses.contains(where: descriptor.fits) }) ?? true else {
      return "its redirect_uris do not contain \(redirect?.example ?? "")"
    }
    return nil
  }

  private static func texts(_ list: JSONValue?) -> [String]? {
    list?.array?.compactMap(\.string)
  }
}

extension RedirectDescriptor {
  /// Whether a registered address covers this one. The port of a loopback address is free (RFC 8252
  /// section 7.3).
  fileprivate func fits(_ registered: String) -> Bool {
    guard case .loopback(let host, _, let path) = self else {
      return sameBytes(registered, example)
    }
    guard let address = try? WebAddress.parse(registered) else { return false }
    return address.scheme == .http && sameBytes(address.host, host.rawValue)
      && sameBytes(address.path, path ?? "/callback") && address.query == nil
  }

  /// The address without a port.
  fileprivate var example: String {
    switch self {
    case .address(let address): address
    case .loopback(let host, _, let path): "http://\(host.rawValue)\(path ?? "/callback")"
    }
  }
}

extension Provider {
  /// The redirect address of the flow with a page; `nil` without such a flow.
  var redirect: RedirectDescriptor? {
    for case .authorizationCode(let flow) in flows { return flow.redirect }
    return nil
  }
}

extension Effects {
  /// Throws `authenticatorUnconfigured` for a metadata document that the provider would refuse. A
  /// document that this machine cannot reach is used, because only the provider must reach it.
  func requireFitting(
    _ document: ClientRegistration, at provider: Provider, showingPage showsPage: Bool = true
  ) async throws(Problem) {
    guard let address = try? WebAddress.parse(document.clientID) else { return }
    let redirect = showsPage ? provider.redirect : nil
    let response: HTTPResponse
    do throws(Problem) {
      response = try await send(
        HTTPRequest(
          .get, address, headers: [.init("Accept", "application/json")],
          responseLimitBytes: ClientMetadata.limitBytes))
    } catch {
      guard error.reason == .networkFailure else { throw error }
      guard !error.isAboutTooLongAnswer else {
        throw .unfitDocument(document.clientID, "it is longer than 64 KiB", provider)
      }
      return
    }
    if let fault = ClientMetadata.fault(of: response, at: document.clientID, redirect: redirect) {
      throw .unfitDocument(document.clientID, fault, provider)
    }
  }
}

extension Problem {
  /// The code of NSURLErrorDomain for an answer over the limit.
  fileprivate var isAboutTooLongAnswer: Bool { networkCode == -1103 }

  fileprivate static func unfitDocument(
    _ address: String, _ why: String, _ provider: Provider
  ) -> Problem {
    Problem(
      .authenticatorUnconfigured,
      """
      The client metadata document \(presentable(address)) cannot be used, because \(why).
      """, advice: .publishMetadata, detail: "clientMetadata", provider: provider.id)
  }
}
