internal import EinlassCrypto

/// A session at a server of the person's own is replaced by another login, with the password that the
/// person wanted remembered.
extension StoredCredentialFlow {
  /// Logs in with the remembered password. The login is not repeated if its answer is lost, because
  /// the server may count the attempts. A process that ends on the way leaves the dead session and
  /// the password, so nothing has to finish its login.
  func sessionRenewal(
    _ descriptor: PasswordSession, in store: AccountStore
  ) async throws(Problem) -> Renewal {
    guard case .session(let former)? = own?.credential else { return .failed(nothingStored) }
    guard let password = former.password else {
      return .failed(.reloginNeeded(provider, account))
    }
    let login = EnteredLogin(username: former.username, password: password, remembers: true)
    let session: Credential
    do throws(FlowFailure) {
      var exchange = exchange(hiding: [password])
      session = .session(
        try await exchange.guardedSession(
          of: login, descriptor, keepsCookies: former.cookies != nil, in: store))
    } catch {
      guard error.problem.reason == .wrongCredentials else { return try refusal(error, in: store) }
      return try forgetPassword(former, in: store)
    }
    guard session.isStorable else {
      return .failed(.credentialTooLarge(provider).about(provider, account.id))
    }
    return try await save(session, in: store)
  }

  /// Removes a refused password, so that no other process sends it again. The session stays for the
  /// account's server, and is not handed out.
  private func forgetPassword(
    _ session: SessionCredential, in store: AccountStore
  ) throws(Problem) -> Renewal {
    var session = session
    session.password = nil
    var settlement = settlement(.session(session)) { $0.health = .reloginNeeded }
    settlement.isRefusal = true
    guard try store.settle(account.id, settlement) != nil else { return try newer(in: store) }
    return .rejected(.reloginNeeded(provider, account))
  }

  /// Asks the server about a session or token that is due for a check, and stores the answer: the
  /// time of the check of a session, or a refusal. Returns whether the stored credentials have
  /// changed. They have not if the server cannot tell.
  func checksStored(in store: AccountStore) async throws(Problem) -> Bool {
    guard case .passwordSession(let descriptor) = descriptor else {
      return try await checksToken(in: store)
    }
    guard let own, provider.checks(own, at: effects.now()),
      case .session(var session) = own.credential
    else { return false }
    do throws(FlowFailure) {
      try await exchange(hiding: [session.id, session.password]).check(session, descriptor)
    } catch {
      guard error.problem.reason != .cancelled else { throw error.problem }
      guard error.refusesCredential else { return false }
      guard [nil, .reloginNeeded].contains(error.health) else {
        remember(error, in: store)
        throw error.problem.about(provider, account.id)
      }
      var settlement = AccountStore.Settlement(basis: [own], isRefusal: true)
      if !own.remembersPassword { settlement.edit = { $0.health = .reloginNeeded } }
      _ = try store.settle(account.id, settlement)
      return true
    }
    session.checkedAt = effects.now()
    // A store that cannot be written makes the next request check again.
    do throws(Problem) { _ = try store.settle(account.id, settlement(.session(session))) } catch {
      return false
    }
    return true
  }
}

extension Provider {
  /// Whether a stored session is to be checked before it is handed out.
  func checks(_ stored: StoredCredential, at now: UnixTime) -> Bool {
    guard case .session(let session) = stored.credential, !stored.isRefused,
      let flow = passwordSession, flow.check != nil
    else { return false }
    guard let last = session.checkedAt else { return true }
    // After a step of the clock back, the age is unknown.
    return now < last || now - last >= flow.checkSeconds
  }
}
