internal import ArgumentParser
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// A command that talks to einlass.
protocol ServerCommand: ParsableCommand {
  /// What every command takes.
  var server: ServerOptions { get }
  /// The application that it speaks for; `nil`: for itself.
  var actsAs: String? { get }
  /// Whether a browser may be started for it.
  var opensBrowser: Bool { get }
  /// The prompts that it shows where nobody can type.
  var shownUnasked: [String] { get }
  /// Does it.
  func run(with console: Console) throws(Failure)
}

extension ServerCommand {
  var actsAs: String? { nil }
  var opensBrowser: Bool { true }
  var shownUnasked: [String] { [] }

  mutating func run() throws {
    let style = Style(for: STDERR_FILENO)
    do throws(Failure) {
      let console = try Console(
        server, actingAs: actsAs, opensBrowser: opensBrowser, shownUnasked: shownUnasked)
      do throws(Failure) {
        try run(with: console)
        console.warn(style)
      } catch {
        console.end()
        throw error
      }
      console.end()
    } catch {
      if server.json, let json = error.json {
        try? TextOutput(STDOUT_FILENO).write(printable(["error": json]) + "\n")
      }
      let lines = error.asked(by: actsAs).lines(repeating: server.repeated, style)
      for line in lines { complain(line) }
      throw error
    }
  }
}

/// What a command works with: einlass, the person if there is one, and the output.
final class Console {
  /// The talk with einlass.
  let einlass: Conversation
  /// `nil` when nobody can be asked.
  let person: Person?
  /// What `initialize` answered.
  let greeting: JSONObject
  private let isJSON: Bool
  /// Whether a store that is made now is opened by a passphrase that may have been brought for a file.
  private var mayBeSealed = false
  private let output: TextOutput
  /// How text is set off on standard output.
  let style = Style(for: STDOUT_FILENO)

  init(
    _ options: ServerOptions, actingAs application: String? = nil, opensBrowser: Bool = true,
    shownUnasked: [String] = []
  ) throws(Failure) {
    isJSON = options.json
    output = try TextOutput(STDOUT_FILENO)
    einlass = try Conversation(options)
    person = options.noInput ? nil : Person(einlass)
    greeting = try einlass.request(
      "initialize",
      [
        "protocolVersion": 1,
        "client": ["name": .string(application ?? "einlassctl"), "version": .string(version)],
        "processId": JSONValue(Int64(getpid())),
        "capabilities": ["prompts": JSONValue(person == nil ? shownUnasked : Questions.kinds)],
      ], patience: 15_000)
    listen(opensBrowser)
    mayBeSealed =
      options.passphraseFd != nil && (try? call("store.status")["exists"]?.bool) == false
  }

  /// Says what is wrong with the files that were named, where the command did not need them.
  fileprivate func warn(_ style: Style) {
    guard let problem = greeting["configuration"]?["problem"]?["message"]?.string else { return }
    complain("\(style.tinted("   note:", .warning)) \(clean(problem))")
  }

  /// Ends einlass.
  func end() {
    if mayBeSealed, let slots = (try? call("store.status"))?["slots"]?.array,
      slots == ["passphrase"]
    {
      complain(
        "   note: The store is new, and nothing but this passphrase opens it. A key file besides: "
          + "einlassctl store slots add keyfile")
    }
    einlass.end()
  }

  /// Calls a method.
  func call(_ method: String, _ params: JSONObject = JSONObject()) throws(Failure) -> JSONObject {
    person?.hasGivenUp = false
    do throws(Failure) { return try einlass.request(method, params) } catch {
      guard case .refused = error, person?.hasGivenUp == true else { throw error }
      throw .cancelled
    }
  }

  /// A list over all its pages, or its first so many elements.
  func list(
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

  /// Prints what was done: the JSON, or the lines for people.
  func report(_ json: JSONValue, _ lines: @autoclosure () -> [String]) throws(Failure) {
    let lines = isJSON ? [printable(json)] : lines()
    try einlass.show(lines.map { $0 + "\n" }.joined(), on: output)
  }

  /// Prints one thing: the JSON, or for people what is known of it by name.
  func report(_ json: JSONValue, _ known: [(name: String, value: String?)]) throws(Failure) {
    let names = known.map(\.name.columns).max() ?? 0
    try report(
      json,
      known.flatMap { name, value in
        value.map { labelled("\(name.padded(to: names))  ", clean($0), width) } ?? []
      })
  }

  /// Prints what was done: the JSON, or a table for people, or what is said of an empty one.
  func report(_ json: JSONValue, _ table: Table, empty: String) throws(Failure) {
    try report(json, table.rows.isEmpty ? [empty] : table.lines(width: width, style: style))
  }

  /// Columns of the terminal that standard output is; `nil` where it is none.
  private var width: Int? { Terminal.size(of: STDOUT_FILENO)?.columns }

  /// What a tint makes of a text on standard output.
  func tinted(_ text: String, _ tint: Style.Tint) -> String { style.tinted(text, tint) }

  private func listen(_ opensBrowser: Bool) {
    guard let person else {
      einlass.onNotification = { [unowned self] method, params throws(Failure) in
        if waitsForPort(method, params) { complain(Console.portIsTaken) }
        guard method == "prompt.opened" else { return }
        complain(Questions.deviceCode(params, Style(for: STDERR_FILENO)))
        try answer(["prompt": params["prompt"] ?? .null, "action": "accept"])
      }
      return
    }
    let questions = Questions(person: person, opensBrowser: opensBrowser)
    einlass.onNotification = { [unowned self] method, params throws(Failure) in
      switch method {
      case "prompt.opened":
        if let answer = try questions.answer(params) { try self.answer(answer) }
      case _ where waitsForPort(method, params): person.show(Console.portIsTaken)
      case "store.progress": person.showProgress(params["done"]?.int64, of: params["total"]?.int64)
      default: break
      }
    }
  }

  private static let portIsTaken =
    "Another program has the port that the browser comes back to. It is waited for, a minute at most."

  private func waitsForPort(_ method: String, _ params: JSONObject) -> Bool {
    method == "auth.progress" && params["stage"] == "awaitingPort"
  }

  private func answer(_ answer: JSONObject) throws(Failure) {
    do throws(Failure) { _ = try einlass.request("prompt.answer", answer) } catch .refused {
      // It has closed meanwhile; the request that asked says so better.
    }
  }
}
