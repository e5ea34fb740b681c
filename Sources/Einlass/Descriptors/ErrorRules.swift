internal import EinlassJSON

/// The interpretation of a provider's refusals: the shapes of its errors, and rules. The first
/// matching rule counts.
///
///     "errors": {"shapes": [{"code": "/error/code", "subcode": "/error/subcode",
///                            "type": "/error/type", "text": "/error/message"}],
///                "rules": [{"step": "renew", "status": 401, "codes": ["expired"],
///                           "outcome": "relogin"}],
///                "limitResetHeader": "x-rate-limit-reset", "readsBodyFirst": true}
///
/// A flow with a token endpoint has the shapes and rules of RFC 6749 after these. With
/// `readsBodyFirst` an answer that is no JSON object is a failure of any status.
struct ErrorRules: Sendable, Equatable {
  /// Whether an answer that is no JSON object is a failure, regardless of its status.
  var readsBodyFirst: Bool
  /// The header with the end of a rate limit, in seconds since 1970.
  var limitResetHeader: String?
  var shapes: [ErrorShape]
  var rules: [ErrorRule]

  /// - Parameter isStandard: Adds the refusals of RFC 6749. The descriptor's own rules come first.
  init(
    _ name: String, in reader: DescriptorReader, isStandard: Bool
  ) throws(DescriptorReader.Fault) {
    guard reader.has(name) || !isStandard else {
      self = Self.standard
      return
    }
    let reader = try reader.object(
      name, members: ["readsBodyFirst", "limitResetHeader", "shapes", "rules"])
    readsBodyFirst = try reader.bool("readsBodyFirst", default: false)
    limitResetHeader = try reader.optional("limitResetHeader", reader.string)
    shapes = []
    for shape in try reader.list("shapes") {
      shapes.append(try ErrorShape(shape.value, at: shape.pointer, provider: reader.provider))
    }
    rules = []
    for rule in try reader.list("rules") {
      rules.append(try ErrorRule(rule.value, at: rule.pointer, provider: reader.provider))
    }
    if isStandard {
      shapes += Self.standard.shapes
      rules += Self.standard.rules
    }
  }

  private init(readsBodyFirst: Bool, shapes: [ErrorShape], rules: [ErrorRule]) {
    self.readsBodyFirst = readsBodyFirst
    self.shapes = shapes
    self.rules = rules
  }

  /// The refusals of a token endpoint. RFC 6749 section 5.2, RFC 6750 section 3.1.
  private static let standard = ErrorRules(
    readsBodyFirst: false,
    shapes: [
      ErrorShape(.json(code: "/error", subcode: nil, type: nil, text: "/error_description")),
      ErrorShape(.json(code: "/error", subcode: nil, type: nil, text: nil)),
    ] + ErrorShape.usual,
    rules: [
      ErrorRule(
        .relogin, step: .renew,
        codes: [
          "invalid_grant",
          // Only the person can go on. OpenID Connect Core 1.0 section 3.1.2.6.
          "interaction_required", "login_required", "consent_required",
          "account_selection_required",
        ]),
      ErrorRule(.misconfigured, codes: ["invalid_client", "unauthorized_client"]),
      ErrorRule(.retryLater, codes: ["temporarily_unavailable", "server_error"]),
    ])

  /// Returns the first rule for this answer, without remedies that were already tried.
  func rule(
    for response: HTTPResponse, _ errorText: ProviderErrorText?, at step: Step,
    remaining: Set<Remedy>
  ) -> ErrorRule? {
    rules.first { rule in
      rule.matches(response, errorText, at: step)
        && rule.outcome.remedy.map(remaining.contains) ?? true
    }
  }
}

/// The requests of flows and recipes, by their names in rules.
enum Step: String, Sendable, CaseIterable {
  case requestToken, accessToken, applicationToken, deviceAuthorization, deviceToken, token, renew
  case tokenInfo, keySet, identity, revoke, pushedAuthorization, assertion
  /// The login at a server of the person's own, the request for its token against forged requests,
  /// and the check of its session.
  case login, antiForgery, sessionCheck
}

/// A remedy for a refusal, tried at most once per flow.
enum Remedy: Sendable {
  /// Forget the grant and start again.
  case regrant
  /// Get a fresh token.
  case renew
}

/// A rule: conditions, all of which must be met, and an outcome.
///
///     {"step": "deviceToken", "status": 400, "codes": ["slow"], "subcodes": [7],
///      "bodyOverBytes": 3000, "outcome": "slowDown", "advice": "checkClock",
///      "suggestsRelogin": true}
///
/// `step` is the request: `requestToken`, `accessToken`, `applicationToken`, `deviceAuthorization`,
/// `deviceToken`, `token`, `renew`, `tokenInfo`, `keySet`, `identity`, `revoke`,
/// `pushedAuthorization`, `assertion`, `login`, `antiForgery` or `sessionCheck`. `status` is a number
/// or `2xx`. `outcome` is `regrant` or `renew`, a remedy to try; `relogin`, `banned`, `locked`,
/// `throttled`, `retryLater`, `refused`, `misconfigured` or `failed`; `wrongCredentials` of a login;
/// `pending`, `slowDown`, `denied` or `expired` of a device code. `advice` is `checkClock`,
/// `unlockOnWeb` or `changeSettings`. With `suggestsRelogin` the person is told to sign in again.
struct ErrorRule: Sendable, Equatable {
  /// The consequence of a refusal.
  enum Outcome: String, Sendable, CaseIterable {
    case regrant, renew
    /// The provider has suspended the account.
    case banned
    /// The account works again after the person has visited the provider's page.
    case locked
    /// The account's own credential is dead, as with `invalid_grant`.
    case relogin
    /// Too many requests.
    case throttled
    /// The provider fails temporarily.
    case retryLater
    /// The provider does not accept the application.
    case refused
    /// The provider knows the application with a different client id or secret.
    case misconfigured
    /// The user name or the password is wrong; only for the step login.
    case wrongCredentials
    /// A state of a device code; only for the step deviceToken.
    case pending, slowDown, denied, expired
    /// No specific consequence.
    case failed

    var deviceState: DeviceState? {
      switch self {
      case .pending: .pending
      case .slowDown: .slowDown
      case .denied: .denied
      case .expired: .expired
      default: nil
      }
    }

    /// Whether the outcome says no more than a status of 500 to 599: that a later request may
    /// succeed.
    var isPassing: Bool { [.throttled, .retryLater, .pending, .slowDown].contains(self) }

    var remedy: Remedy? {
      switch self {
      case .regrant: .regrant
      case .renew: .renew
      default: nil
      }
    }
  }

  /// A next step that a rule may name.
  private enum Advice: String, CaseIterable {
    case checkClock, unlockOnWeb, changeSettings

    var step: Problem.Advice {
      switch self {
      case .checkClock: .checkClock
      case .unlockOnWeb: .unlockOnWeb
      case .changeSettings: .changeSettings
      }
    }
  }

  /// The matching statuses. Without the word: all outside 200…299, and refusals of any status; those
  /// from 500 on only for an outcome that passes, because a server that fails knows nothing of a
  /// credential.
  enum Status: Sendable, Equatable {
    case exactly(Int)
    case success
    case unsuccessful
  }

  var step: Step?
  var status: Status
  /// `"190"` matches the number 190 too, but `190` does not match the text.
  var codes: [JSONValue]
  var subcodes: [JSONValue]
  /// Matches a body with more bytes.
  var bodyOverBytes: Int?
  var outcome: Outcome
  var advice: Problem.Advice?
  /// Whether the person should sign in again, although the credential may be good.
  var suggestsRelogin: Bool
  /// Whether the rule is of RFC 6749, and not the provider's own.
  private var isStandard = false

  /// A rule for refusals with these codes.
  fileprivate init(_ outcome: Outcome, step: Step? = nil, codes: [JSONValue]) {
    (self.outcome, self.step, self.codes) = (outcome, step, codes)
    (status, subcodes, suggestsRelogin) = (.unsuccessful, [], false)
    isStandard = true
  }

  init(_ value: JSONValue, at pointer: String, provider: String?) throws(DescriptorReader.Fault) {
    let reader = try DescriptorReader(
      value, at: pointer, provider: provider,
      members: [
        "step", "status", "codes", "subcodes", "bodyOverBytes", "outcome", "advice",
        "suggestsRelogin",
      ])
    step = try reader.optional("step") { name throws(DescriptorReader.Fault) in
      try reader.word(name, Step.self)
    }
    status = try Self.status("status", in: reader)
    codes = try Self.codes("codes", in: reader)
    subcodes = try Self.codes("subcodes", in: reader)
    bodyOverBytes = try reader.optional("bodyOverBytes") { name throws(DescriptorReader.Fault) in
      guard let count = try reader.value(name).int64, let count = Int(exactly: count), count > 0
      else { throw reader.fault(name, "Expected a number of bytes.") }
      return count
    }
    outcome = try reader.word("outcome", Outcome.self)
    advice = try reader.optional("advice") { name throws(DescriptorReader.Fault) in
      try reader.word(name, Advice.self).step
    }
    suggestsRelogin = try reader.bool("suggestsRelogin", default: false)
    guard outcome.deviceState == nil || step == .deviceToken else {
      throw reader.fault("outcome", "This outcome needs the step deviceToken.")
    }
    guard outcome != .wrongCredentials || step == .login else {
      throw reader.fault("outcome", "This outcome needs the step login.")
    }
    guard status != .success || bodyOverBytes != nil || !codes.isEmpty else {
      throw reader.fault("status", "A rule for successes needs bodyOverBytes or codes.")
    }
  }

  /// Whether every condition of the rule is met.
  func matches(_ response: HTTPResponse, _ errorText: ProviderErrorText?, at step: Step) -> Bool {
    let isStatus =
      switch status {
      case .exactly(let status): response.status == status
      case .success: response.isSuccess
      case .unsuccessful:
        (!response.isSuccess || errorText?.isRefusal == true)
          && (response.status < 500 || outcome.isPassing)
      }
    let code = isStandard || errorText?.isUsual != true ? errorText?.code : nil
    return isStatus && (self.step ?? step) == step
      && Self.matches(code, codes) && Self.matches(errorText?.subcode, subcodes)
      && (bodyOverBytes.map { response.body.count > $0 } ?? true)
  }

  private static func status(
    _ name: String, in reader: DescriptorReader
  ) throws(DescriptorReader.Fault) -> Status {
    guard reader.has(name) else { return .unsuccessful }
    switch try reader.value(name) {
    case "2xx": return .success
    case let value:
      guard let status = value.int64, (100...599).contains(status) else {
        throw reader.fault(name, "Expected a status or \"2xx\".")
      }
      return .exactly(Int(status))
    }
  }

  private static func codes(
    _ name: String, in reader: DescriptorReader
  ) throws(DescriptorReader.Fault) -> [JSONValue] {
    guard reader.has(name) else { return [] }
    let codes = try reader.list(name).map(\.value)
    guard !codes.isEmpty, codes.allSatisfy({ $0.int64 != nil || $0.string != nil }) else {
      throw reader.fault(name, "Expected whole numbers or texts.")
    }
    return codes
  }

  private static func matches(_ code: JSONValue?, _ codes: [JSONValue]) -> Bool {
    guard !codes.isEmpty else { return true }
    guard let code else { return false }
    return codes.contains(code) || code.int64.map { codes.contains(.string("\($0)")) } == true
  }
}
