import EinlassCrypto
import EinlassJSON

/// The checks of a signed request (RFC 5849 section 3.2).
struct OAuth1Check {
  /// The provider of the applications and tokens.
  let provider: String
  /// The greatest accepted difference of a timestamp.
  var windowSeconds: Int64 = 300

  /// The application and the token of a valid signature.
  struct Signer: Sendable {
    /// The consumer key of a registered application that is not revoked.
    var application: String
    /// A valid token of that application, if the request has one.
    var token: String?
    /// The user of the token.
    var user: String?
    /// All signed parameters: of the header, the query and the form.
    var parameters: [Parameter] = []
  }

  /// The kind of token that a request needs.
  enum TokenRule: Sendable {
    case forbidden
    case required
    /// A temporary token of the three-legged flow.
    case request
  }

  /// The reason for a refusal. Each provider reports it in its own format.
  enum Refusal: Error, Equatable {
    case noAuthorization
    case malformed(String)
    case timestamp
    case unknownApplication
    case revokedApplication
    case tokenMissing
    case tokenNotAllowed
    case tokenInvalid(String)
    case nonceUsed
    case signature
  }

  /// Checks a request, stores its nonce, and records the checks in the world.
  func check(_ request: Request, token rule: TokenRule, in world: inout World) throws(Refusal)
    -> Signer
  {
    let (oauth, all) = try parameters(of: request)
    world.note("parameters", true)
    let method = try self.method(oauth)
    try checkTime(oauth, in: &world)
    let key = oauth["oauth_consumer_key"] ?? ""
    let application = try application(key, in: &world)
    var signer = Signer(application: key, parameters: all)
    var tokenSecret = ""
    switch (rule, oauth["oauth_token"]) {
    case (.forbidden, nil): break
    case (.forbidden, _?): throw .tokenNotAllowed
    case (_, nil): throw .tokenMissing
    case (_, let token?):
      let record = try self.token(
        token, among: rule == .request ? "requests" : "tokens", of: key, in: &world)
      tokenSecret = record["secret"]?.string ?? ""
      signer.token = token
      signer.user = record["user"]?.string
    }
    let base = OAuth1Signature.baseString(
      method: request.method,
      uri: OAuth1Signature.baseURI(host: request.header("Host") ?? "", path: request.path),
      parameters: all.filter { !sameBytes($0.name, "oauth_signature") })
    let expected = OAuth1Signature.sign(
      base, with: method, consumerSecret: application["secret"]?.string ?? "",
      tokenSecret: tokenSecret)
    let isSigned = constantTimeEqual(
      Array(expected.utf8), Array((oauth["oauth_signature"] ?? "").utf8))
    world.note("signature", isSigned, isSigned ? nil : "expected \(expected) over \(base)")
    guard isSigned else { throw .signature }
    try useNonce(oauth, of: signer, in: &world)
    return signer
  }

  /// Returns the header's parameters, and all signed ones.
  private func parameters(of request: Request) throws(Refusal) -> ([Parameter], [Parameter]) {
    guard let header = request.authorization("OAuth") else { throw .noAuthorization }
    guard let inHeader = OAuth1Header.parameters(header) else {
      throw .malformed("the Authorization header")
    }
    guard let query = request.query else { throw .malformed("the query") }
    guard let form = request.form else { throw .malformed("the form") }
    let oauth = inHeader.filter { !sameBytes($0.name, "realm") }
    if let name = oauth.duplicate() { throw .malformed("\(name) occurs twice") }
    if let stray = (query + form).first(where: { $0.name.hasPrefix("oauth_") }) {
      // RFC 5849 section 3.5 allows a parameter in one place only.
      guard sameBytes(stray.name, "oauth_callback") || sameBytes(stray.name, "oauth_verifier"),
        oauth[stray.name] == nil
      else { throw .malformed("\(stray.name) outside the header") }
    }
    for name in ["consumer_key", "nonce", "signature", "signature_method", "timestamp"] {
      guard let value = oauth["oauth_\(name)"], !value.isEmpty else {
        throw .malformed("oauth_\(name) is missing")
      }
    }
    if let version = oauth["oauth_version"], !sameBytes(version, "1.0") {
      throw .malformed("oauth_version is not 1.0")
    }
    return (oauth, oauth + query + form)
  }

  private func method(_ oauth: [Parameter]) throws(Refusal) -> OAuth1Signature.Method {
    guard let method = OAuth1Signature.Method(rawValue: oauth["oauth_signature_method"] ?? "")
    else { throw .malformed("oauth_signature_method is neither HMAC-SHA1 nor HMAC-SHA256") }
    return method
  }

  private func checkTime(_ oauth: [Parameter], in world: inout World) throws(Refusal) {
    let text = oauth["oauth_timestamp"] ?? ""
    guard let time = Int64(text), time > 0, sameBytes(String(time), text) else {
      throw .malformed("oauth_timestamp is not a number of seconds")
    }
    let (difference, overflow) = time.subtractingReportingOverflow(world.now)
    let isNow = !overflow && difference.magnitude <= UInt64(windowSeconds)
    world.note("timestamp", isNow, isNow ? nil : "\(time), here it is \(world.now)")
    guard isNow else { throw .timestamp }
  }

  private func application(_ key: String, in world: inout World) throws(Refusal) -> JSONValue {
    guard let record = world.state[at: provider, "applications", key] else {
      world.note("application", false, "\(key) is not registered")
      throw .unknownApplication
    }
    guard record["revoked"]?.bool != true else {
      world.note("application", false, "\(key) is revoked")
      throw .revokedApplication
    }
    world.note("application", true, key)
    return record
  }

  private func token(
    _ token: String, among collection: String, of application: String, in world: inout World
  ) throws(Refusal) -> JSONValue {
    let record = world.state[at: provider, collection, token]
    let flaw: String? =
      switch record {
      case nil: "unknown"
      case let record? where record["revoked"]?.bool == true: "revoked"
      case let record? where record["used"]?.bool == true: "used"
      case let record? where (record["expiresAt"]?.int64 ?? .max) <= world.now: "expired"
      case let record? where !sameBytes(record["application"]?.string ?? "", application):
        "of another application"
      default: nil
      }
    world.note("token", flaw == nil, flaw ?? token)
    guard let record, flaw == nil else { throw .tokenInvalid(flaw ?? "unknown") }
    return record
  }

  private func useNonce(
    _ oauth: [Parameter], of signer: Signer, in world: inout World
  ) throws(Refusal) {
    let time = Int64(oauth["oauth_timestamp"] ?? "") ?? 0
    let nonce = [
      signer.application, signer.token ?? "", String(time), oauth["oauth_nonce"] ?? "",
    ].map(PercentCoding.encode).joined(separator: "&")
    var nonces = world.state[at: provider, "nonces"]?.object ?? JSONObject()
    if case _? = nonces[nonce] {
      world.note("nonce", false, "used before")
      throw .nonceUsed
    }
    world.note("nonce", true)
    // A request with an older nonce would be refused because of its timestamp.
    let oldest = world.now - windowSeconds
    while let first = nonces.members.first, first.value.int64 ?? 0 < oldest {
      nonces[first.name] = nil
    }
    nonces[nonce] = JSONValue(time)
    world.state[at: provider, "nonces"] = .object(nonces)
  }
}
