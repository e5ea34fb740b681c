import Einlass
import EinlassSystem

/// The opening of a redirect address whose port another program may have.
enum RedirectPort {
  /// The program that has the ports. The last of these words that fits a port counts.
  private enum Holder: Comparable { case nobody, otherProgram, silent, signIn }

  /// The number of attempts, 100 ms apart, to open a port at which nobody answers. A listener that
  /// closes is one.
  private static let attemptsLimit = 20
  /// The number of further questions to a program that does not answer in time. A listener on a busy
  /// machine is one.
  private static let repeatsLimit = 1

  /// Opens the address. Throws `flowNotSupported`: with the `detail` `Problem.portQueue` if a sign-in
  /// of another process has the port. Throws `cancelled` when the task is cancelled.
  static func open(
    _ place: RedirectPlace, _ client: CurlClient
  ) async throws(Problem) -> OpenRedirect {
    var attemptsLeft = attemptsLimit
    var repeatsLeft = repeatsLimit
    while true {
      do throws(SystemError) { return try RedirectListener.open(place) } catch {
        var found = Holder.otherProgram
        if error.isAddressInUse { found = try await holder(of: place.ports, client) }
        attemptsLeft -= 1
        switch found {
        case .signIn: throw .takenBySignIn(place)
        case .nobody where attemptsLeft > 0: break
        case .silent where repeatsLeft > 0: repeatsLeft -= 1
        case .nobody, .silent, .otherProgram: throw .nothingToListenOn(place, error)
        }
      }
      try await LiveEffects.sleep(until: Deadline(milliseconds: 100))
    }
  }

  /// Asks each port for a page. A redirect listener has none at this path, but says what it is.
  private static func holder(
    of ports: [UInt16], _ client: CurlClient
  ) async throws(Problem) -> Holder {
    var holder = Holder.nobody
    for port in ports {
      let address = WebAddress(
        scheme: .http, host: RedirectPlace.Host.literal.rawValue, port: port,
        path: RedirectRequest.probePath)
      do throws(Problem) {
        let answer = try await client.send(
          HTTPRequest(.get, address, responseLimitBytes: 1 << 16, timeout: .seconds(1)))
        if answer.header("server") == RedirectConnection.serverName { return .signIn }
        holder = max(holder, .otherProgram)
      } catch {
        guard error.reason != .cancelled else { throw error }
        switch error.networkCode.flatMap(NetworkCode.init(rawValue:)) {
        // A listener that closes ends its connections, also the one of this request.
        case .cannotConnectToHost, .connectionLost: break
        case .timedOut: holder = max(holder, .silent)
        default: holder = max(holder, .otherProgram)
        }
      }
    }
    return holder
  }
}

extension Problem {
  /// A sign-in of another process has the port. It is free at the end of that one.
  static func takenBySignIn(_ place: RedirectPlace) -> Problem {
    Problem(
      .flowNotSupported, "a sign-in of another program uses port \(list(place.ports))",
      detail: Problem.portQueue, isRetryable: true)
  }

  /// The listener could not be opened. Retryable if another program has the port.
  static func nothingToListenOn(_ place: RedirectPlace, _ error: SystemError) -> Problem {
    let why =
      if error.isExhaustion {
        error.explanation
      } else if place.ports.isEmpty {
        "this machine has no free port"
      } else if error.isAddressInUse {
        "other programs use port \(list(place.ports))"
      } else {
        "this machine does not allow einlass to use port \(list(place.ports))"
      }
    return Problem(
      .flowNotSupported, "the redirect address cannot be opened, because \(why)",
      isRetryable: error.isAddressInUse)
  }
}

private func list(_ ports: [UInt16]) -> String {
  ports.map { "\($0)" }.joined(separator: ", ")
}
