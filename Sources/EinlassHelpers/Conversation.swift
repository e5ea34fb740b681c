package import EinlassJSON
internal import EinlassRPC
package import EinlassSystem

/// The JSON-RPC connection to einlass: a child process, or for a prompter the parent process. Sends
/// one request at a time and handles notifications while it waits for the answer, because a person
/// at a terminal does one thing at a time.
package final class Conversation {
  /// The event that ended a wait.
  package enum Event {
    case answer
    case notification(String, JSONObject)
    /// The descriptor passed as `terminal` is readable.
    case typed
    /// SIGINT (Ctrl-C), SIGTERM or SIGHUP arrived.
    case interrupted
    case ended
    /// The deadline has passed, or the process wrote a line that is not einlass's protocol.
    case silent
  }

  private let path: String
  /// `nil` if einlass is this process or the parent process.
  private let child: ChildProcess?
  /// einlass's input, if it is no child process.
  private var outgoing: Descriptor?
  private let incoming: Descriptor
  private let signals: SignalDescriptor
  private var framer = LineFramer()
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)
  private var messages: [JSONObject] = []
  private var answers: [Int64: JSONObject] = [:]
  private var lastID: Int64 = 0
  private var isEnded = false
  /// Whether the process wrote a line that is not einlass's protocol.
  private var isForeign = false
  /// Whether a request was given up because its time was over.
  private var isLate = false
  /// Ids of closed prompts. They are kept, because a prompt nested in another one may have consumed
  /// the `prompt.closed` notification of the outer one.
  package private(set) var closedPrompts: Set<String> = []

  /// Handles a notification that arrives during a request.
  package var onNotification: (String, JSONObject) throws(Failure) -> Void = { _, _ in }

  /// The einlass of `startEarly`, until a conversation takes it.
  private static let early = Lock<ChildProcess?>(nil)

  /// Starts einlass before the command line is parsed, because each takes about 2.5 ms. Only for a
  /// quiet einlass without options; the next such conversation takes it.
  package static func startEarly() {
    guard let path = try? ServerLocation.find(nil) else { return }
    early.withLock { $0 = try? ChildProcess(path, [], isQuiet: true) }
  }

  /// Starts einlass.
  ///
  /// - Parameter isQuiet: leaves the log of einlass out, unless the options ask for it.
  package init(_ choice: ServerChoice, isQuiet: Bool = false) throws(Failure) {
    path = try ServerLocation.find(choice.path)
    do throws(SystemError) {
      signals = try SignalDescriptor()
      let early = Self.early.withLock { $0.take() }
      let takesEarly = isQuiet && choice.arguments.isEmpty && choice.path == nil
      let child: ChildProcess
      if let early, takesEarly {
        child = early
      } else {
        child = try ChildProcess(
          path, choice.arguments, keeping: choice.descriptors,
          isQuiet: isQuiet && !choice.showsLog)
      }
      incoming = try Descriptor.duplicate(child.output.number)
      self.child = child
    } catch {
      throw .noServer("\(path) can't be started: error \(error.number) of the system.")
    }
  }

  /// Speaks to the parent process on standard input and output.
  package init(toParent: Void) throws(Failure) {
    path = "einlass"
    child = nil
    do throws(SystemError) {
      signals = try SignalDescriptor()
      incoming = try Descriptor.duplicate(0)
      outgoing = try Descriptor.duplicate(1)
    } catch { throw .unusable("Standard input cannot be read: \(error.explanation).") }
  }

  /// Speaks to a server in this process.
  package init(inside server: ServerInside) throws(Failure) {
    path = "einlass"
    child = nil
    let streams: StandardStreams
    do throws(SystemError) {
      // Before the thread of the server, which inherits the blocked signals.
      signals = try SignalDescriptor()
      let (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
      incoming = Descriptor(owning: output.reading)
      outgoing = Descriptor(owning: input.writing)
      streams = StandardStreams(
        input: Descriptor(owning: input.reading), output: Descriptor(owning: output.writing))
    } catch { throw .notStarted(error) }
    try server.start(streams)
  }

  /// Returns the result of a method. Ctrl-C cancels the request; a second Ctrl-C stops waiting for
  /// its answer.
  ///
  /// - Parameter patience: time limit for the answer in milliseconds; `nil` waits without limit.
  package func request(
    _ method: String, _ params: JSONObject = JSONObject(), patience: Int? = nil
  ) throws(Failure) -> JSONObject {
    let id = try send(method, params)
    let deadline = patience.map { Deadline(milliseconds: $0) }
    var isCancelled = false
    while true {
      if let answer = answers.removeValue(forKey: id) {
        if let error = answer["error"] {
          throw isCancelled ? .cancelled : .refused(Refusal(error))
        }
        return answer["result"]?.object ?? JSONObject()
      }
      switch next(by: deadline) {
      case .answer, .typed: break
      case .notification(let method, let params): try onNotification(method, params)
      case .interrupted:
        guard !isCancelled else { throw .cancelled }
        isCancelled = true
        cancel(id)
      case .ended: throw isCancelled ? .cancelled : gone()
      case .silent where isForeign:
        throw .noServer("\(path) did not answer like einlass. \(ServerLocation.remedy)")
      case .silent where method == "initialize":
        throw .noServer(
          "\(path) gave no answer. If it is einlass, look at the disk or the database of its account "
            + "store. \(ServerLocation.remedy)")
      case .silent:
        cancel(id)
        isLate = true
        throw .unusable("No answer came in time. Check the network connection, then try again.")
      }
    }
  }

  /// Waits for the next event, including input on `terminal`.
  package func next(typing terminal: Int32 = -1, by deadline: Deadline? = nil) -> Event {
    while true {
      if isForeign { return .silent }
      if !messages.isEmpty { return event(of: messages.removeFirst()) }
      if isEnded { return .ended }
      var poller = Poller(slots: 3)
      poller.watch(0, incoming.number, for: .readable)
      poller.watch(1, signals.number, for: .readable)
      poller.watch(2, terminal, for: .readable)
      poller.wait(milliseconds: deadline?.millisecondsLeft ?? -1)
      if poller.happened(1, .readable), signals.next() != nil { return .interrupted }
      if poller.happened(0, .readable) {
        readOutput()
      } else if poller.happened(2, [.readable, .lost]) {
        return .typed
      } else if deadline?.millisecondsLeft == 0 {
        return .silent
      }
    }
  }

  /// Writes a text. Throws `.cancelled` on Ctrl-C if the reader has stopped reading.
  package func show(_ text: String, on output: borrowing TextOutput) throws(Failure) {
    do throws(Failure) { try output.write(text, unlessReadable: signals.number) } catch {
      if case .cancelled = error { _ = signals.next() }
      throw error
    }
  }

  /// Reads a descriptor to its end. Returns `nil` if the content exceeds the limit or cannot be
  /// read. Ctrl-C ends the wait.
  package func contents(of number: Int32, limitBytes: Int) throws(Failure) -> [UInt8]? {
    guard let input = try? Descriptor.duplicate(number) else { return nil }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count <= limitBytes {
      switch next(typing: input.number) {
      case .typed:
        switch input.read(into: &part) {
        case .bytes(let count): bytes += part[..<count]
        case .end: return bytes
        case .wouldWait: break
        case .failed: return nil
        }
      case .interrupted: throw .cancelled
      case .ended, .silent: throw gone()
      case .answer, .notification: break
      }
    }
    return nil
  }

  /// Closes einlass's input and does not wait for its exit.
  package func leave() {
    onNotification = { _, _ in }
    outgoing = nil
    child?.closeInput()
    child?.leave()
  }

  /// Closes einlass's input and waits at most 5 seconds for its exit. A slower einlass finishes its
  /// writes on its own.
  package func end() {
    // The handler retains the `Person` and its `Terminal`, and only the terminal's deinit restores
    // the terminal's mode.
    onNotification = { _, _ in }
    guard let child else { return }
    child.closeInput()
    // A refresh that has begun is finished by einlass alone, because its answer must not be lost.
    guard !isLate else { return child.leave() }
    let deadline = Deadline(milliseconds: 5_000)
    while true {
      switch next(by: deadline) {
      case .answer, .notification, .typed: continue
      case .ended: if child.exitCode(within: deadline) == nil { child.leave() }
      case .interrupted, .silent: break
      }
      return
    }
  }

  private func send(_ method: String, _ params: JSONObject) throws(Failure) -> Int64 {
    lastID += 1
    write([
      "jsonrpc": "2.0", "id": JSONValue(lastID), "method": .string(method),
      "params": .object(params),
    ])
    return lastID
  }

  private func cancel(_ id: Int64) {
    write(["jsonrpc": "2.0", "method": "$/cancelRequest", "params": ["id": JSONValue(id)]])
  }

  /// Ignores write errors, because a process that has ended also closes its output.
  private func write(_ message: JSONValue) {
    let line = message.bytes() + [UInt8(ascii: "\n")]
    if let child { _ = child.write(line) } else { try? outgoing?.writeAll(line) }
  }

  private func readOutput() {
    guard case .bytes(let count) = incoming.read(into: &buffer) else {
      isEnded = true
      return
    }
    framer.feed(buffer[..<count])
    while let line = framer.next() {
      // einlass writes only answers and notifications, never requests.
      guard case .text(let bytes) = line, let message = try? JSONReader.read(bytes).object,
        message["method"] == nil || message["id"] == nil
      else {
        isForeign = true
        return
      }
      messages.append(message)
    }
  }

  private func event(of message: JSONObject) -> Event {
    if let method = message["method"]?.string {
      let params = message["params"]?.object ?? JSONObject()
      if method == "prompt.closed", let prompt = params["prompt"]?.string {
        closedPrompts.insert(prompt)
      }
      return .notification(method, params)
    }
    // A request that einlass could not parse, for example because it is too long, is answered
    // without an id (JSON-RPC 2.0, Response object).
    answers[message["id"]?.int64 ?? lastID] = message
    return .answer
  }

  private func gone() -> Failure {
    let code = child?.exitCode(within: Deadline(milliseconds: 5_000))
    let ending = code.map { " (exit code \($0))" } ?? ""
    return .noServer("einlass ended before it answered\(ending).", code: code)
  }
}
