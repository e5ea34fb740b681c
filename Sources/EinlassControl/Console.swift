internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// A subcommand with a running einlass.
protocol ServerCommand: ParsableCommand {
  /// The options common to all subcommands.
  var server: ServerOptions { get }
  /// The application name sent in `initialize`; `nil` stands for einlassctl itself.
  var actsAs: String? { get }
  /// Whether an `openURL` prompt starts a browser.
  var opensBrowser: Bool { get }
  /// The prompt kinds that the command answers without a terminal.
  var answersAlone: [String] { get }
  /// Whether another program runs the command. Nobody is asked then without need, and a failure is
  /// one line.
  var servesProgram: Bool { get }
  /// Whether a person at the terminal may be asked.
  var asksPerson: Bool { get }
  /// Whether a missing or old token leads to a sign-in: at the terminal, or else by the prompter of
  /// the configuration file.
  var signsIn: Bool { get }
  /// Prepares the subcommand before einlass starts. Returns `false` if nothing is left to do.
  mutating func begins() throws(Failure) -> Bool
  /// Runs the subcommand.
  func run(with console: Console) throws(Failure)
}

extension ServerCommand {
  var actsAs: String? { nil }
  var opensBrowser: Bool { true }
  var answersAlone: [String] { [] }
  var servesProgram: Bool { false }
  func begins() throws(Failure) -> Bool { true }
  var asksPerson: Bool { !server.noInput }
  var signsIn: Bool { false }

  mutating func run() throws {
    do throws(Failure) {
      guard try begins() else { return }
      let console = try Console(
        server, actingAs: actsAs, opensBrowser: opensBrowser, answersAlone: answersAlone,
        asksPerson: asksPerson, signsIn: signsIn, servesProgram: servesProgram)
      try console.run { () throws(Failure) in try run(with: console) }
    } catch {
      let failure = error.asked(by: actsAs)
      failure.report(server.choice, servesProgram: servesProgram, by: complain)
      throw failure
    }
  }
}

/// The environment of a subcommand: the einlass process, the terminal and standard output.
final class Console: Client {
  let session: Session
  /// The person at the terminal; `nil` without a terminal, or if the command may not ask.
  let person: Person?
  /// The password from `--password-fd` for the server of a sign-in.
  var password: String?
  /// Whether the password is kept for a renewal without the person: `--remember`.
  var remembersPassword = false
  /// Whether the server refused that password.
  private var isPasswordRefused = false
  /// Whether this command may create a store that only the passphrase of `--passphrase-fd` opens.
  /// The person may have meant that passphrase for an export file.
  private var mayBeSealed = false
  /// The style of text on standard output.
  let style = Style(for: STDOUT_FILENO)

  init(
    _ options: ServerOptions, actingAs application: String? = nil, opensBrowser: Bool = true,
    answersAlone: [String] = [], asksPerson: Bool? = nil, signsIn: Bool = false,
    servesProgram: Bool = false
  ) throws(Failure) {
    let output = try TextOutput(STDOUT_FILENO)
    // The prompter writes to the same standard error as einlass.
    let einlass = try Conversation(options.choice, isQuiet: servesProgram && !signsIn)
    person = asksPerson ?? !options.noInput ? Person(einlass) : nil
    session = Session(
      einlass, options.choice, output: output, actingAs: application, signsIn: signsIn,
      servesProgram: servesProgram)
    try session.greet(prompts: person == nil ? answersAlone : Questions.kinds)
    listen(opensBrowser)
    mayBeSealed =
      options.passphraseFd != nil && (try? call("store.status")["exists"]?.bool) == false
  }

  /// Ends einlass. Prints a note if the command created a store that only a passphrase opens.
  func end() {
    if mayBeSealed, let slots = (try? call("store.status"))?["slots"]?.array,
      slots == ["passphrase"]
    {
      complain(
        "   note: The store is new, and only this passphrase opens it. To add a key file: "
          + "einlassctl store slots add keyfile")
    }
    session.end()
  }

  /// Calls a method. Throws `.cancelled` if the person gave up one of its prompts.
  func call(
    _ method: String, _ params: JSONObject
  ) throws(Failure) -> JSONObject {
    person?.hasGivenUp = false
    do throws(Failure) { return try session.call(method, params) } catch {
      guard case .refused = error else { throw error }
      if isPasswordRefused { throw .unusable("The server refused that user name or password.") }
      guard person?.hasGivenUp == true else { throw error }
      throw .cancelled
    }
  }

  /// Prints a result: as JSON with `--json`, else as lines for people, broken at words on a terminal.
  func report(_ json: JSONValue, _ lines: [String]) throws(Failure) {
    try session.report(json, lines.map { fitted($0, to: width) })
  }

  /// Prints an object: as JSON, or one line for each name with a value.
  func report(_ json: JSONValue, _ known: [(name: String, value: String?)]) throws(Failure) {
    let names = known.map(\.name.columns).max() ?? 0
    try session.report(
      json,
      known.flatMap { name, value in
        value.map { labelled("\(name.padded(to: names))  ", clean($0), width) } ?? []
      })
  }

  /// Prints a list: as JSON, or as a table. For people, `empty` stands in for a table without rows.
  func report(_ json: JSONValue, _ table: Table, empty: String) throws(Failure) {
    guard !table.rows.isEmpty else { return try report(json, [empty]) }
    try session.report(json, table.lines(width: width, style: style))
  }

  /// Returns the answer to a prompt for the password of the command line. A refused password is not
  /// sent a second time.
  private func givenPassword(_ prompt: JSONObject) -> JSONObject? {
    guard let password, let username = prompt["username"], prompt["kind"] == "enterPassword" else {
      return nil
    }
    let id = prompt["prompt"] ?? .null
    isPasswordRefused = prompt["again"]?.bool == true
    if isPasswordRefused { return ["prompt": id, "action": "cancel"] }
    return [
      "prompt": id, "action": "accept", "username": username, "password": .string(password),
    ]
  }

  /// Answers a prompt. A password is remembered if the command line says so.
  private func answer(_ answer: JSONObject, to prompt: JSONObject) throws(Failure) {
    var answer = answer
    if remembersPassword, prompt["mayRemember"]?.bool == true, answer["action"] == "accept" {
      answer["remember"] = true
    }
    try self.answer(answer)
  }

  /// Columns of the terminal on standard output; `nil` if it is not a terminal.
  private var width: Int? { Terminal.size(of: STDOUT_FILENO)?.columns }

  /// Returns the text in this tint, for standard output.
  func tinted(_ text: String, _ tint: Style.Tint) -> String { style.tinted(text, tint) }

  private func listen(_ opensBrowser: Bool) {
    guard let person else {
      einlass.onNotification = { [unowned self] method, params throws(Failure) in
        if let sentence = sentence(about: method, params) { complain(sentence) }
        guard method == "prompt.opened" else { return }
        if let answer = givenPassword(params) { return try self.answer(answer, to: params) }
        complain(Questions.page(params["show"]?.object ?? [:], Style(for: STDERR_FILENO)))
        try answer(["prompt": params["prompt"] ?? .null, "action": "accept"])
      }
      return
    }
    let questions = Questions(person: person, opensBrowser: opensBrowser)
    einlass.onNotification = { [unowned self] method, params throws(Failure) in
      switch method {
      case "prompt.opened":
        if let answer = givenPassword(params) {
          try self.answer(answer, to: params)
        } else if let answer = try questions.answer(params) {
          try self.answer(answer, to: params)
        }
      case "auth.progress":
        if let sentence = sentence(about: method, params) { person.show(sentence) }
      case "store.progress": person.showProgress(params["done"]?.int64, of: params["total"]?.int64)
      default: break
      }
    }
  }

  private func answer(_ answer: JSONObject) throws(Failure) {
    do throws(Failure) { _ = try einlass.request("prompt.answer", answer) } catch .refused {
      // The prompt has closed meanwhile. The request behind it fails with the reason.
    }
  }
}
