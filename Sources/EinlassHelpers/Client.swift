package import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// A client of the protocol, with the requests that all commands share.
package protocol Client: AnyObject {
  var session: Session { get }
  /// Calls a method.
  func call(_ method: String, _ params: JSONObject) throws(Failure) -> JSONObject
  /// Ends einlass.
  func end()
}

extension Client {
  /// The connection to einlass.
  package var einlass: Conversation { session.einlass }
  /// The name sent in `initialize`.
  package var application: String { session.application }
  /// The result of `initialize`.
  package var greeting: JSONObject { session.greeting }

  /// Runs the body, then ends einlass. A configuration problem is noted after a success in spite of
  /// it.
  package func run(_ body: () throws(Failure) -> Void) throws(Failure) {
    do throws(Failure) { try body() } catch {
      let failure = session.remembering(error.asked(by: application))
      end()
      throw failure
    }
    if let problem = greeting["configuration"]?["problem"] {
      let note = Style(for: STDERR_FILENO).tinted("   note:", .warning)
      complain("\(note) \(problem.explanation(repeating: session.repeated))")
    }
    end()
  }

  /// Calls a method without parameters.
  package func call(_ method: String) throws(Failure) -> JSONObject {
    try call(method, JSONObject())
  }

  /// Returns the elements of a list from all its pages, or the first `limit` of them.
  package func list(
    _ method: String, _ member: String, _ params: JSONObject = JSONObject(), limit: Int = .max
  ) throws(Failure) -> [JSONValue] {
    var params = params
    var all: [JSONValue] = []
    while all.count < limit {
      let page = try call(method, params)
      all += page[member]?.array ?? []
      guard let cursor = page["nextCursor"] else { break }
      params["cursor"] = cursor
    }
    return Array(all.prefix(limit))
  }

  /// Returns all accounts, or those of one provider.
  package func accounts(of provider: String? = nil) throws(Failure) -> [Account] {
    let params: JSONObject = provider.map { ["provider": .string($0)] } ?? JSONObject()
    return try list("accounts.list", "accounts", params).compactMap(Account.init)
  }

  /// Prints a result: as JSON with `--json`, else as lines for people.
  package func report(_ json: JSONValue, _ lines: @autoclosure () -> [String]) throws(Failure) {
    try session.show(json, lines())
  }
}
