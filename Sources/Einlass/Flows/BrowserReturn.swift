internal import EinlassJSON

/// Where the browser is sent back to.
struct ReturnPlace: Sendable {
  /// As it is named to the provider.
  let address: String
  /// `nil` where only the front end, or the person, sees what the browser brings.
  let listener: OpenRedirect?

  /// Nobody listens any more.
  func close() { listener?.close() }
}

/// What the browser has brought, and how it is told what came of it.
struct Arrival<Response: Sendable>: Sendable {
  let response: Response
  /// Shows a page where there is a browser to show one.
  let show: @Sendable (RedirectPage.Outcome) -> Void

  /// Does the rest of the flow and shows how it ended. A question on the way ends the page instead, because the person
  /// is to leave the browser for it.
  func showing(
    _ visit: Visit, _ work: (Response, Visit) async throws(Setback) -> AccountStore.Added
  ) async throws(Setback) -> AccountStore.Added {
    var visit = visit
    let asker = visit.asker
    visit.asker.ask = { prompt async throws(Problem) in
      show(.questionLeft)
      return try await asker.ask(prompt)
    }
    do throws(Setback) {
      let done = try await work(response, visit)
      show(.signedIn(person: done.account.username))
      return done
    } catch {
      switch error {
      case .failed(let failure) where failure.problem.reason == .accessDenied: show(.denied)
      case .failed(let failure): show(.failed(failure.problem.message))
      case .remedy: show(.failed("Start again from your application."))
      }
      throw error
    }
  }
}

extension Visit {
  /// How many answers that are not for this flow may come before it gives up: somebody is guessing.
  static let wrongReturnsLimit = 20
  /// How often a person is asked for what they bring, when it is something else.
  static let entriesLimit = 3

  /// How often a registered port is tried, a second apart: another application's person may be at the provider.
  private static let openAttempts = 60

  /// Opens the place that the browser comes back to: the one that is registered, else as the descriptor says.
  func open(_ redirect: RedirectDescriptor) async throws(Setback) -> ReturnPlace {
    let registered = registration.redirect.flatMap { RedirectDescriptor(address: $0) }
    switch registered ?? redirect {
    case .address(let address): return ReturnPlace(address: address, listener: nil)
    case .loopback(let host, let ports, let path):
      let place = RedirectPlace(
        host: host, ports: ports,
        path: path ?? "/\(Base64URL.encode(effects.randomBytes(16)))/callback")
      // A registered port may still be that of the sign-in before.
      var attemptsLeft = registered == nil || ports.isEmpty ? 1 : Self.openAttempts
      do throws(Problem) {
        while true {
          attemptsLeft -= 1
          do throws(Problem) {
            let listener = try effects.openRedirect(place)
            return ReturnPlace(address: listener.address, listener: listener)
          } catch {
            guard attemptsLeft > 0, error.isRetryable else { throw error }
            if attemptsLeft == Self.openAttempts - 1 { asker.report(.awaitingPort) }
          }
          try await effects.sleepUntil(effects.now() + 1)
        }
      } catch { throw .failed(Failure(error)) }
    }
  }

  /// Sends the person's browser away and waits for what it brings back: to the listener, to the front end, or copied
  /// by the person; the first that `read` can make something of counts.
  func sendBrowser<Response: Sendable>(
    to address: WebAddress, returningTo place: ReturnPlace,
    _ read: @escaping @Sendable (_ query: String) -> Response?
  ) async throws(Setback) -> Arrival<Response> {
    asker.report(.awaitingPerson)
    var ways: [@Sendable () async -> Result<Arrival<Response>?, Problem>] = []
    if let listener = place.listener {
      ways.append { await outcome { () throws(Problem) in try await heard(listener, read) } }
    }
    let returningTo = place.listener == nil ? place.address : nil
    var prompts = [Prompt.openURL(address, returningTo: returningTo)]
    if asker.kinds.contains(.enterVerifier) {
      prompts.append(.enterVerifier(.redirectURL, returningTo: returningTo))
    }
    for prompt in prompts {
      // Who has opened the page has brought nothing yet.
      ways.append {
        await outcome { () throws(Problem) in try await brought(prompt, to: place, read) }
      }
    }
    return try await first(of: ways, or: .userCanceled(provider))
  }

  private func heard<Response>(
    _ listener: OpenRedirect, _ read: (String) -> Response?
  ) async throws(Problem) -> Arrival<Response> {
    for _ in 0..<Self.wrongReturnsLimit {
      let answer = try await listener.next()
      let show: @Sendable (RedirectPage.Outcome) -> Void = { outcome in
        answer.show(
          RedirectPage(
            outcome, provider: provider.name,
            application: request.applicationTitle ?? request.application))
      }
      if let response = read(answer.query) { return Arrival(response: response, show: show) }
      show(.unexpected)
    }
    throw .stateMismatch(provider)
  }

  private func brought<Response>(
    _ prompt: Prompt, to place: ReturnPlace, _ read: (String) -> Response?
  ) async throws(Problem) -> Arrival<Response>? {
    var prompt = prompt
    var problem = Problem.stateMismatch(provider)
    for _ in 0..<Self.entriesLimit {
      guard case .accept(_, let text) = try await asker.ask(prompt) else {
        throw .userCanceled(provider)
      }
      guard let text else { return nil }
      let query = query(of: revealedText(text), broughtTo: place.address)
      if let response = query.flatMap(read) {
        return Arrival(response: response, show: { _ in })
      }
      problem = query == nil ? .notTheAddress(provider) : .stateMismatch(provider)
      // A program that brings another address would do so again.
      guard case .enterVerifier(let verifier, _, let returningTo) = prompt else { break }
      prompt = .enterVerifier(verifier, isAgain: true, returningTo: returningTo)
    }
    throw problem
  }
}

/// The query of the address that a browser ended on; `nil` unless it is that place. Scheme and host in any letter case,
/// the path exactly (seeds 4.3); blanks around it and a fragment are the clipboard's and the browser's.
func query(of text: String, broughtTo place: String) -> String? {
  let text = text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace && $0 != "#" }
  guard let mark = text.firstIndex(of: "?"),
    sameBytes(lowercasingHost(text[..<mark]), lowercasingHost(place[...]))
  else { return nil }
  return String(text[text.index(after: mark)...])
}

private func lowercasingHost(_ address: Substring) -> String {
  guard let colon = address.firstIndex(of: ":") else { return String(address) }
  let isHierarchical = address[colon...].hasPrefix("://")
  let host = isHierarchical ? address.index(colon, offsetBy: 3) : colon
  let end = address[host...].firstIndex(of: "/") ?? address.endIndex
  return address[..<end].lowercased() + address[end...]
}
