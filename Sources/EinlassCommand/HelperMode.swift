internal import EinlassHelpers
internal import EinlassRPC
internal import EinlassSystem
internal import Glibc

/// einlass as a helper of other programs, under a name such as `git-credential-einlass` or as
/// `einlass helper`. The helper and the server are two threads of one process.
enum HelperMode {
  /// Answers the question and returns the exit code.
  static func answer(_ question: any ProgramProtocol) -> Int32 {
    // The number of a closed output would be given to another descriptor.
    guard fcntl(STDOUT_FILENO, F_GETFD) >= 0 else {
      return EinlassCommand.ExitCode.failed
    }
    var code: Int32 = 0
    do throws(Failure) {
      let server = try HelperServer()
      do throws(Failure) {
        try question.answer(by: ServerChoice(), inside: server.inside)
      } catch { code = error.exitCode }
      // The program waits for the exit, and the store needs no orderly end.
      if !server.end(within: Deadline(milliseconds: 500)) { _exit(code) }
    } catch {
      error.report(ServerChoice(), servesProgram: true)
      code = error.exitCode
    }
    return code
  }

  /// Returns the words after `einlassctl` that the arguments stand for; `nil` unless they call a
  /// helper.
  static func words(_ arguments: [String]) -> ArraySlice<String>? {
    if let words = UsualForm.words(ofHelper: arguments) { return words }
    return arguments.dropFirst().first == "helper" ? arguments.dropFirst(2) : nil
  }

  /// Returns the question of the words, if this einlass is the one that answers it.
  static func question(_ words: ArraySlice<String>) -> (any ProgramProtocol)? {
    guard let question = UsualForm.question(words), let beside = ServerLocation.beside,
      beside == Program.path
    else { return nil }
    return question
  }

  /// Goes on as einlassctl, which knows all options and any other einlass. Returns only if there is
  /// none, or if it became this program again.
  static func becomeControl(_ arguments: [String], _ words: ArraySlice<String>) {
    guard !Hardening.hasRaisedPrivileges,
      let control = ServerLocation.installed("einlassctl")
    else { return }
    // An einlassctl that is a script or a link may lead back here, in the same process.
    let (mark, process) = ("EINLASS_LEFT_BY", String(getpid()))
    guard Environment.value(mark) != process else { return }
    Environment.set(mark, process)
    // It speaks to this program then, and does not become it again.
    if let own = Program.path, Environment.value("EINLASS") == nil {
      Environment.set("EINLASS", own)
    }
    // A prompter shows the name under which a helper was started. A script would not get it.
    let keepsName = UsualForm.words(ofHelper: arguments) != nil && Program.isBinary(control)
    Program.become(control, keepsName ? arguments : ["einlassctl"] + words)
  }
}

/// The server of a helper.
private final class HelperServer: Sendable {
  private let hasLeftWork = Lock(false)
  private let isServing = Lock(false)
  private let hasEnded: WakeUp

  init() throws(Failure) {
    do throws(SystemError) { hasEnded = try WakeUp() } catch { throw .notStarted(error) }
  }

  var inside: ServerInside {
    ServerInside(
      start: { streams throws(Failure) in try self.start(streams) },
      hasLeftWork: { self.hasLeftWork.withLock { $0 } })
  }

  private func start(_ streams: consuming StandardStreams) throws(Failure) {
    let streams = Lock<StandardStreams?>(streams)
    do throws(SystemError) {
      try WorkThread.start("einlass-serve") { [self] in
        if let streams = streams.withLock({ $0.take() }) { serve(streams) }
        hasEnded.ring()
      }
    } catch { throw .notStarted(error) }
    isServing.withLock { $0 = true }
  }

  /// Without a server the helper sees the end of its output.
  private func serve(_ streams: consuming StandardStreams) {
    guard let options = try? Options([]), let wiring = try? Wiring(options) else { return }
    guard !wiring.runsKeyCommand else { return hasLeftWork.withLock { $0 = true } }
    try? wiring.serveInside(streams) { [self] in hasLeftWork.withLock { $0 = true } }
  }

  /// Returns whether the server has ended by the deadline.
  func end(within deadline: Deadline) -> Bool {
    guard isServing.withLock({ $0 }) else { return true }
    var poller = Poller(slots: 1)
    poller.watch(0, hasEnded.number, for: .readable)
    poller.wait(milliseconds: deadline.millisecondsLeft)
    return poller.happened(0, .readable)
  }
}
