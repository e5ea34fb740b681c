internal import Einlass
internal import EinlassJSON

// The conversions between domain types and the wire; those of prompts are in `PromptTypes.swift`.

extension Account {
  /// The provider's last answer, with a word for a refresh that it has refused.
  fileprivate var wireHealth: String {
    health == .ok && hasRefusedRefresh ? Self.refreshRefused : health.rawValue
  }

  static let refreshRefused = "refreshRefused"
}

extension JSONValue {
  /// Makes the `Account` of the protocol for this application.
  init(_ account: Account, for application: String) {
    self = .object(
      JSONObject(present: [
        "account": .string(account.id.rawValue),
        "provider": .string(account.provider),
        "username": .string(account.username),
        "displayName": account.displayName.map(JSONValue.string),
        "subject": account.subject.map(JSONValue.string),
        "email": account.email.map(JSONValue.string),
        "avatar": account.avatar.map(JSONValue.string),
        "health": .string(account.wireHealth),
        "refreshFailsSince": account.refreshFailsSince.map { JSONValue($0) },
        "refreshExpiresAt": account.refreshExpiresAt.map { JSONValue($0) },
        "signedIn": .bool(account.isSignedIn),
        "preferred": .bool(account.preferredBy.contains { sameBytes($0, application) }),
        "scopes": account.scopes.isEmpty ? nil : JSONValue(account.scopes),
        "resources": account.resources.isEmpty ? nil : JSONValue(account.resources),
        "addedAt": JSONValue(account.addedAt),
      ]))
  }

  /// Makes the provider of `providers.list`.
  init(
    _ provider: Provider, isConfigured: Bool, problem: Problem?, registeredFlows: [FlowKind],
    isAdded: Bool
  ) {
    var object: JSONObject = [
      "id": .string(provider.id), "name": .string(provider.name),
      "flowKinds": JSONValue(provider.flowKinds.map(\.rawValue)),
      "configured": .bool(isConfigured), "oneAccount": .bool(provider.hasOneAccount),
      "retired": .bool(provider.isRetired),
      "can": [
        "reverseAuth": .bool(provider.can.reverseAuth), "refresh": .bool(provider.can.refresh),
        "email": .bool(provider.can.email), "revoke": .bool(provider.can.revoke),
        "verify": .bool(provider.can.verify),
      ],
      "setup": .object(
        JSONObject(present: [
          "documentation": .string(provider.setup.documentation),
          "needs": JSONValue(provider.registrationNeeds.map(\.rawValue)),
          "verifyNeeds": provider.verificationNeeds.map { JSONValue($0.map(\.rawValue)) },
          "form": provider.setup.form.map(JSONValue.string),
          "steps": provider.setup.steps.isEmpty ? nil : JSONValue(provider.setup.steps),
          "redirect": provider.setup.redirect.map(JSONValue.string),
          "costs": provider.setup.costs.map(JSONValue.string),
          "approval": provider.setup.approval.map(JSONValue.string),
          "ends": provider.setup.ends.map(JSONValue.string),
          "notes": provider.setup.notes.map(JSONValue.string),
        ])),
    ]
    object["homepage"] = provider.homepage.map(JSONValue.string)
    object["server"] = provider.serverText.map(JSONValue.string)
    if !provider.aliases.isEmpty { object["aliases"] = JSONValue(provider.aliases) }
    if !provider.hosts.isEmpty { object["hosts"] = .array(provider.hosts.map(JSONValue.init)) }
    if !provider.scopeNames.lists.isEmpty {
      object["scopeNames"] = .object(
        JSONObject(provider.scopeNames.lists.map { ($0.name, JSONValue($0.scopes)) }))
    }
    if !provider.scopeContents.scopes.isEmpty {
      object["scopeContents"] = .object(
        JSONObject(
          provider.scopeContents.scopes.map { ($0.scope, JSONValue($0.contained)) }))
    }
    if !registeredFlows.isEmpty {
      object["registeredFlows"] = JSONValue(registeredFlows.map(\.rawValue))
    }
    object["problem"] = problem.map(problemObject)
    if isAdded { object["added"] = true }
    self = .object(object)
  }

  /// Makes an element of a provider's `hosts`.
  private init(_ host: ServedHost) {
    self = .object(
      JSONObject(present: [
        "host": .string(host.name), "username": host.username.map(JSONValue.string),
        "scheme": .string(host.scheme.rawValue),
      ]))
  }

  /// Makes the grant of `access.list`.
  init(_ grant: AccessGrant) {
    self = .object(
      JSONObject(present: [
        "application": .string(grant.application),
        "provider": .string(grant.provider),
        "state": .string(grant.state.rawValue),
        "accounts": grant.accounts.map { JSONValue($0.map(\.rawValue)) },
        "permissions": JSONValue(grant.permissions),
        "audience": grant.audience.map { .string($0.rawValue) },
        "includes": grant.includes.isEmpty ? nil : JSONValue(grant.includes.map(\.rawValue)),
        "applicationTitle": grant.title.map(JSONValue.string),
        "changedAt": JSONValue(grant.changedAt),
      ]))
  }

  /// Makes the credential of a flow, with its secrets, because it was issued to the application's
  /// own registration. The refresh token is included only on request.
  init(_ credential: Credential, of identity: Identity?, includesRefreshToken: Bool) {
    let name = identity?.name.map(JSONValue.string)
    let id = identity.map { JSONValue.string($0.id) }
    let email = identity?.email.map(JSONValue.string)
    let avatar = identity?.avatar.map(JSONValue.string)
    switch credential {
    case .oauth1(let credential):
      self = .object(
        JSONObject(present: [
          "type": "oauth1", "id": id, "name": name,
          "screenName": identity?.username.map(JSONValue.string),
          "key": JSONValue(revealing: credential.token),
          "secret": JSONValue(revealing: credential.tokenSecret),
          "email": email, "avatar": avatar,
        ]))
    case .oauth2(let credential):
      let origin = credential.idTokenOrigin
      self = .object(
        JSONObject(present: [
          "type": "oauth2", "id": id, "name": name,
          "token": JSONValue(revealing: credential.accessToken),
          "tokenType": .string(credential.tokenType),
          "scopes": JSONValue(credential.scopes),
          "expiresAt": credential.expiresAt.map { JSONValue($0) },
          "idToken": credential.idToken.map(JSONValue.init(revealing:)),
          "idTokenOf": origin.map { .string($0.accessToken.rawValue) },
          "idTokenExpiresAt": origin?.expiresAt.map { JSONValue($0) },
          "refreshToken": includesRefreshToken
            ? credential.refreshToken.map(JSONValue.init(revealing:)) : nil,
          "email": email, "avatar": avatar,
        ]))
    case .session(let session):
      self = .object(
        JSONObject(present: [
          "type": "session", "id": id,
          "sessionId": session.id.isEmpty ? nil : JSONValue(revealing: session.id),
          "username": .string(session.username),
          "values": .object(JSONObject(session.values.map { ($0.name, .string($0.value)) })),
          "cookies": session.cookies.map(JSONValue.init(revealing:)),
        ]))
    }
  }

  private init(revealing secret: Secret) {
    self = .string(String(decoding: secret.reveal(), as: UTF8.self))
  }

  /// Makes the identity in the result of `verify`.
  init(_ identity: Identity) {
    self = .object(
      JSONObject(present: [
        "id": .string(identity.id),
        "name": identity.name.map(JSONValue.string),
        "username": identity.username.map(JSONValue.string),
        "email": identity.email.map(JSONValue.string),
        "avatar": identity.avatar.map(JSONValue.string),
      ]))
  }
}

extension Prompt {
  /// The size of the accounts of a prompt in bytes, with their choices. The rest of a line is left
  /// for waiters, permissions and the envelope.
  private static let accountsLimitBytes = 44 * 1024

  /// Returns the prompt with as many accounts as fit.
  func fitted(for application: String) -> Prompt {
    switch self {
    case .selectAccount(let accounts, let more):
      let fitting = Self.fitting(accounts, for: application)
      return .selectAccount(fitting, more: more || fitting.count < accounts.count)
    case .replaceAccount(let accounts, let more):
      let fitting = Self.fitting(accounts, for: application)
      return .replaceAccount(fitting, more: more || fitting.count < accounts.count)
    default: return self
    }
  }

  private static func fitting(_ accounts: [Account], for application: String) -> [Account] {
    var size = 0
    return Array(
      accounts.prefix { account in
        let isFirst = size == 0
        size += JSONValue(account, for: application).bytes().count
        size += JSONValue.object(PromptForm.Choice(account).json(in: .english)).bytes().count + 2
        return isFirst || size <= accountsLimitBytes
      })
  }
}

extension ClientRegistration {
  /// Reads `{clientId, clientSecret?, redirect?, privateKey?, authentication?, keyId?}` and the
  /// properties of a registration, already validated.
  init?(_ json: JSONValue?) {
    guard let clientID = json?["clientId"]?.string else { return nil }
    self.init(
      clientID: clientID, clientSecret: json?["clientSecret"]?.string.map { Secret($0) },
      redirect: json?["redirect"]?.string,
      privateKey: json?["privateKey"]?.string.map { Secret($0) },
      authentication: json?["authentication"]?.string, keyID: json?["keyId"]?.string)
    readProperties(of: json)
  }
}

extension Credential {
  /// Reads a credential of `accounts.add` or `verify`, already validated.
  init?(_ json: JSONValue?) {
    switch json?["type"]?.string {
    case "oauth1":
      guard let key = json?["key"]?.string, let secret = json?["secret"]?.string else { return nil }
      self = .oauth1(OAuth1Credential(token: Secret(key), tokenSecret: Secret(secret)))
    case "oauth2":
      guard let token = json?["token"]?.string else { return nil }
      self = .oauth2(
        OAuth2Credential(
          accessToken: Secret(token),
          tokenType: json?["tokenType"]?.string?.lowercased() == "dpop" ? "DPoP" : "Bearer",
          scopes: json?["scopes"]?.strings ?? [],
          expiresAt: json?["expiresAt"]?.int64,
          refreshToken: json?["refreshToken"]?.string.map { Secret($0) }))
    default: return nil
    }
  }
}

extension JSONValue {
  /// The strings of a list of strings.
  var strings: [String]? { array?.compactMap(\.string) }
}
