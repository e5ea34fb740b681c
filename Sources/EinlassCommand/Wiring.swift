internal import Einlass
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassNetwork
internal import EinlassRPC
internal import EinlassServer
internal import EinlassStorage
internal import EinlassSystem

/// Makes the parts of the server from the options.
final class Wiring {
  /// A reason not to start.
  enum Refusal: Error {
    /// The command line combines options that exclude each other: exit 64.
    case usage(String)
    /// A file named on the command line cannot be used: exit 78.
    case configuration(String)
  }

  private static let fileLimitBytes = 1 << 20

  private let options: Options
  private let parts: Server.Parts

  init(_ options: Options) throws(Refusal) {
    var options = options.withUsualConfiguration
    var (configuration, problem) = Self.configuration(options.configuration)
    options.store = options.store ?? configuration.store
    let choice = StoreChoice(options, keyCommand: configuration.keyCommand)
    var catalog = ProviderCatalog.none
    var leftOut: [ProviderCatalog.Fault] = []
    var overlayText: [UInt8]?
    if problem == nil {
      do throws(Problem) {
        overlayText = try Self.added(choice)
        (catalog, leftOut) = try Self.catalog(
          options, overlayText, configuration)
      } catch {
        (configuration, problem) = (Configuration(), error)
      }
    }
    // The file that cannot be used may ask for it.
    if problem != nil { configuration.requiresAudit = true }
    if options.isTest || options.answers != nil, problem == nil {
      // With scripted answers or a scripted clock, stored accounts must not reach a live provider.
      if options.store != "memory" { catalog = catalog.onThisMachine }
      guard !catalog.providers.isEmpty else {
        throw .usage(
          "--test and --answers need --store memory, or --config with loopback origins for the providers"
        )
      }
    }
    let clock = options.isTest ? TestClock(startingAt: LiveEffects.now()) : nil
    let effects = LiveEffects.make(
      caFile: configuration.caFile, proxy: configuration.proxy,
      internalHosts: configuration.internalHosts, clock: clock
    ).with(readAssertionFile: { path throws(Problem) in try Self.assertion(path) })
    var parts = Server.Parts(
      catalog: catalog, store: choice.store(keyCommand: configuration.keyCommand),
      audit: choice.auditLines(isRequired: configuration.requiresAudit), files: .local,
      overlay: choice.overlay, effects: effects, configuration: configuration,
      configurationProblem: problem, leftOut: leftOut,
      script: try Self.script(options.answers), version: version)
    parts.watch = choice.watching
    parts.overlayText = overlayText
    parts.network = NetworkSource(isOnline: NetworkState.isOnline) {
      guard let watch = try? NetworkWatch() else { return nil }
      return NetworkSource.Watch(number: watch.number, clear: watch.clear)
    }
    parts.prompter = options.prompter.map { [$0] } ?? configuration.prompter
    if options.isPseudo { parts.language = .pseudo }
    parts.door = try options.door.door()
    if let clock { parts.advanceClock = { clock.advance(.seconds($0)) } }
    self.parts = parts
    self.options = options
  }

  /// Whether the configuration is unusable. The front end hears of it in `initialize`.
  var isMisconfigured: Bool { parts.configurationProblem != nil }

  /// Makes a server of these parts.
  func server() -> Server { Server(parts) }

  /// Serves a connection to its end and returns the exit code.
  func serve(
    _ streams: consuming StandardStreams, finishes: Bool, framing: Framing?
  ) throws -> Int32 {
    var options = Peer.Options()
    options.finishesWork = finishes
    options.watchesProcesses = !self.options.isForwarded
    options.framing = framing
    options.log = try log()
    options.trace = try trace()
    for fault in parts.leftOut {
      options.log.warning("configuration", "An added provider cannot be used: \(fault)")
    }
    let server = server()
    defer { parts.audit.finish() }
    do throws(Problem) { try server.openDoor() } catch {
      throw Refusal.configuration("The door stays closed. \(error.message)")
    }
    defer { server.closeDoor() }
    let code = try server.serve(streams, signals: SignalDescriptor(), options: options)
    // An answer to `initialize` has named the problem already.
    if let problem = parts.configurationProblem, !server.hasGreeted {
      options.log.error("configuration", problem.message)
    }
    return code
  }

  /// Whether a program may be asked for the store's key. It may ask the person, so it is run once,
  /// and not by a helper that leaves its work to another process.
  var runsKeyCommand: Bool { !parts.configuration.keyCommand.isEmpty }

  /// Serves a helper of this process, from the store alone.
  ///
  /// - Parameter leavesWork: Hears of a renewal, which is left to a process that nobody waits for: a
  ///   program may end its helper at any time, and the answer of the provider must not be lost.
  func serveInside(
    _ streams: consuming StandardStreams, leavesWork: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    var parts = parts
    parts.store = parts.store.with(
      lease: { _ throws(Problem) in
        leavesWork()
        throw .left
      },
      begunRenewals: BegunRenewals.none)
    parts.effects = parts.effects.with(send: { _ throws(Problem) in
      leavesWork()
      throw .left
    })
    var options = Peer.Options()
    options.watchesProcesses = false
    options.framing = .lines
    defer { parts.audit.finish() }
    _ = try Server(parts).serve(streams, signals: nil, options: options)
  }

  private func log() throws -> Log {
    let level = Log.Level(rawValue: options.logLevel) ?? .info
    return Log(level, to: try Descriptor.duplicate(2), now: LiveEffects.now)
  }

  private func trace() throws -> Trace? {
    guard let path = options.trace else { return nil }
    do throws(FileError) {
      return Trace(to: try CappedFile(path), now: LiveEffects.now)
    } catch {
      throw Refusal.configuration("The trace \(path) \(error.explanation)")
    }
  }

  /// The configuration, or the reason for having none. A fault elsewhere in the file does not lead
  /// to another store.
  private static func configuration(_ path: String?) -> (Configuration, Problem?) {
    var configuration = Configuration()
    guard let path else { return (configuration, nil) }
    do throws(Problem) {
      let json = try configurationFile(path)
      configuration.store = json["store"]?.string
      do throws(ConfigurationError) { return (try Configuration(json), nil) } catch {
        throw .configuration(
          "The configuration \(path) needs \(error.expected) at \(error.pointer).", path)
      }
    } catch {
      return (configuration, error)
    }
  }

  /// Reads the configuration. Others may read one without a secret, which a package manager installs
  /// for everybody.
  private static func configurationFile(_ path: String) throws(Problem) -> JSONValue {
    do throws(Problem) {
      return try read(path, others: .mayNothing, what: "configuration")
    } catch {
      guard let json = try? read(path, others: .mayRead, what: "configuration") else {
        throw error
      }
      guard let secret = json.firstSecretOfConfiguration else { return json }
      // The owner of the file can close it, and gets the command for that.
      guard error.command == nil else { throw error }
      throw .configuration(
        "Others may read the configuration \(path), and it has \(secret).", path)
    }
  }

  /// The built-in catalogue with the changes of the configuration, the providers of the person's file
  /// and the added ones over it, moved to the origins of the configuration; and the added providers
  /// that cannot be read.
  private static func catalog(
    _ options: Options, _ added: [UInt8]?, _ configuration: Configuration
  ) throws(Problem) -> (ProviderCatalog, [ProviderCatalog.Fault]) {
    var leftOut: [ProviderCatalog.Fault] = []
    let file = "The configuration \(options.configuration ?? "")"
    var catalog = try described(file, options.configuration) {
      () throws(ProviderCatalog.Fault) in
      try ProviderCatalog.builtIn.changed(by: configuration.providers)
    }
    if let path = options.providers {
      let json = try bytes(path, others: .mayRead, what: "provider file")
      catalog = try described("The provider file \(path)", path) {
        () throws(ProviderCatalog.Fault) in
        catalog.overlaid(by: try ProviderCatalog(json: json, models: catalog))
      }
    }
    if let json = added {
      (catalog, leftOut) = try described("The file of added providers", nil) {
        () throws(ProviderCatalog.Fault) in try catalog.adding(json: json)
      }
    }
    let moved = try described(file, options.configuration) {
      () throws(ProviderCatalog.Fault) in
      try catalog.relocated(origins: configuration.origins)
    }
    return (moved, leftOut)
  }

  /// The added providers. An unusable folder is reported by the store at its first use.
  private static func added(_ choice: StoreChoice) throws(Problem) -> [UInt8]? {
    let overlay = choice.overlay
    do throws(Problem) { return try overlay.read() } catch {
      guard let path = error.path, let name = overlay.fileName, path.hasSuffix("/\(name)") else {
        return nil
      }
      throw .configuration(error.message, path, advice: error.advice)
    }
  }

  /// Returns the result of the body. A fault becomes a problem that names the file.
  private static func described<Result>(
    _ file: String, _ path: String?, _ body: () throws(ProviderCatalog.Fault) -> Result
  ) throws(Problem) -> Result {
    do throws(ProviderCatalog.Fault) { return try body() } catch {
      throw .configuration("\(file) cannot be used: \(error.description)", path)
    }
  }

  private static func script(_ path: String?) throws(Refusal) -> Script {
    guard let path else { return Script() }
    do {
      let bytes = try bytes(path, others: .mayNothing, what: "answers file")
      var lines: [JSONValue] = []
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        lines.append(try JSONReader.read(line))
      }
      return try Script(lines)
    } catch let error as Problem {
      throw .configuration(error.message)
    } catch let error as ConfigurationError {
      throw .configuration("The answers file \(path) needs \(error.expected) at \(error.pointer).")
    } catch {
      throw .configuration("The answers file \(path) is not JSON Lines.")
    }
  }

  private static func read(
    _ path: String, others: PersonalFile.Others, what: String
  ) throws(Problem) -> JSONValue {
    let bytes = try bytes(path, others: others, what: what)
    do throws(JSONFile.Fault) { return try JSONFile.read(bytes) } catch {
      throw .configuration("The \(what) \(path) \(error.explanation).", path)
    }
  }

  /// The file of a registration with its assertion. The domain checks the content.
  private static func assertion(_ path: String) throws(Problem) -> Secret {
    do throws(FileError) {
      let bytes = try PersonalFile.read(path, others: .mayNothing, limitBytes: 32 << 10)
      let end = bytes.lastIndex { !" \t\r\n".utf8.contains($0) }
      return Secret(Array(bytes[..<(end.map { $0 + 1 } ?? 0)]))
    } catch {
      throw Problem(
        .authenticatorUnconfigured, "The assertionFile \(path) \(error.explanation)",
        advice: Problem.Advice.of(error) ?? .correctFile, command: error.command,
        detail: "assertionFile",
        path: path)
    }
  }

  private static func bytes(
    _ path: String, others: PersonalFile.Others, what: String
  ) throws(Problem) -> [UInt8] {
    do throws(FileError) {
      return try PersonalFile.read(path, others: others, limitBytes: fileLimitBytes)
    } catch {
      throw .configuration(
        "The \(what) \(path) \(error.explanation)", path, advice: Problem.Advice.of(error),
        command: error.command)
    }
  }
}

extension DoorOptions {
  /// The door of these options, which opens now; `nil` without one.
  fileprivate func door() throws(Wiring.Refusal) -> Door? {
    guard let application else { return nil }
    let now = LiveEffects.now()
    guard end.map({ $0 > now }) ?? true else { throw .usage("--until is over") }
    return Door(
      application: application, methods: methods, accounts: accounts.map(Account.ID.init),
      end: end, now: now, bootSeconds: { BootTime.seconds })
  }
}

extension Options {
  /// The options with the person's usual configuration file, if there is one. With another store
  /// the file has to be named, because its registrations and accounts belong to the usual store.
  fileprivate var withUsualConfiguration: Options {
    guard configuration == nil, store == nil, let path = PersonalFile.configurationPath,
      FileStatus.at(path) != nil
    else { return self }
    var options = self
    options.configuration = path
    return options
  }
}

extension Problem {
  fileprivate static var left: Problem {
    Problem(.cancelled, "The request is left to another process.")
  }

  fileprivate static func configuration(
    _ message: String, _ path: String?, advice: Advice? = nil, command: String? = nil
  ) -> Problem {
    Problem(
      .authenticatorUnconfigured, message, advice: advice ?? .correctFile, command: command,
      detail: "configuration", path: path)
  }
}
