internal import EinlassCrypto

/// A login that spares the server's lock-out: a refused password is not sent a second time, and after
/// some refusals each further login waits. All processes share the count, because three attempts of
/// each of many programs lock an account out too.
extension Exchange {
  /// The time in which a refused password is not sent again, in seconds.
  private static let refusalSeconds: Int64 = 15 * 60

  /// Logs in as `session(of:_:keepsCookies:)` does. One process at a time logs in as a person at a
  /// server, so that none sends a password that another one is just learning to be wrong.
  mutating func guardedSession(
    of login: EnteredLogin, _ descriptor: PasswordSession, keepsCookies: Bool,
    in store: AccountStore
  ) async throws(FlowFailure) -> SessionCredential {
    let person = descriptor.person(login.username)
    let lease: Lease
    do throws(Problem) {
      lease = try await store.lease(person.leaseName, waiting: effects)
      try store.requireNoPause(of: person, at: effects.now(), provider)
      let since = effects.now() - Self.refusalSeconds
      guard try !store.ownServers.isRefused(person, login.password, since) else {
        throw Problem(
          .wrongCredentials,
          "The server has just refused this user name and password.")
      }
      try lease.requireTime()
    } catch { throw FlowFailure(error) }
    defer { lease.keepAlive() }
    let session: SessionCredential
    do throws(FlowFailure) {
      session = try await self.session(of: login, descriptor, keepsCookies: keepsCookies)
    } catch {
      if error.problem.reason == .wrongCredentials {
        // A store that cannot be written must not hide the refusal.
        try? store.ownServers.noteRefusal(person, login.password, effects.now())
      }
      throw error
    }
    // A store that cannot be written must not lose the session either.
    if (try? store.ownServers.refusals(person)) != nil {
      try? store.ownServers.forgetRefusals(person)
    }
    return session
  }
}

extension PasswordSession {
  /// Returns the key of a person's refusals at the server of this login.
  func person(_ username: String) -> OwnServerStore.Login {
    OwnServerStore.Login(server: login.address.origin, username: username)
  }
}

extension OwnServerStore.Login {
  /// The name of the lease for logins of this person.
  var leaseName: Account.ID {
    let digest = Digest.sha256(Array("\(server)\n\(username)".utf8))
    return Account.ID(rawValue: "login-" + Base64URL.encode(Array(digest.prefix(16))))
  }
}

extension OwnServerStore.Refusals {
  /// The number of refusals without a pause.
  private static let freeCount: Int64 = 5
  private static let longestPauseSeconds: Int64 = 60

  /// The seconds until the next login, at this time: 1, 2, 4, … 60 after the last refusal.
  func secondsLeft(at now: UnixTime) -> Int64 {
    guard count >= Self.freeCount else { return 0 }
    let pause =
      count - Self.freeCount < 6
      ? Int64(1) << (count - Self.freeCount) : Self.longestPauseSeconds
    // A step of the clock back must not lengthen the pause. Any time may stand in an edited store.
    guard lastAt < now else { return pause }
    let (age, isOld) = now.subtractingReportingOverflow(lastAt)
    return isOld ? 0 : max(pause - age, 0)
  }
}

extension AccountStore {
  /// Throws `throttled` while logins of this person wait.
  func requireNoPause(
    of person: OwnServerStore.Login, at now: UnixTime, _ provider: Provider
  ) throws(Problem) {
    guard let refusals = try ownServers.refusals(person) else { return }
    let seconds = refusals.secondsLeft(at: now)
    guard seconds > 0 else { return }
    throw Problem(
      .throttled,
      "The server has refused \(refusals.count) logins in a row.",
      isRetryable: true, provider: provider.id, retryAfterSeconds: Int(seconds))
  }
}
