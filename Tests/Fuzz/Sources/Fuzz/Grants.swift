import Dispatch
import EinlassCrypto
import EinlassJSON
import TestSupport

@testable import Einlass

/// Checks that every operation ends in a result or a problem for any answers of an OAuth 2.0 or
/// OpenID Connect server, that neither contains a secret of the requests, and that stored values
/// can be shown and sent on.
///
/// Input: the operation, the provider and its flow; the claims of an id_token, which replaces each
/// `~` in a body; then for each answer its status, its headers if the first bit of the status is
/// set, and its body.
func fuzzGrants(_ input: [UInt8]) {
  var portions = Portions(input)
  let wish = Wish.allCases[Int(portions.byte()) % Wish.allCases.count]
  let provider = GrantWorld.providers[Int(portions.byte()) % GrantWorld.providers.count]
  let ways = provider.flows.filter { $0.tokens != nil }
  let way = ways[Int(portions.byte()) % ways.count]
  let idToken = GrantWorld.signed(portions.field())
  var replies: [Script.Reply] = []
  while !portions.rest.isEmpty && replies.count < 8 {
    replies.append(GrantWorld.reply(&portions, idToken))
  }
  let script = Script(
    replies, answers: Array(repeating: .accept(), count: 20),
    brought: (0..<10).flatMap { _ in
      [way.tokens?.issuer?.text ?? GrantWorld.issuer, nil].map(GrantWorld.arrival)
    },
    store: GrantWorld.store(provider, way, idToken))
  let ended = DispatchSemaphore(value: 0)
  Task.detached {
    await Conversation(script: script, provider: provider, way: way, idToken: idToken).run(wish)
    ended.signal()
  }
  ended.wait()
}

private enum Wish: CaseIterable {
  case signIn, credential, renewal, rejection, verification, signedVerification, signOut, add
  case resource

  /// Whether the provider is added from its own metadata first.
  var isNew: Bool { self == .add || self == .resource }
}

private let issuer = GrantWorld.issuer
private let ada = GrantWorld.ada
private let registration = GrantWorld.registration
private let catalog = GrantWorld.catalog

private struct Conversation {
  let script: Script
  let provider: Provider
  let way: FlowDescriptor
  let idToken: String

  func run(_ wish: Wish) async {
    do throws(Problem) {
      try await perform(
        wish, Einlass(catalog: catalog, store: script.store.accountStore, effects: effects))
    } catch { checkWords(of: error) }
    for account in script.store.accounts {
      checkHidden(
        [account.subject, account.username, account.displayName, account.email, account.avatar])
      check(isIdentifier(account.username), "an account has a name")
      check(catalog.holds(account.provider) || wish.isNew, "an account has a provider")
      for stored in script.store.credentials(of: account.id) { checkToken(stored.credential) }
    }
  }

  private func perform(_ wish: Wish, _ engine: Einlass) async throws(Problem) {
    let wanted = CredentialRequest(
      application: "editor", registration: { _ in registration }, account: ada,
      forcesRefresh: true)
    switch wish {
    case .signIn: try await signIn(provider, way.kind, engine)
    case .credential: checkToken(try await engine.credential(wanted).credential)
    case .renewal:
      switch try await engine.renew(wanted) {
      case .renewed(let credential): checkToken(credential)
      case .rejected(let problem), .failed(let problem): throw problem
      }
    case .rejection: try await engine.reject(wanted)
    case .verification: checkWords(of: try await engine.verify(verification(.account(ada))))
    case .signedVerification:
      let token = OAuth2Credential(accessToken: Secret("CANARY-T"), idToken: Secret(idToken))
      checkWords(of: try await engine.verify(verification(.credential(.oauth2(token)))))
      checkWords(of: try await engine.verify(verification(.idToken(Secret(idToken)))))
    case .signOut:
      let report = try await engine.signOut(ada, registration: { _ in registration })
      checkHidden(report.notRevoked.map(\.reason))
    case .add:
      let descriptor = try await engine.descriptor(of: AddProviderRequest(.issuer(issuer)))
        .descriptor
      try await signIn(descriptor, engine)
    case .resource:
      let found = try await engine.protectedResource(at: "https://photos.example/mcp")
      switch found.issuer {
      case .new(let descriptor): try await signIn(descriptor, engine, resource: found)
      case .known(let id):
        try await signIn(catalog.provider(id), .authorizationCode, engine, resource: found)
      }
    }
  }

  /// Signs in at a provider that was added from its own metadata.
  private func signIn(
    _ descriptor: JSONValue, _ engine: Einlass, resource: ProtectedResource? = nil
  ) async throws(Problem) {
    let words = JSONValue.object(["providers": [descriptor]]).bytes()
    guard let (wider, leftOut) = try? catalog.adding(json: words), leftOut.isEmpty,
      let added = wider.providers.last
    else { return check(false, "a provider from metadata can be added") }
    let engine = Einlass(catalog: wider, store: engine.store, effects: engine.effects)
    try await signIn(added, nil, engine, resource: resource)
  }

  private func signIn(
    _ provider: Provider, _ kind: FlowKind?, _ engine: Einlass, resource: ProtectedResource? = nil
  ) async throws(Problem) {
    var request = SignInRequest(
      application: "editor",
      registration: provider.dynamicRegistration == nil || kind != nil ? registration : nil,
      provider: provider.id)
    request.flowKind = kind
    request.resource = resource?.name
    request.resourceScopes = resource?.scopes ?? []
    let account = try await engine.signIn(request, asking: script.asker([.openURL, .deviceCode]))
      .account
    check(account.provider.utf8.elementsEqual(provider.id.utf8), "an account has its provider")
  }

  private func verification(_ subject: VerifyRequest.Subject) -> VerifyRequest {
    VerifyRequest(
      application: "editor", registration: registration, provider: provider.id, subject: subject)
  }

  /// The script's effects with a clock that skips waiting times, and constant random bytes.
  private var effects: Effects {
    script.effects.with(
      sleepUntil: { [script] time throws(Problem) in
        script.advance(seconds: max(0, time - script.effects.now()))
      }, randomBytes: { Array(repeating: 7, count: $0) })
  }
}

// MARK: - Promises

extension Conversation {
  private func checkWords(of problem: Problem) {
    check(
      problem.reason != .internal || script.unusedReplyCount == 0,
      "no answer of a server causes an internal error: \(problem.message)")
    let said = problem.serverError
    checkHidden(
      [problem.message, problem.detail, said?.code, said?.subcode, said?.text]
        + (problem.hint?.parameters.values.map(\.self) ?? []))
  }

  private func checkWords(of result: Verification) {
    let person = result.identity
    checkHidden(
      [result.clientID, person?.id, person?.name, person?.username, person?.email, person?.avatar]
        + result.checks.map(\.detail) + (result.scopes ?? []))
  }

  /// Checks that texts for people contain no control characters and no secret of the requests.
  private func checkHidden(_ texts: [String?]) {
    let sent = sent
    for text in texts.compactMap(\.self) {
      check(!text.unicodeScalars.contains(where: isControl), "a control is shown: \(text)")
      for secret in sent { check(!text.contains(secret), "secret \(secret) is shown: \(text)") }
    }
  }

  private func checkToken(_ credential: Credential?) {
    guard case .oauth2(let token)? = credential else { return }
    for secret in [token.accessToken, token.refreshToken, token.idToken].compactMap(\.self) {
      let bytes = secret.reveal()
      check(
        !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E) ~= $0 }, "a token fits into a header")
    }
  }

  /// The values of the secret fields that were sent, if they begin like a canary and have a usual
  /// length.
  private var sent: [String] {
    let names = [
      "code", "client_secret", "token", "access_token", "refresh_token", "device_code",
      "input_token",
    ]
    return script.requests.flatMap { request in
      let fields = [request.body, Array((request.address.query ?? "").utf8)]
        .flatMap { FormEncoding.decode($0, plus: .space) ?? [] }
      let bearers = request.headers.filter { $0.name == "Authorization" }
        .compactMap { $0.value.split(separator: " ").last.map(String.init) }
      return fields.filter { names.contains($0.name) }.map(\.value) + bearers
    }.filter { $0.utf8.count >= 8 && $0.utf8.starts(with: "CANARY-".utf8) }
  }
}
