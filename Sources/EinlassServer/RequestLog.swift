internal import Einlass
internal import EinlassRPC
internal import EinlassSystem

extension Effects {
  /// Returns the same effects, with a debug line for each request to a provider and a warning for
  /// each refresh that failed.
  func logged(in log: Lock<Log>) -> Effects {
    with(
      send: { [send] request throws(Problem) in
        let log = log.withLock { $0 }
        let begunAt = milliseconds()
        func note(_ outcome: String) {
          log.debug("http", "\(request.shown) \(outcome), \(milliseconds() - begunAt) ms")
        }
        do throws(Problem) {
          let response = try await send(request)
          note("\(response.status)")
          return response
        } catch {
          note(error.networkCode.map { "\(error.reason.rawValue) \($0)" } ?? error.reason.rawValue)
          throw error
        }
      },
      noteFailedRefresh: { account, problem in
        let said = problem.serverError.map { error in
          let words = [error.status.map { "status \($0)" }, error.code, error.text]
          return " (\(words.compactMap(\.self).joined(separator: ", ")))"
        }
        log.withLock { $0 }.warning(
          "refresh",
          "\(account.id.rawValue) of \(account.provider) was not refreshed: \(problem.message)\(said ?? "")"
        )
      })
  }
}

private func milliseconds() -> Int64 { Deadline(milliseconds: 0).monotonicMilliseconds }

extension HTTPRequest {
  /// Method, host and path. Never the query, and no path with values of the request.
  fileprivate var shown: String {
    "\(method.rawValue) \(address.authority)\(hidesPath ? "/…" : address.path)"
  }
}
