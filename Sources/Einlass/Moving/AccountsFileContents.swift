internal import EinlassCrypto
public import EinlassJSON

/// An account with all its credentials, on its way from one store to another.
public struct PortableAccount: Sendable, Equatable {
  public var account: Account
  public var credentials: [StoredCredential]

  public init(account: Account, credentials: [StoredCredential]) {
    self.account = account
    self.credentials = credentials
  }
}

/// The plaintext of an accounts file: `{"accounts": [{provider, username, …, credentials: [{role,
/// type, …}]}], "registrations": [{provider, clientId, …}], "flowRegistrations": [{flow, …}],
/// "providers": [descriptor]}`. It holds the registrations because tokens are refreshed with them,
/// and the added providers because the catalogue of another machine lacks them. The registrations of
/// single flows have a member of their own, because an older einlass would take them for general.
///
/// Ids of accounts, grants and preferences are not exported. Users keep their ids. Each credential
/// keeps the origins that it may be sent to. An imported account proves no person until the next
/// sign-in, and no address is verified until then, because a program can write such a file.
public struct AccountsFileContents: Sendable {
  /// The descriptors of added providers, not validated.
  public let providers: [JSONValue]
  let entries: [Entry]
  /// The registrations that passed validation; others are dropped.
  let registrations: [StoredRegistration]
  /// The users that passed validation.
  let users: [PortableUser]
  /// The number of users that did not.
  let refusedUsers: Int

  /// Throws `accountStoreFailure`: `decryptFailed` for a wrong passphrase, `corrupt` for a damaged
  /// file or a plaintext that is no list of accounts.
  public init(_ file: AccountsFile, openedWith passphrase: Secret) throws(Problem) {
    guard let contents = Self(try file.open(with: passphrase)) else {
      throw .damagedAccountsFile(file.path)
    }
    self = contents
  }

  /// Returns `nil` for bytes that are no list of accounts.
  init?(_ bytes: [UInt8]) {
    guard let value = try? JSONReader.read(bytes), let accounts = value["accounts"]?.array else {
      return nil
    }
    entries = accounts.map(Entry.init)
    let general = (value["registrations"]?.array ?? [])
      .compactMap { StoredRegistration(portable: $0) }
    let ofFlows = (value["flowRegistrations"]?.array ?? []).compactMap { value in
      value["flow"]?.string.flatMap(FlowKind.init).flatMap {
        StoredRegistration(portable: value, of: $0)
      }
    }
    registrations = general + ofFlows
    let values = value["users"]?.array ?? []
    users = values.compactMap(PortableUser.init(portable:))
    refusedUsers = values.count - users.count
    providers = value["providers"]?.array ?? []
  }

  static func encode(
    _ accounts: [PortableAccount], _ registrations: [StoredRegistration] = [],
    _ providers: [JSONValue] = [], _ users: [PortableUser] = []
  ) -> [UInt8] {
    let values = accounts.map { portable in
      let account = portable.account
      return JSONValue.object(
        JSONObject(present: [
          "provider": .string(account.provider), "username": .string(account.username),
          "displayName": account.displayName.map(JSONValue.string),
          "subject": account.subject.map(JSONValue.string),
          "email": account.email.map(JSONValue.string),
          "avatar": account.avatar.map(JSONValue.string),
          "health": .string(account.health.rawValue), "addedAt": JSONValue(account.addedAt),
          "lastUsedAt": account.lastUsedAt.map { JSONValue($0) },
          "credentials": .array(portable.credentials.map(JSONValue.init(portable:))),
        ]))
    }
    return JSONValue.object([
      "accounts": .array(values),
      "registrations": .array(
        registrations.filter { $0.flow == nil }.map(JSONValue.init(portable:))),
      "flowRegistrations": .array(
        registrations.filter { $0.flow != nil }.map(JSONValue.init(portable:))),
      "providers": .array(providers),
      "users": .array(users.map(JSONValue.init(portable:))),
    ]).bytes()
  }

  /// One element of `accounts`.
  struct Entry: Sendable {
    /// Cleaned for display, even if the element is not valid.
    var provider: String
    var username: String
    /// `nil` if a member is unknown to this version or invalid. The account's id is empty.
    @Indirect var account: PortableAccount?

    fileprivate init(_ value: JSONValue) {
      provider = cleaned(value["provider"]?.string ?? "", limitBytes: 256)
      username = cleaned(value["username"]?.string ?? "", limitBytes: 256)
      account = PortableAccount(value)
    }
  }
}

extension PortableAccount {
  private static let credentialLimit = 64

  fileprivate init?(_ value: JSONValue) {
    guard let provider = value["provider"]?.string, isIdentifier(provider),
      let username = value["username"]?.string, isDisplayable(username),
      let health = value["health"]?.string.flatMap(Account.Health.init),
      let addedAt = value["addedAt"]?.int64, isTime(addedAt),
      let values = value["credentials"]?.array, values.count <= Self.credentialLimit
    else { return nil }
    credentials = values.compactMap(StoredCredential.init(portable:))
    account = Account(
      id: Account.ID(rawValue: ""), provider: provider, username: username,
      displayName: value["displayName"]?.string, subject: value["subject"]?.string,
      email: value["email"]?.string, avatar: value["avatar"]?.string, health: health,
      isSignedIn: !credentials.isEmpty, addedAt: addedAt, lastUsedAt: value["lastUsedAt"]?.int64)
    let texts = [account.displayName, account.subject, account.email]
    let places = Set(credentials.map(\.place))
    guard credentials.count == values.count, places.count == credentials.count,
      texts.allSatisfy({ $0.map(isDisplayable) ?? true }),
      account.avatar.map({ isDisplayable($0, limitBytes: 8192) }) ?? true,
      account.lastUsedAt.map(isTime) ?? true
    else { return nil }
  }
}

extension StoredCredential {
  fileprivate init?(portable value: JSONValue) {
    guard let role = value["role"]?.string.flatMap(Role.init),
      let clientID = value["clientId"]?.string, isIdentifier(clientID),
      let flowKind = value["flowKind"]?.string.flatMap(FlowKind.init),
      let trust = ServerTrust(text: value["trust"]?.string),
      let origins = value["origins"]?.array?.map({ $0.string ?? "" }), isOrigins(origins, trust),
      let credential = Credential(portable: value)
    else { return nil }
    let clientSecret = value["clientSecret"]?.string.map { Secret($0) }
    self.init(
      role: role, registration: ClientRegistration(clientID: clientID, clientSecret: clientSecret),
      credential: credential,
      binding: ProviderBinding(
        origins: origins, clientID: clientID, flowKind: flowKind, trust: trust),
      resource: value["resource"]?.string,
      assertionSource: value["assertionSource"]?.string.flatMap(AssertionSource.init(text:)))
    guard resource.map(isDisplayable) ?? true else { return nil }
    guard (try? credential.requireSendable(clientSecret: clientSecret)) != nil else { return nil }
  }
}

extension StoredRegistration {
  fileprivate init?(portable value: JSONValue, of flow: FlowKind? = nil) {
    func text(_ name: String) -> String? { value[name]?.string }
    let expiresAt = value["expiresAt"]?.int64
    guard let provider = text("provider"), isIdentifier(provider),
      let clientID = text("clientId"), isIdentifier(clientID),
      let origins = value["origins"]?.array?.map({ $0.string ?? "" }), isOrigins(origins),
      [text("redirect"), text("authentication"), text("keyId")].allSatisfy({
        $0.map(isDisplayable) ?? true
      }),
      expiresAt.map(isTime) ?? true
    else { return nil }
    var registration = ClientRegistration(
      clientID: clientID, clientSecret: text("clientSecret").map { Secret($0) },
      redirect: text("redirect"), privateKey: text("privateKey").map { Secret($0) },
      authentication: text("authentication"), keyID: text("keyId"))
    registration.readProperties(of: value["properties"])
    self.init(
      provider: provider, flow: flow, registration: registration, origins: origins,
      isIssued: value["issued"]?.bool ?? false, expiresAt: expiresAt)
  }
}

extension Credential {
  fileprivate init?(portable value: JSONValue) {
    func secret(_ name: String) -> Secret? { value[name]?.string.map { Secret($0) } }
    switch value["type"]?.string {
    case "oauth1":
      guard let token = secret("key"), let tokenSecret = secret("secret") else { return nil }
      self = .oauth1(OAuth1Credential(token: token, tokenSecret: tokenSecret))
    case "oauth2":
      let scopes = (value["scopes"]?.array ?? []).map { $0.string ?? "" }
      let expiresAt = value["expiresAt"]?.int64
      let refreshExpiresAt = value["refreshExpiresAt"]?.int64
      let proofKey = value["proofKey"]?.string.flatMap(Base64URL.decode).map { Secret($0) }
      // A token bound to a proof key is useless without it.
      guard value["proofKey"] == nil || proofKey != nil else { return nil }
      guard let token = secret("token"), let tokenType = value["tokenType"]?.string,
        isDisplayable(tokenType), scopes.count <= 256, scopes.allSatisfy(isIdentifier),
        expiresAt.map(isTime) ?? true,
        refreshExpiresAt.map(isTime) ?? true
      else { return nil }
      var credential = OAuth2Credential(
        accessToken: token, tokenType: tokenType, scopes: scopes, expiresAt: expiresAt,
        refreshToken: secret("refreshToken"), idToken: secret("idToken"), proofKey: proofKey)
      credential.refreshExpiresAt = refreshExpiresAt
      credential.hasFormerIDToken = value["hasFormerIDToken"]?.bool ?? false
      self = .oauth2(credential)
    case "session":
      let values = value["values"]?.object?.members ?? []
      guard let username = value["username"]?.string, isIdentifier(username),
        values.allSatisfy({ $0.value.string != nil }),
        value["sessionId"] != nil || value["cookies"] != nil
      else { return nil }
      self = .session(
        SessionCredential(
          id: secret("sessionId") ?? Secret(""), username: username,
          values: values.map { Parameter($0.name, $0.value.string ?? "") },
          cookies: secret("cookies")))
    default: return nil
    }
  }
}

extension JSONValue {
  fileprivate init(portable stored: StoredCredential) {
    var object = JSONObject(present: [
      "role": .string(stored.role.rawValue), "clientId": .string(stored.binding.clientID),
      "clientSecret": stored.registration.clientSecret.map(JSONValue.init(sealing:)),
      "origins": JSONValue(stored.binding.origins),
      "flowKind": .string(stored.binding.flowKind.rawValue),
      "trust": stored.binding.trust.text.map(JSONValue.string),
      "resource": stored.resource.map(JSONValue.string),
      "assertionSource": stored.assertionSource.map { .string($0.text) },
    ])
    switch stored.credential {
    case .oauth1(let credential):
      object["type"] = "oauth1"
      object["key"] = JSONValue(sealing: credential.token)
      object["secret"] = JSONValue(sealing: credential.tokenSecret)
    case .oauth2(let credential):
      object["type"] = "oauth2"
      object["token"] = JSONValue(sealing: credential.accessToken)
      object["tokenType"] = .string(credential.tokenType)
      object["scopes"] = JSONValue(credential.scopes)
      object["expiresAt"] = credential.expiresAt.map { JSONValue($0) }
      object["refreshToken"] = credential.refreshToken.map(JSONValue.init(sealing:))
      object["refreshExpiresAt"] = credential.refreshExpiresAt.map { JSONValue($0) }
      object["idToken"] = credential.idToken.map(JSONValue.init(sealing:))
      if credential.hasFormerIDToken { object["hasFormerIDToken"] = true }
      object["proofKey"] = credential.proofKey.map {
        .string(Base64URL.encode(revealedBytes($0)))
      }
    case .session(let session):
      object["type"] = "session"
      object["sessionId"] = session.id.isEmpty ? nil : JSONValue(sealing: session.id)
      object["username"] = .string(session.username)
      object["values"] =
        session.values.isEmpty
        ? nil : .object(JSONObject(session.values.map { ($0.name, .string($0.value)) }))
      object["cookies"] = session.cookies.map(JSONValue.init(sealing:))
    }
    self = .object(object)
  }

  fileprivate init(portable stored: StoredRegistration) {
    let registration = stored.registration
    self = .object(
      JSONObject(present: [
        "provider": .string(stored.provider),
        "flow": stored.flow.map { .string($0.rawValue) },
        "clientId": .string(registration.clientID),
        "clientSecret": registration.clientSecret.map(JSONValue.init(sealing:)),
        "redirect": registration.redirect.map(JSONValue.string),
        "privateKey": registration.privateKey.map(JSONValue.init(sealing:)),
        "authentication": registration.authentication.map(JSONValue.string),
        "keyId": registration.keyID.map(JSONValue.string),
        "properties": registration.properties.members.isEmpty
          ? nil : .object(registration.properties),
        "origins": JSONValue(stored.origins), "issued": .bool(stored.isIssued),
        "expiresAt": stored.expiresAt.map { JSONValue($0) },
      ]))
  }

  private init(sealing secret: Secret) { self = .string(revealedText(secret)) }
}

/// Whether a name or address is safe to display.
func isDisplayable(_ text: String) -> Bool { isDisplayable(text, limitBytes: 2048) }

/// Whether a text is safe to display and within the limit.
func isDisplayable(_ text: String, limitBytes: Int) -> Bool {
  (1...limitBytes).contains(text.utf8.count) && !text.unicodeScalars.contains(where: isControl)
}

func isTime(_ time: UnixTime) -> Bool { (0...253_402_300_799).contains(time) }

/// Whether these are origins that credentials may be sent to, or folders there.
private func isOrigins(_ texts: [String], _ trust: ServerTrust = ServerTrust()) -> Bool {
  (1...64).contains(texts.count)
    && texts.allSatisfy { text in
      guard let address = try? WebAddress.parse(text) else { return false }
      guard address.path.isEmpty else {
        guard let folder = try? ServiceAddress(text) else { return false }
        return !folder.isAmbiguous && sameBytes(folder.text, text)
      }
      return (address.isSafe || trust.allowsPlainHTTP) && sameBytes(address.origin, text)
    }
}
