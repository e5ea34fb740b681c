internal import EinlassJSON

/// The redirect address of a sign-in, with its listener.
struct ReturnPlace: Sendable {
  /// The redirect URI, exactly as sent to the provider.
  let address: String
  /// `nil` when einlass does not listen: the front end catches the redirect, or the person pastes
  /// it.
  let listener: OpenRedirect?
  /// Whether the response comes in the fragment.
  let takesFragment: Bool
  /// Whether the page at the address shows code and state, which the person pastes.
  var showsCode = false

  func close() { listener?.close() }
}

/// The browser's response, and a way to show the outcome in the browser.
struct Arrival<Response: Sendable>: Sendable {
  let response: Response
  /// Shows a page in the browser; does nothing if the response did not reach the listener.
  let show: @Sendable (RedirectPage.Outcome) async -> Void

  /// Runs the rest of the flow and shows its outcome. A prompt before the end shows "one question
  /// is left" instead, because the person must leave the browser to answer it.
  func showing(
    _ flow: InteractiveFlow,
    _ work: (Response, InteractiveFlow) async throws(FlowFailure) -> AccountStore.Added
  ) async throws(FlowFailure) -> AccountStore.Added {
    var flow = flow
    let asker = flow.asker
    flow.asker.ask = { prompt async throws(Problem) in
      await show(.questionLeft)
      return try await asker.ask(prompt)
    }
    do throws(FlowFailure) {
      let done = try await work(response, flow)
      await show(.signedIn(person: done.account.username, isGranted: done.isGranted))
      return done
    } catch {
      let isDenied = error.problem.reason == .accessDenied
      await show(isDenied ? .denied : .failed(error.problem.message))
      throw error
    }
  }
}

extension InteractiveFlow {
  /// The number of attempts a person has to enter the right address or PIN.
  static let entriesLimit = 3

  /// Opens the redirect address: the one in the registration, otherwise the descriptor's. While a
  /// sign-in of another process has the port, asks for it once a second.
  func open(
    _ redirect: RedirectDescriptor, takingFragment: Bool = false, showingCode: Bool = false
  ) async throws(FlowFailure) -> ReturnPlace {
    let registered = registration.redirect.flatMap { RedirectDescriptor(address: $0) }
    switch registered ?? redirect {
    case .address(let address):
      return ReturnPlace(
        address: address, listener: nil, takesFragment: takingFragment, showsCode: showingCode)
    case .loopback(let host, let ports, let path):
      let place = RedirectPlace(
        host: host, ports: ports,
        path: path ?? "/\(Base64URL.encode(effects.randomBytes(16)))/callback",
        takesFragment: takingFragment)
      var isWaiting = false
      do throws(Problem) {
        while true {
          do throws(Problem) {
            let listener = try await effects.openRedirect(place)
            asker.explain(nil)
            return ReturnPlace(
              address: listener.address, listener: listener, takesFragment: takingFragment)
          } catch {
            guard error.detail == Problem.portQueue else { throw error }
            if !isWaiting {
              asker.report(.awaitingPort)
              asker.explain("The sign-in has not begun: \(error.message).")
            }
            isWaiting = true
          }
          try await effects.sleepUntil(effects.now() + 1)
        }
      } catch { throw FlowFailure(error) }
    }
  }

  /// Opens the provider's page and returns the first response that `read` accepts. It comes from
  /// the listener, from the front end, or from the person, who pastes the address.
  func sendBrowser<Response: Sendable>(
    to address: WebAddress, returningTo place: ReturnPlace,
    _ read: @escaping @Sendable (RedirectParameters) -> Response?
  ) async throws(FlowFailure) -> Arrival<Response> {
    asker.report(.awaitingPerson)
    var ways: [@Sendable () async -> Result<Arrival<Response>?, Problem>] = []
    if let listener = place.listener {
      listener.expect(claim(read))
      ways.append { await outcome { () throws(Problem) in try await heard(listener, read) } }
    }
    let returningTo = place.listener == nil && !place.showsCode ? place.address : nil
    var prompts = [Prompt.openURL(address, returningTo: returningTo)]
    if asker.kinds.contains(.enterVerifier) {
      prompts.append(
        .enterVerifier(place.showsCode ? .pin : .redirectURL, returningTo: returningTo))
    }
    for prompt in prompts {
      // `answered` returns `nil` when the front end accepts without an address. The page is open
      // then, and the other ways go on.
      ways.append {
        await outcome { () throws(Problem) in try await answered(prompt, to: place, read) }
      }
    }
    let arrival = try await first(of: ways, or: .userCanceled(provider))
    // Nothing that comes later explains the rest of the flow.
    place.listener?.expect(RedirectClaim(isOurs: { read($0) != nil }, refused: { _ in }))
    asker.explain(nil)
    return arrival
  }

  private func claim<Response>(
    _ read: @escaping @Sendable (RedirectParameters) -> Response?
  ) -> RedirectClaim {
    RedirectClaim(
      isOurs: { read($0) != nil },
      refused: { [asker] refused in
        asker.explain(
          "No answer to the sign-in came in time. The last one was refused: \(refused.sentence)")
      })
  }

  private func heard<Response>(
    _ listener: OpenRedirect, _ read: (RedirectParameters) -> Response?
  ) async throws(Problem) -> Arrival<Response>? {
    let answer = try await listener.next()
    return read(answer.parameters).map { response in
      Arrival(response: response) { outcome in
        await answer.show(
          RedirectPage(
            outcome, provider: provider.name,
            application: request.applicationTitle ?? request.application))
      }
    }
  }

  private func answered<Response>(
    _ prompt: Prompt, to place: ReturnPlace, _ read: (RedirectParameters) -> Response?
  ) async throws(Problem) -> Arrival<Response>? {
    var prompt = prompt
    var problem = Problem.stateMismatch(provider)
    for _ in 0..<Self.entriesLimit {
      guard case .accept(_, let text, _, _) = try await asker.ask(prompt) else {
        throw .userCanceled(provider)
      }
      guard let text else { return nil }
      let query = query(of: revealedText(text), broughtTo: place)
      if let response = query.flatMap({ read(RedirectParameters($0)) }) {
        return Arrival(response: response, show: { _ in })
      }
      problem = query == nil ? .notTheText(place, provider) : .stateMismatch(provider)
      // Only a person is asked again: a front end that caught the wrong redirect would send it
      // again.
      guard case .enterVerifier(let verifier, _, let returningTo) = prompt else { break }
      prompt = .enterVerifier(verifier, isAgain: true, returningTo: returningTo)
    }
    throw problem
  }
}

/// Returns the query of a returned address, or the fragment if the response comes there; `nil` if it
/// has none or its other parts differ from `place`. Scheme and host match in any letter case, the path
/// only exactly. Surrounding whitespace and any other fragment are ignored, because clipboards and
/// browsers add them. A page that shows code and state gives them alone.
func query(of text: String, broughtTo place: ReturnPlace) -> String? {
  let text = text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
  if place.showsCode {
    let parts = text.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { return nil }
    return FormEncoding.encode([Parameter("code", parts[0]), Parameter("state", parts[1])])
  }
  let hash = text.firstIndex(of: "#") ?? text.endIndex
  let mark = text[..<hash].firstIndex(of: "?") ?? hash
  guard sameBytes(lowercasingHost(text[..<mark]), lowercasingHost(place.address[...])) else {
    return nil
  }
  let fragment = text[hash...].dropFirst()
  if place.takesFragment, !fragment.isEmpty { return String(fragment) }
  return mark == hash ? nil : String(text[mark..<hash].dropFirst())
}

private func lowercasingHost(_ address: Substring) -> String {
  guard let colon = address.firstIndex(of: ":") else { return String(address) }
  let isHierarchical = address[colon...].hasPrefix("://")
  let host = isHierarchical ? address.index(colon, offsetBy: 3) : colon
  let end = address[host...].firstIndex(of: "/") ?? address.endIndex
  return address[..<end].lowercased() + address[end...]
}
