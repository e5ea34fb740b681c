internal import EinlassCrypto
internal import EinlassJSON

/// Logs in at a server of the person's own with a user name and a password, and stores the session.
///
/// The account is the user name at that server, so that the same name at two servers is two
/// accounts. The password is sent once for each entry, and kept with the session only if the person
/// wants it remembered.
func passwordSession(
  _ descriptor: PasswordSession, _ flow: InteractiveFlow
) async throws(FlowFailure) -> AccountStore.Added {
  if let path = flow.request.pageParameter {
    throw FlowFailure(.pageParameter(path, flow.provider))
  }
  let server = descriptor.login.address
  var prompt = Prompt.Login(
    server: server.origin, host: server.host, username: flow.request.login.username,
    isSafe: server.isSafe)
  for attempt in 1... {
    do throws(Problem) {
      if let username = prompt.username {
        try flow.store.requireNoPause(
          of: descriptor.person(username), at: flow.effects.now(), flow.provider)
      }
    } catch { throw FlowFailure(error) }
    let login = try await flow.login(asking: prompt)
    flow.asker.report(.requesting)
    flow.saveSettings(of: login, at: server.origin)
    do throws(FlowFailure) {
      var exchange = flow.exchange(hiding: [login.password])
      let session = try await exchange.guardedSession(
        of: login, descriptor, keepsCookies: flow.request.login.usesCookies ?? false, in: flow.store
      )
      flow.asker.report(.saving)
      let owner = Identity(id: server.subject(of: login.username), username: login.username)
      do throws(Problem) {
        return try await flow.save(
          .passwordSession(descriptor), .session(session), owner, flow.asker)
      } catch { throw FlowFailure(error) }
    } catch {
      guard error.problem.reason == .wrongCredentials, attempt < InteractiveFlow.loginAttempts
      else { throw error }
      prompt.isAgain = true
    }
  }
  throw FlowFailure(.userCanceled(flow.provider))
}

/// A user name and a password, as the person entered them.
struct EnteredLogin {
  var username: String
  var password: Secret
  /// Whether the session keeps the password.
  var remembers: Bool
}

extension InteractiveFlow {
  /// The number of passwords that one sign-in asks for.
  fileprivate static let loginAttempts = 3

  /// Returns the person's entry. Throws `userCanceled`, and `invalidParameter` for a user name that
  /// no account can have.
  fileprivate func login(asking prompt: Prompt.Login) async throws(FlowFailure) -> EnteredLogin {
    asker.report(.awaitingPerson)
    let answer: Answer
    do throws(Problem) { answer = try await asker.ask(.enterPassword(prompt)) } catch {
      throw FlowFailure(error)
    }
    guard case .accept(_, let password?, let entered, let remembers) = answer else {
      throw FlowFailure(.userCanceled(provider))
    }
    let username = prompt.username ?? entered ?? ""
    guard isIdentifier(username) else {
      throw FlowFailure(
        .invalidParameter(
          "/server/username",
          "The parameter /server/username must be 1 to 256 bytes without control characters."))
    }
    return EnteredLogin(username: username, password: password, remembers: remembers)
  }
}

extension Exchange {
  /// Logs in with an empty jar of cookies, and returns the session of the answer.
  ///
  /// - Parameter keepsCookies: the decision of the sign-in, if the descriptor leaves it to that.
  mutating func session(
    of login: EnteredLogin, _ descriptor: PasswordSession, keepsCookies: Bool
  ) async throws(FlowFailure) -> SessionCredential {
    let takesCookies =
      descriptor.cookies == .always || descriptor.cookies == .asked && keepsCookies
    var jar: [String]? = takesCookies ? [] : nil
    var values = Template.Values(texts: [
      .username: login.username, .password: revealedText(login.password),
    ])
    if descriptor.login.mentions(.csrf) {
      values[.csrf] = try await forgeryToken(descriptor, &jar)
    }
    let answer = try await send(
      descriptor.login, values, with: &jar, at: .login)
    guard let object = answer.object else { throw unusable(.login) }
    var session = SessionCredential(id: Secret(""), username: login.username)
    session.password = login.remembers ? login.password : nil
    if let pointer = descriptor.id {
      guard let id = object.at(pointer: pointer)?.string, SessionCredential.isID(id) else {
        throw unusable(.login)
      }
      session.id = Secret(id)
      hide(session.id)
    }
    for value in descriptor.values {
      guard let text = object.at(pointer: value.pointer)?.string else { continue }
      guard text.utf8.count <= 1024, !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
        throw unusable(.login)
      }
      session.values.append(Parameter(value.name, text))
    }
    guard descriptor.id != nil || jar?.isEmpty == false else { throw unusable(.login) }
    session.cookies = jar.flatMap { $0.isEmpty ? nil : Secret($0.joined(separator: "\n")) }
    try await check(session, descriptor)
    if descriptor.check != nil { session.checkedAt = effects.now() }
    return session
  }
}

extension SessionCredential {
  /// The longest id of a session, in bytes.
  static let idLimitBytes = 4096
  /// The largest number of cookies that one answer sets, because libcurl takes no more.
  static let setCookieLimit = 50
  /// The largest number of a session's cookies, and their size in a request, because libcurl sends no
  /// more.
  static let cookieLimit = 150
  static let cookieLimitBytes = 8190

  /// Whether the text can be a session's id: visible ASCII characters.
  static func isID(_ text: String) -> Bool {
    (1...idLimitBytes).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// The cookies to send, a line each; `nil` for a session without cookies.
  var jar: [String]? {
    cookies.map { revealedText($0).split(separator: "\n").map { String($0) } }
  }
}

/// A cookie as a line of libcurl, with tabs between its seven fields.
private struct Cookie {
  var line: String
  /// 0 for a cookie that lasts as long as the session.
  var expiresAt: UnixTime
  /// The size in a request: `name=value; `.
  var sentCount: Int

  init?(_ line: String) {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
    guard fields.count == 7, let expiresAt = UnixTime(fields[4]) else { return nil }
    self.line = line
    self.expiresAt = expiresAt
    sentCount = fields[5].utf8.count + fields[6].utf8.count + 3
  }

  /// Whether the server has deleted the cookie, or its time is over.
  func isOver(_ now: UnixTime) -> Bool { expiresAt != 0 && expiresAt <= now }
}

extension Exchange {
  /// Sends a request with the cookies of the jar, and puts those of the answer into it.
  fileprivate func send(
    _ template: RequestTemplate, _ values: Template.Values, with jar: inout [String]?,
    at step: Step
  ) async throws(FlowFailure) -> Answer {
    var request = template.filled(values).request
    request.cookies = jar
    let answer = try await send(request, at: step)
    guard jar != nil else { return answer }
    let cookies = answer.cookies.compactMap(Cookie.init).filter { !$0.isOver(effects.now()) }
    guard answer.setCookieCount <= SessionCredential.setCookieLimit,
      cookies.count <= SessionCredential.cookieLimit,
      cookies.reduce(0, { $0 + $1.sentCount }) <= SessionCredential.cookieLimitBytes
    else { throw unusable(step) }
    jar = cookies.map(\.line)
    return answer
  }

  /// Returns a token against forged requests, which belongs to the cookies of the jar.
  fileprivate func forgeryToken(
    _ descriptor: PasswordSession, _ jar: inout [String]?
  ) async throws(FlowFailure) -> String {
    guard let antiForgery = descriptor.antiForgery else { return "" }
    let answer = try await send(
      antiForgery.request, Template.Values(), with: &jar, at: .antiForgery)
    guard let token = answer.object?.at(pointer: antiForgery.token)?.string,
      SessionCredential.isID(token)
    else { throw unusable(.antiForgery) }
    return token
  }

  /// Throws if the server does not know the session any more. Without a check in the descriptor
  /// every session is taken.
  func check(
    _ session: SessionCredential, _ descriptor: PasswordSession
  ) async throws(FlowFailure) {
    guard let check = descriptor.check else { return }
    try await ask(check, of: session, descriptor, at: .sessionCheck)
  }

  /// Sends a request about the session.
  func ask(
    _ template: RequestTemplate, of session: SessionCredential, _ descriptor: PasswordSession,
    at step: Step
  ) async throws(FlowFailure) {
    var jar = session.jar
    var values = Template.Values(texts: [.token: revealedText(session.id)])
    if template.mentions(.csrf) { values[.csrf] = try await forgeryToken(descriptor, &jar) }
    _ = try await send(template, values, with: &jar, at: step)
  }
}
