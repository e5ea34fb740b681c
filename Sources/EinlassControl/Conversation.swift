internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// The talk with a spawned einlass: requests one after the other, and what comes in between.
final class Conversation {
  /// What ends a wait.
  enum Event {
    case answer
    case notification(String, JSONObject)
    /// The person has typed.
    case typed
    /// Ctrl-C, or whoever else asks this process to end.
    case interrupted
    case ended
    /// The time is over.
    case silent
  }

  private let path: String
  private let child: ChildProcess
  private let signals: SignalDescriptor
  private var framer = LineFramer()
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)
  private var messages: [JSONObject] = []
  private var answers: [Int64: JSONObject] = [:]
  private var lastID: Int64 = 0
  private var isEnded = false
  /// Whether it wrote what einlass never writes.
  private var isForeign = false
  /// Those that have closed; a question inside a question may have read it.
  private(set) var closedPrompts: Set<String> = []

  /// What is done with a notification that comes while an answer is waited for.
  var onNotification: (String, JSONObject) throws(Failure) -> Void = { _, _ in }

  /// Starts einlass.
  init(_ options: ServerOptions) throws(Failure) {
    path = try ServerLocation.find(options.einlass)
    do throws(SystemError) {
      signals = try SignalDescriptor()
      child = try ChildProcess(path, options.forServer, keeping: options.descriptors)
    } catch {
      throw .noServer("\(path) can't be started: error \(error.number) of the system.")
    }
  }

  /// The result of a method. Ctrl-C cancels it, a second one does not wait for that.
  ///
  /// - Parameter patience: how long an answer may take, in milliseconds; `nil`: as long as it takes.
  func request(
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
        write(["jsonrpc": "2.0", "method": "$/cancelRequest", "params": ["id": JSONValue(id)]])
      case .ended: throw isCancelled ? .cancelled : gone()
      case .silent:
        throw .noServer("\(path) does not answer as einlass does. \(ServerLocation.remedy)")
      }
    }
  }

  /// Waits for the next thing to happen, typing on a terminal included.
  func next(typing terminal: Int32 = -1, by deadline: Deadline? = nil) -> Event {
    while true {
      if isForeign { return .silent }
      if !messages.isEmpty { return taken(messages.removeFirst()) }
      if isEnded { return .ended }
      var poller = Poller(slots: 3)
      poller.watch(0, child.output.number, for: .readable)
      poller.watch(1, signals.number, for: .readable)
      poller.watch(2, terminal, for: .readable)
      poller.wait(milliseconds: deadline?.millisecondsLeft ?? -1)
      if poller.happened(1, .readable), signals.take() != nil { return .interrupted }
      if poller.happened(0, .readable) {
        readOutput()
      } else if poller.happened(2, [.readable, .lost]) {
        return .typed
      } else if deadline?.millisecondsLeft == 0 {
        return .silent
      }
    }
  }

  /// Writes a text; Ctrl-C ends that where nobody goes on reading.
  func show(_ text: String, on output: borrowing TextOutput) throws(Failure) {
    do throws(Failure) { try output.write(text, unlessReadable: signals.number) } catch {
      if case .cancelled = error { _ = signals.take() }
      throw error
    }
  }

  /// What this descriptor brings until its end, however long that takes; `nil` when it is more than the limit or cannot
  /// be read. Ctrl-C ends the wait.
  func contents(of number: Int32, limitBytes: Int) throws(Failure) -> [UInt8]? {
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

  /// Ends einlass and waits for that, but not long: what it still has to save, it saves without us.
  func end() {
    // It holds whoever asks the person, and their terminal, which is as before once nobody holds it.
    onNotification = { _, _ in }
    child.closeInput()
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

  /// What is lost on the way to a process that has ended shows as its end.
  private func write(_ message: JSONValue) {
    _ = child.write(message.bytes() + [UInt8(ascii: "\n")])
  }

  private func readOutput() {
    guard case .bytes(let count) = child.output.read(into: &buffer) else {
      isEnded = true
      return
    }
    framer.feed(buffer[..<count])
    while let line = framer.next() {
      // Neither a request nor anything but JSON-RPC ever comes from einlass.
      guard case .text(let bytes) = line, let message = try? JSONReader.read(bytes).object,
        message["method"] == nil || message["id"] == nil
      else {
        isForeign = true
        return
      }
      messages.append(message)
    }
  }

  private func taken(_ message: JSONObject) -> Event {
    if let method = message["method"]?.string {
      let params = message["params"]?.object ?? JSONObject()
      if method == "prompt.closed", let prompt = params["prompt"]?.string {
        closedPrompts.insert(prompt)
      }
      return .notification(method, params)
    }
    // What cannot be read, because it is too long, say, is answered without its id.
    answers[message["id"]?.int64 ?? lastID] = message
    return .answer
  }

  private func gone() -> Failure {
    let code = child.exitCode(within: Deadline(milliseconds: 5_000))
    let ending = code.map { " (exit code \($0))" } ?? ""
    return .noServer("einlass ended before it answered\(ending).", code: code)
  }
}
