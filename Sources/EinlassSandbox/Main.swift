import Dispatch
import EinlassJSON
import EinlassSystem
import FoundationEssentials
import Glibc

/// Starts the sandbox and runs it until a signal ends it.
@main
struct EinlassSandbox {
  static func main() async {
    guard let arguments = Program.arguments else {
      fail("The system did not hand over the command line, or it is not UTF-8.", code: 78)
    }
    do {
      let options = try Options(Array(arguments.dropFirst()))
      switch options.action {
      case .help: write(Options.help)
      case .version: write("einlass-sandbox \(Options.version)\n")
      case .trial:
        Trial.begin(
          options.command, options.hasRegistrations ? [] : ["--without-registrations"])
        fail("The shell /bin/sh cannot be started.", code: 69)
      case .run: try await run(options)
      }
    } catch let flaw as Options.Flaw {
      fail(flaw.message, code: 64)
    } catch let flaw as StateFile.Flaw {
      fail(flaw.message, code: 78)
    } catch let flaw as ConfigurationFile.Flaw {
      fail(flaw.message, code: 73)
    } catch {
      let cause = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
      fail("The sandbox cannot listen: \(cause)", code: 69)
    }
  }

  private static func run(_ options: Options) async throws {
    let state = try options.stateFile.map(StateFile.read) ?? DemoState.whole
    let running = try RunningSandbox(
      port: options.port, controlPort: options.controlPort, state: state,
      clock: { Int64(Date().timeIntervalSince1970) })
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    var signals: [any DispatchSourceSignal] = []
    signal(SIGINT, SIG_IGN)
    // Ctrl-C in a trial is for the command beside this process.
    for number in options.homeFolder == nil ? [SIGTERM, SIGINT] : [SIGTERM] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { end.yield() }
      // A signal before the registration is ignored, so the ready line waits for it.
      await withCheckedContinuation { continuation in
        source.setRegistrationHandler { continuation.resume() }
        source.resume()
      }
      signals.append(source)
    }
    var announcement = running.announcement
    if !options.hasRegistrations { announcement[at: "config", "applications"] = [:] }
    if let path = options.configurationFile {
      try ConfigurationFile.write(announcement["config"] ?? .null, to: path)
    }
    if let folder = options.homeFolder { try HomeFolder.write(announcement, to: folder) }
    write(announcement.text + "\n")
    try await serve(running, until: ended)
    for source in signals { source.cancel() }
  }

  private static func serve(_ running: RunningSandbox, until ended: AsyncStream<Void>) async throws
  {
    try await withThrowingTaskGroup { group in
      group.addTask {
        try await running.run()
      }
      group.addTask {
        for await _ in ended { break }
      }
      try await group.next()
      group.cancelAll()
    }
  }

  private static func write(_ text: String) {
    try? Descriptor.duplicate(STDOUT_FILENO).writeAll(Array(text.utf8))
  }

  private static func fail(_ message: String, code: Int32) -> Never {
    try? Descriptor.duplicate(STDERR_FILENO).writeAll(Array("einlass-sandbox: \(message)\n".utf8))
    exit(code)
  }
}
