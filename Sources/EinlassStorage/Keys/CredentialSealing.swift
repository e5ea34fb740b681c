internal import Einlass
internal import EinlassCrypto

/// Conversion between credentials and rows. Each secret is sealed to its place, its binding and the
/// other columns of its row.
extension CredentialRow {
  init(_ stored: StoredCredential, account: Account, key: StoreKey) {
    let binding = stored.binding
    self.init(
      account: account.id.rawValue, clientID: stored.registration.clientID,
      resource: stored.resource ?? "", role: stored.role, kind: .oauth1,
      boundOrigins: binding.origins, boundClientID: binding.clientID,
      boundFlowKind: binding.flowKind.rawValue, boundTrust: binding.trust.text, binding: [],
      cells: [:],
      generation: stored.generation, isRefused: stored.isRefused,
      assertionSource: stored.assertionSource?.text)
    var secrets: [SecretColumn: Secret] = [:]
    secrets[.clientSecret] = stored.registration.clientSecret
    switch stored.credential {
    case .oauth1(let credential):
      secrets[.token] = credential.token
      secrets[.tokenSecret] = credential.tokenSecret
    case .oauth2(let credential):
      kind = .oauth2
      tokenType = credential.tokenType
      scopes = credential.scopes
      expiresAt = credential.expiresAt
      secrets[.token] = credential.accessToken
      secrets[.refreshToken] = credential.refreshToken
      secrets[.idToken] = credential.idToken
      refreshExpiresAt = credential.refreshExpiresAt
      hasFormerIDToken = credential.hasFormerIDToken
      secrets[.proofKey] = credential.proofKey
    case .session(let session):
      kind = .session
      secrets[.token] = session.packed
    }
    self.binding = bindingHash(provider: account.provider)
    let hash = rowHash(columns: Set(secrets.keys))
    for (column, secret) in secrets { cells[column] = key.seal(secret, in: cell(column, hash)) }
  }

  /// Opens the row. Throws `bindingMismatch` if its binding was edited without the key, and
  /// `decryptFailed` with account and column if anything else was. No part of such a row is usable.
  func open(account: Account, key: StoreKey, path: String) throws(Problem) -> StoredCredential {
    guard constantTimeEqual(binding, bindingHash(provider: account.provider)),
      let flowKind = FlowKind(rawValue: boundFlowKind), let trust = ServerTrust(text: boundTrust)
    else { throw Self.bindingMismatch(account, path) }
    let hash = rowHash(columns: Set(cells.keys))
    var secrets: [SecretColumn: Secret] = [:]
    for column in SecretColumn.allCases {
      guard let sealed = cells[column] else { continue }
      guard let secret = key.open(sealed, in: cell(column, hash)) else {
        throw Self.decryptFailed(account, column, path)
      }
      secrets[column] = secret
    }
    guard let credential = credential(secrets) else {
      throw Problem.damaged(path, "a credential lacks a column")
    }
    return StoredCredential(
      role: role,
      registration: ClientRegistration(clientID: clientID, clientSecret: secrets[.clientSecret]),
      credential: credential,
      binding: ProviderBinding(
        origins: boundOrigins, clientID: boundClientID, flowKind: flowKind, trust: trust),
      resource: resource.isEmpty ? nil : resource, generation: generation, isRefused: isRefused,
      assertionSource: assertionSource.flatMap(AssertionSource.init(text:)))
  }

  private func credential(_ secrets: [SecretColumn: Secret]) -> Credential? {
    guard let token = secrets[.token] else { return nil }
    switch kind {
    case .oauth1:
      return secrets[.tokenSecret].map {
        .oauth1(OAuth1Credential(token: token, tokenSecret: $0))
      }
    case .oauth2:
      var credential = OAuth2Credential(
        accessToken: token, tokenType: tokenType ?? "", scopes: scopes ?? [], expiresAt: expiresAt,
        refreshToken: secrets[.refreshToken], idToken: secrets[.idToken],
        proofKey: secrets[.proofKey])
      credential.refreshExpiresAt = refreshExpiresAt
      credential.hasFormerIDToken = hasFormerIDToken
      return .oauth2(credential)
    case .session:
      return SessionCredential(packed: token).map { .session($0) }
    }
  }

  private func cell(_ column: SecretColumn, _ rowHash: [UInt8]) -> SealedCell {
    SealedCell(
      table: "credential", column: column.name, account: account, binding: binding,
      row: rowHash)
  }

  /// Returns the SHA-256 hash of the canonical provider binding: the provider's id, the origins,
  /// the client id, the flow kind and the trust in the server. A row without a trust keeps the older
  /// format, so that older cells still open.
  private func bindingHash(provider: String) -> [UInt8] {
    let version: [[UInt8]] =
      boundTrust.map { [Array("einlass binding 2".utf8), Array($0.utf8)] }
      ?? [Array("einlass binding 1".utf8)]
    return Digest.sha256(
      Canonical.bytes(
        version + [
          Array(provider.utf8), Canonical.texts(boundOrigins), Array(boundClientID.utf8),
          Array(boundFlowKind.utf8),
        ]))
  }

  /// Returns the SHA-256 hash of the row's other clear columns and of the set of its secrets. A row
  /// without a resource or an assertion source keeps the older format, so that older cells still
  /// open.
  private func rowHash(columns: Set<SecretColumn>) -> [UInt8] {
    let version: [[UInt8]] =
      resource.isEmpty
      ? [Array("einlass credential 1".utf8)]
      : [Array("einlass credential 2".utf8), Array(resource.utf8)]
    let source = assertionSource.map { [Array("assertion source".utf8), Array($0.utf8)] } ?? []
    return Digest.sha256(
      Canonical.bytes(
        version + source + [
          Array(clientID.utf8), Array(role.rawValue.utf8), Array(kind.rawValue.utf8),
          Canonical.optional(tokenType), Canonical.optional(scopes.map(TextList.text)),
          Canonical.optional(expiresAt.map(String.init)),
          Canonical.texts(columns.map(\.name).sorted()),
        ]))
  }

  private static func bindingMismatch(_ account: Account, _ path: String) -> Problem {
    Problem(
      .bindingMismatch,
      "The origins of the account's credential were edited in \(path) without the store's key, so it is not used.",
      provider: account.provider, account: account.id, path: path)
  }

  private static func decryptFailed(_ account: Account, _ column: SecretColumn, _ path: String)
    -> Problem
  {
    .store(
      .decryptFailed,
      "The column \(column.name) of account \(account.id.rawValue) in \(path) does not decrypt, because it is damaged or was edited without the store's key. Other accounts are not affected.",
      path: path, account: account.id)
  }
}
