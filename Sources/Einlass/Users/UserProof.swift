internal import EinlassCrypto
public import EinlassJSON

/// A person's proof to be somebody at a provider.
public enum UserProof: Sendable {
  /// An account of the store that the application may use. The application can name it without the
  /// person, so it is no recent sign-in.
  case account(Account.ID)
  /// The person of a sign-in for this request, with the provider's answer.
  case signedIn(ProvenIdentity, profile: JSONObject?)
  /// A credential from outside, with the registration of the application that it must be issued to. An
  /// id_token tells the time of the person's sign-in; another credential is no recent one, because the
  /// application may have kept it.
  case credential(VerifyRequest)
  /// A pending credential of `accountExistsWithDifferentCredential` or `credentialAlreadyInUse`.
  case pending(String)
}

extension Einlass {
  /// Returns the person of a proof, and the provider's answer about the person; `nil` for a pending
  /// credential, which is read in the transaction that uses it.
  func person(
    of proof: UserProof, for application: String
  ) async throws(Problem) -> (ProvenIdentity, profile: JSONObject?)? {
    switch proof {
    case .pending: return nil
    case .account(let id):
      let account = try store.account(id)
      try requireAccess(of: application, to: account.provider, account: account.id)
      return (try person(of: account), nil)
    case .signedIn(let person, let profile): return (person, profile)
    case .credential(let request):
      return try await person(of: request)
    }
  }

  /// Throws `accessNotGranted` without a grant. `account` is `nil` for an account that is not known
  /// yet.
  public func requireAccess(
    of application: String, to provider: String, account: Account.ID?
  ) throws(Problem) {
    let provider = try catalog.provider(provider)
    let grant = try store.read { reader throws(Problem) in
      try reader.grant(to: application, for: provider)
    }
    let allowsAll = grant?.state == .granted && grant?.accounts == nil
    let isAllowed = account.map { grant?.allows($0) ?? false } ?? allowsAll
    guard isAllowed else {
      throw .accessMissing(provider, for: application, to: account, within: grant)
    }
  }

  /// The provider itself must have named the person, because a front end can add an account under any
  /// name. It must be a provider of the catalogue with the same description, because a front end can
  /// replace an added one by its own for the time of a sign-in.
  private func person(of account: Account) throws(Problem) -> ProvenIdentity {
    let provider = try provider(of: account)
    guard account.isSignedIn, account.health != .reloginNeeded else {
      throw .reloginNeeded(provider, account)
    }
    guard account.health == .ok else { throw .unusable(provider, account) }
    guard let subject = account.subject, account.isReported, catalog.holdsItself(provider.id) else {
      throw .unreported(provider, account)
    }
    guard account.reportedBy == catalog.reporter(provider) else {
      throw .otherDescription(provider, account)
    }
    guard try store.credentials(account.id).allSatisfy(provider.isBound) else {
      throw .bindingMismatch(provider, account)
    }
    var identity = Identity(
      id: subject, name: account.displayName, username: account.username, email: account.email,
      avatar: account.avatar)
    identity.isEmailVerified = account.isEmailVerified
    var person = catalog.person(identity, at: provider)
    person.account = account.id
    return person
  }

  /// Asks the provider about the credential. Throws `invalidCredential` unless the provider says, or
  /// a signature shows, that it was issued to the caller. Otherwise every program with a token of the
  /// person could sign in as the person.
  private func person(
    of request: VerifyRequest
  ) async throws(Problem) -> (ProvenIdentity, profile: JSONObject?) {
    let provider = try catalog.provider(request.provider)
    var check = try CredentialCheck(request, in: self)
    // A stored token vouches for nothing here, because a front end can have added it.
    check.stored = { _ in nil }
    let verification: Verification
    do throws(Problem) { verification = try await check.run() } catch {
      let isUnknown = error.detail == Problem.applicationUnknownDetail
      throw isUnknown ? Problem.unknownApplication(provider) : error
    }
    if let failed = verification.checks.first(where: { !$0.isOK && $0.check != .application }) {
      throw .invalidCredential(provider, failed)
    }
    guard let clientID = verification.clientID else { throw .unknownApplication(provider) }
    guard verification.isValid, sameBytes(clientID, check.registration.clientID) else {
      throw .otherApplication(provider)
    }
    guard let identity = verification.identity, !identity.id.isEmpty else {
      throw .unidentified(provider)
    }
    var person = catalog.person(identity, at: provider)
    // The provider's clock may be ahead, by as much as an id_token may.
    let now = effects.now()
    person.provenAt = verification.signedInAt.flatMap { $0 > now + 60 ? nil : min($0, now) }
    return (person, identity.profile)
  }
}

extension ProviderCatalog {
  /// Returns the person that a provider names. A provider that a front end has added is not believed
  /// about addresses, because its word would let its users into the users of other providers.
  func person(_ identity: Identity, at provider: Provider) -> ProvenIdentity {
    var person = ProvenIdentity(
      place: User.Place(provider.id, identity.id), email: identity.email,
      isEmailVerified: identity.isEmailVerified && holdsItself(provider.id),
      displayName: identity.name, username: identity.username, photo: identity.avatar)
    person.providerDigest = isBuiltIn(provider) ? "" : provider.identityDigest
    return person
  }

  /// Returns the number of a provider's description, as far as it decides whose id and address an answer
  /// has: 1 for a provider of einlass's own catalogue at its own addresses, else 62 bits of a digest.
  func reporter(_ provider: Provider) -> Int64 {
    guard !isBuiltIn(provider) else { return 1 }
    let addresses = provider.flows.compactMap { provider.specialized(for: $0).identity }
      .map { "\($0.pointers[.email] ?? "") \($0.emailVerified ?? "")" }
    let text = ([provider.identityDigest] + Set(addresses).sorted()).joined(separator: "\n")
    let bits = Digest.sha256(Array(text.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return max(2, Int64(bits >> 2))
  }
}

// MARK: - Pending credentials

extension ProvenIdentity {
  /// The time in seconds in which a pending credential can be used.
  static let pendingSeconds: Int64 = 600

  /// The digest under which a pending credential is kept, so that the store does not hold its text.
  static func digest(ofPending text: String) -> [UInt8] { Digest.sha256(Array(text.utf8)) }

  /// The contents of a pending credential: a JSON object.
  var packed: Secret {
    Secret(
      JSONValue.object(
        JSONObject(present: [
          "provider": .string(place.provider), "subject": .string(place.subject),
          "email": email.map(JSONValue.string), "emailVerified": .bool(isEmailVerified),
          "displayName": displayName.map(JSONValue.string),
          "username": username.map(JSONValue.string), "photo": photo.map(JSONValue.string),
          "account": account.map { .string($0.rawValue) },
          "providerDigest": .string(providerDigest),
          "provenAt": provenAt.map { JSONValue($0) },
        ])
      ).bytes())
  }

  init?(packed: Secret) {
    guard let json = try? JSONReader.read(revealedBytes(packed)),
      let provider = json["provider"]?.string, let subject = json["subject"]?.string
    else { return nil }
    self.init(
      place: User.Place(provider, subject), email: json["email"]?.string,
      isEmailVerified: json["emailVerified"]?.bool ?? false,
      displayName: json["displayName"]?.string, username: json["username"]?.string,
      photo: json["photo"]?.string,
      account: json["account"]?.string.map(Account.ID.init(rawValue:)))
    providerDigest = json["providerDigest"]?.string ?? ""
    provenAt = json["provenAt"]?.int64
  }
}

extension Problem {
  fileprivate static func invalidCredential(
    _ provider: Provider, _ finding: Verification.Finding
  ) -> Problem {
    let reason = finding.detail ?? "the check \(finding.check.rawValue) failed."
    return Problem(
      .invalidCredential,
      "The credential of \(provider.name) is not valid: \(reason)\(reason.hasSuffix(".") ? "" : ".")",
      detail: finding.check.rawValue, provider: provider.id)
  }

  fileprivate static func unknownApplication(_ provider: Provider) -> Problem {
    Problem(
      .invalidCredential,
      "\(provider.name) does not say which application the credential was issued to, so it signs nobody in.",
      detail: "unknownApplication", provider: provider.id)
  }

  fileprivate static func otherApplication(_ provider: Provider) -> Problem {
    Problem(
      .invalidCredential,
      "The credential of \(provider.name) was issued to another application, so it signs nobody in here.",
      detail: "otherApplication", provider: provider.id)
  }

  /// The provider has named no person.
  public static func unidentified(_ provider: Provider) -> Problem {
    Problem(
      .invalidCredential,
      "\(provider.name) does not name the person here, so it signs nobody in.",
      advice: .signInElsewhere,
      detail: "identity", provider: provider.id)
  }

  /// The provider has banned or locked the account.
  fileprivate static func unusable(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .accountBanned,
      "\(provider.name) has \(account.health == .locked ? "locked" : "banned") the account.",
      advice: .unlockOnWeb,
      provider: provider.id, account: account.id)
  }

  fileprivate static func otherDescription(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .bindingMismatch,
      "The person signed in to the account when \(provider.name) was described differently, so it proves nobody.",
      advice: .signInAtProvider,
      provider: provider.id, account: account.id)
  }

  fileprivate static func unreported(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .invalidCredential,
      "The account proves nobody, because \(provider.name) was added by a program or has not named the person here.",
      detail: "unreported", provider: provider.id, account: account.id)
  }
}
