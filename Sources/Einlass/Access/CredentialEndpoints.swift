internal import EinlassJSON

/// An endpoint that issues credentials or ends them.
private struct CredentialEndpoint {
  var address: WebAddress
  /// The segments of the path; an empty one stands for any.
  var segments: [String]
  /// Whether other methods than DELETE do something else there.
  var onlyDeletes = false

  init(_ address: WebAddress, path: String = "") {
    self.address = address
    segments = "\(address.path)\(path)".utf8
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
      .map { asciiLowercased(String(decoding: Array($0), as: UTF8.self)) }
    while segments.last?.isEmpty == true { segments.removeLast() }
  }

  init(_ request: RequestTemplate) {
    self.init(request.address, path: request.path?.filled(Template.Values()) ?? "")
    onlyDeletes = request.method == .delete
  }

  /// Whether this reading of a path is the endpoint's or below it.
  func isAbove(_ reading: [String]) -> Bool {
    guard !segments.isEmpty else { return reading.isEmpty }
    return reading.count >= segments.count
      && zip(segments, reading).allSatisfy { $0.isEmpty || sameBytes($0, $1) }
  }
}

extension Provider {
  /// Whether a request there asks for a credential or ends one. A program that may sign such a request
  /// could get a token of its own, or end the person's.
  func issuesCredentials(at address: WebAddress, by method: String) -> Bool {
    let readings = address.readings
    if readings.contains(where: { $0.contains(where: oauth1Folders.contains) }) { return true }
    return credentialEndpoints.contains { endpoint in
      sameBytes(endpoint.address.origin, address.origin)
        && (!endpoint.onlyDeletes || method == "DELETE")
        && readings.contains(where: endpoint.isAbove)
    }
  }

  /// The folders of OAuth 1.0a, at any host: a provider's hosts are mostly one server, and endpoints
  /// that end a token are in the same folder.
  private var oauth1Folders: [String] {
    flows.compactMap { flow in
      let access: RequestTemplate
      switch flow {
      case .oauth1(let words): access = words.accessToken
      case .reverseAuth(let words): access = words.accessToken
      default: return nil
      }
      return CredentialEndpoint(access).segments.dropLast().last
    }
  }

  /// The endpoints for authorization, tokens, devices, registration, revocation and introspection.
  private var credentialEndpoints: [CredentialEndpoint] {
    var requests = [revocation].compactMap(\.self)
    for flow in flows {
      requests += flow.requests + [specialized(for: flow).revocation].compactMap(\.self)
      switch flow {
      case .authorizationCode(let words): requests.append(words.authorize)
      case .oauth1(let words): requests.append(words.authorize)
      case .reverseAuth, .systemToken, .deviceCode, .clientCredentials, .jwtBearer,
        .tokenExchange, .passwordSession:
        break
      }
    }
    if case .introspection(let request, _) = verification { requests.append(request) }
    let registration = [dynamicRegistration?.endpoint].compactMap(\.self)
    return requests.map { CredentialEndpoint($0) } + registration.map { CredentialEndpoint($0) }
  }
}

extension WebAddress {
  /// The segments of the path as servers may read them: as it is, decoded once, and decoded twice.
  fileprivate var readings: [[String]] {
    var bytes = Array(path.utf8)
    var readings: [[String]] = []
    for _ in 0..<3 {
      readings.append(Self.segments(of: bytes))
      bytes = Self.decoded(bytes)
    }
    return readings
  }

  private static func segments(of path: [UInt8]) -> [String] {
    var segments: [String] = []
    let parts = path.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    for part in parts {
      // Some servers cut a segment at a semicolon.
      let name = String(decoding: part.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
      switch name {
      case ".", "": break
      case "..": _ = segments.popLast()
      default: segments.append(asciiLowercased(name))
      }
    }
    return segments
  }

  private static func decoded(_ path: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = path[...]
    while let byte = rest.popFirst() {
      let digits = byte == UInt8(ascii: "%") ? rest.prefix(2).compactMap(hexDigitValue) : []
      bytes.append(digits.count == 2 ? digits[0] * 16 + digits[1] : byte)
      if digits.count == 2 { rest = rest.dropFirst(2) }
    }
    return bytes
  }
}
