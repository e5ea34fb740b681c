internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl setup`.
struct Setup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Make another program take its tokens from einlass.",
    discussion: """
      Shows the change of the program's configuration and the access that it gets, and asks. --undo \
      takes both back. Values that have changed since stay.
      """,
    subcommands: [GitSetup.self, DockerSetup.self, KubectlSetup.self])
}

/// A setting of a program, with all its values.
struct Setting: Equatable {
  var name: String
  var values: [String]
}

/// The options that all setups share.
struct SetupOptions: ParsableArguments {
  @Flag(help: "Take the setup back.")
  var undo = false

  @Flag(help: "Do not ask for confirmation.")
  var yes = false
}

/// A program that `einlassctl setup` configures.
protocol SetupCommand: ServerCommand {
  /// The name of the program and of its application in access decisions.
  static var program: String { get }
  /// The place of the settings, for people.
  static var place: String { get }
  var setup: SetupOptions { get }
  /// Returns the settings for einlass, and the providers of the tokens.
  func plan(_ console: Console) throws(Failure) -> (settings: [Setting], providers: [String])
  /// Returns the present values of a setting.
  static func values(of name: String) throws(Failure) -> [String]
  /// Returns the names of all settings that name einlass, whether `einlassctl setup` made them or
  /// the person.
  static func present() throws(Failure) -> [String]
  /// Returns the command of these values that does not start einlass; `nil` if there is none.
  static func deadCommand(in values: [String]) -> String?
  /// Replaces the values of a setting. Without values, removes it.
  static func write(_ setting: Setting) throws(Failure)
  /// The scopes that the program's tokens need: those of this name in `scopeNames`, or at a provider
  /// without the name the others; `nil` if any token will do.
  static var needs: ScopeNeed? { get }
  /// Returns the requests to `services.resolve` for the accounts that these settings get, as far as
  /// they name an address or an account.
  static func places(of settings: [Setting]) -> [JSONObject]
  /// Returns a program besides einlass that gets the tokens of this setting too; `nil` if there is
  /// none.
  static func otherReceiver(of name: String) throws(Failure) -> String?
}

extension SetupCommand {
  /// The values of a setting that the person is shown, and those that it gets.
  private typealias Look = (present: [String], after: Setting)

  static var needs: ScopeNeed? { nil }
  static func places(of settings: [Setting]) -> [JSONObject] { [] }
  static func otherReceiver(of name: String) throws(Failure) -> String? { nil }

  func run(with console: Console) throws(Failure) {
    guard !setup.undo else { return try takeBack(console) }
    guard server.store == nil else {
      throw .usage(
        "\(Self.program) would start einlass without --store. Name the store in the configuration file."
      )
    }
    try apply(console)
  }

  private func apply(_ console: Console) throws(Failure) {
    let (settings, providers) = try plan(console)
    var looks: [Look] = []
    for setting in settings { looks.append((try Self.values(of: setting.name), setting)) }
    let changes = looks.filter { $0.present != $0.after.values }
    let granted = try console.granted(to: Self.program)
    let missing = providers.filter { provider in !granted.contains { sameBytes($0, provider) } }
    guard !changes.isEmpty || !missing.isEmpty else {
      try console.report([:], ["\(Self.program) is set up already."])
      return try offerScopes(at: providers, settings, console)
    }
    for (present, after) in changes { show(after.name, from: present, to: after.values) }
    for provider in missing {
      complain("access: \(Self.program) may use \(clean(provider)) accounts")
    }
    try console.confirm("Make these changes?", isAgreed: setup.yes)
    try SetupRecord.edit(server) { record throws(Failure) in
      // Another command may have changed also a setting that looked right, and it may have been
      // writing when the values were shown.
      let changes = try unfinished(looks)
      for (present, after) in changes { record.add(after, from: present, of: Self.program) }
      for provider in missing { record.addAccess(to: provider, of: Self.program) }
      // Recorded before the first change, so that an interrupted setup can be taken back.
      try record.save(unfinished: Self.program)
      for (_, after) in changes { try Self.write(after) }
      for provider in missing {
        _ = try console.call(
          "access.set",
          [
            "application": .string(Self.program), "provider": .string(provider),
            "state": "granted",
          ])
      }
      record.finish(Self.program)
      try record.save()
    }
    for setting in settings {
      guard let other = try Self.otherReceiver(of: setting.name) else { continue }
      complain(
        "warning: \(Self.program) gives the tokens also to \(clean(other)), because its setting stands after \(clean(setting.name)). Move it to the beginning of that file, or remove it."
      )
    }
    try console.report([:], ["\(Self.program) takes its tokens from einlass now."])
    try offerScopes(at: providers, settings, console)
  }

  private func takeBack(_ console: Console) throws(Failure) {
    let record = try SetupRecord(server)
    // A denial since the setup stays.
    let granted = try console.granted(to: Self.program)
    let providers = record.access(of: Self.program).filter { provider in
      granted.contains { sameBytes($0, provider) }
    }
    guard record.programs.contains(Self.program) else {
      return try console.report([:], ["\(Self.program) was not set up by einlassctl."])
    }
    var looks: [Look] = []
    for change in record.changes(of: Self.program) {
      let (name, present) = (change.ours.name, try Self.values(of: change.ours.name))
      if present == change.before || record.mayHaveLeft(present, by: change, of: Self.program) {
        if present != change.before { show(name, from: present, to: change.before) }
        looks.append((present, Setting(name: name, values: change.before)))
      } else {
        complain("\(Self.place): \(clean(name)) has changed since and stays")
      }
    }
    for provider in providers {
      complain("access: \(Self.program) asks again for \(clean(provider))")
    }
    try console.confirm("Make these changes?", isAgreed: setup.yes)
    let (shown, access) = (record.changes(of: Self.program), record.access(of: Self.program))
    try SetupRecord.edit(server) { record throws(Failure) in
      // Another command may have taken it back meanwhile.
      guard record.programs.contains(Self.program) else { return }
      guard record.changes(of: Self.program) == shown,
        record.access(of: Self.program) == access
      else { throw .changedMeanwhile("The setup of \(Self.program)") }
      let changes = try unfinished(looks)
      try record.save(unfinished: Self.program)
      for (_, before) in changes { try Self.write(before) }
      for provider in providers {
        _ = try console.call(
          "access.reset",
          ["application": .string(Self.program), "provider": .string(provider)])
      }
      record.remove(Self.program)
      try record.save()
    }
    try console.report([:], ["\(Self.program) no longer takes its tokens from einlass."])
  }

  /// Returns the changes that are not made yet. Refuses values that the person has not been shown.
  private func unfinished(_ looks: [Look]) throws(Failure) -> [Look] {
    var unfinished: [Look] = []
    for look in looks {
      let present = try Self.values(of: look.after.name)
      guard present != look.after.values else { continue }
      guard present == look.present else {
        throw .changedMeanwhile("\(Self.place): \(clean(look.after.name))")
      }
      unfinished.append(look)
    }
    return unfinished
  }

  private func show(_ name: String, from before: [String], to after: [String]) {
    func text(_ values: [String]) -> String {
      values.isEmpty ? "nothing" : values.map { "\"\(clean($0))\"" }.joined(separator: ", ")
    }
    complain("\(Self.place): \(clean(name))")
    complain("  before: \(text(before))")
    complain("  after:  \(text(after))")
  }
}

extension Failure {
  fileprivate static func changedMeanwhile(_ what: String) -> Failure {
    .unusable("\(what) has changed meanwhile.", NextStep("Start the command again."))
  }
}

extension Console {
  /// Returns the providers to whose accounts an application has access.
  func granted(to application: String) throws(Failure) -> [String] {
    try list("access.list", "grants").filter {
      sameBytes($0["application"]?.string ?? "", application) && $0["state"]?.string == "granted"
    }.compactMap { $0["provider"]?.string }
  }
}

/// Another program on this machine.
enum OtherProgram {
  private static let limitBytes = 1 << 20

  /// Returns the path of a program on the PATH. Throws if there is none.
  static func find(_ name: String) throws(Failure) -> String {
    guard let path = path(of: name) else { throw .unusable("There is no program \(name) here.") }
    return path
  }

  /// Returns the path of a program on the PATH; `nil` if there is none.
  static func path(of name: String) -> String? {
    ServerLocation.searched.map { "\($0)/\(name)" }.first(where: Program.isExecutable)
  }

  /// Returns the name or path of a program that cannot be started; `nil` if it can.
  static func unfound(_ program: String) -> String? {
    let isFound = program.hasPrefix("/") ? Program.isExecutable(program) : path(of: program) != nil
    return isFound ? nil : program
  }

  /// Runs a program and returns its exit code and output.
  static func run(
    _ name: String, _ arguments: [String]
  ) throws(Failure) -> (code: Int32, output: String) {
    let path = try find(name)
    do throws(SystemError) {
      let child = try ChildProcess(path, arguments)
      child.closeInput()
      let output = child.output.readAll(limitBytes: limitBytes) ?? []
      return (child.exitCode() ?? -1, String(decoding: output, as: UTF8.self))
    } catch { throw .unusable("\(path) can't be started: \(error.explanation).") }
  }
}
