import EinlassJSON
import EinlassRPC
import EinlassSystem
import Foundation

/// A connection over pipes, with the test as its client. All waits give up after 60 s.
final class Session: @unchecked Sendable {
  private let toPeer: FileHandle
  private let fromPeer: FileHandle
  private let toSignals: FileHandle
  private let hasEnded = DispatchSemaphore(value: 0)
  private var exit: Int32?
  private var received: [UInt8] = []
  let peer: Peer

  init(_ methods: [EinlassRPC.Method], _ options: Peer.Options = Peer.Options()) throws {
    Foundation.signal(SIGPIPE, SIG_IGN)
    let (input, output, signals) = (Pipe(), Pipe(), Pipe())
    toPeer = input.fileHandleForWriting
    fromPeer = output.fileHandleForReading
    toSignals = signals.fileHandleForWriting
    let streams = StandardStreams(
      input: try Descriptor.duplicate(input.fileHandleForReading.fileDescriptor),
      output: try Descriptor.duplicate(output.fileHandleForWriting.fileDescriptor))
    let reading = try Descriptor.duplicate(signals.fileHandleForReading.fileDescriptor)
    try output.fileHandleForWriting.close()
    try input.fileHandleForReading.close()
    _ = fcntl(reading.number, F_SETFL, O_NONBLOCK)
    peer = try Peer(
      methods: methods, streams: streams, signals: SignalDescriptor(reading: reading),
      options: options)
    let thread = Thread { [self] in
      exit = peer.run()
      hasEnded.signal()
    }
    thread.start()
  }

  /// Runs a test's client on its own thread, because it blocks and the handlers need the
  /// concurrency pool.
  static func with<Result: Sendable>(
    _ methods: [EinlassRPC.Method], _ options: Peer.Options = Peer.Options(),
    _ body: @escaping @Sendable (Session) throws -> Result
  ) async throws -> Result {
    let session = try Session(methods, options)
    return try await withCheckedThrowingContinuation { continuation in
      Thread {
        continuation.resume(with: Swift.Result { try body(session) })
        session.closeInput()
      }.start()
    }
  }

  func send(_ text: String) throws { try toPeer.write(contentsOf: Data(text.utf8)) }

  func send(_ bytes: some Sequence<UInt8>) throws { try toPeer.write(contentsOf: Data(bytes)) }

  /// Sends the bytes in one piece (0), byte by byte (1) or in random pieces (2).
  func send(_ bytes: [UInt8], style: Int) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = [rest.count, 1, Int.random(in: 1...max(1, bytes.count / 4))][style]
      // The peer may have closed the input after an invalid header.
      guard (try? send(rest.prefix(count))) != nil else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends a request, or a notification if the id is `nil`.
  func call(_ id: JSONValue?, _ method: String, _ params: JSONObject = [:]) throws {
    let members: KeyValuePairs<String, JSONValue?> = [
      "jsonrpc": "2.0", "id": id, "method": .string(method), "params": .object(params),
    ]
    try send(JSONValue.object(JSONObject(present: members)).text + "\n")
  }

  /// Waits until the event loop has looked at everything that happened before.
  func awaitTurn() throws {
    let (bell, hasRung) = (Pipe(), DispatchSemaphore(value: 0))
    peer.watch(bell.fileHandleForReading.fileDescriptor) {
      _ = bell.fileHandleForReading.availableData
      hasRung.signal()
    }
    try bell.fileHandleForWriting.write(contentsOf: Data([1]))
    guard hasRung.wait(timeout: .now() + 60) == .success else { throw Silence() }
  }

  func closeInput() { try? toPeer.close() }
  func closeOutput() { try? fromPeer.close() }

  func signal(_ number: UInt32) throws {
    var record = [UInt8](repeating: 0, count: SignalDescriptor.recordSize)
    record[0] = UInt8(number)
    try toSignals.write(contentsOf: Data(record))
  }

  /// Returns the next line, or `nil` at the end of output.
  func line() throws -> String? {
    while true {
      if let end = received.firstIndex(of: 0x0A) {
        defer { received.removeSubrange(...end) }
        return String(decoding: received[..<end], as: UTF8.self)
      }
      guard wait(for: fromPeer.fileDescriptor) else { throw Silence() }
      let data = fromPeer.availableData
      if data.isEmpty { return received.isEmpty ? nil : "unterminated" }
      received += data
    }
  }

  /// Returns the next message, or `nil` at the end of output.
  func message() throws -> JSONValue? {
    try line().map { try JSONReader.read(Array($0.utf8)) }
  }

  /// Returns the messages up to the end of output, which has headers.
  func restWithHeaders() throws -> [String] {
    while wait(for: fromPeer.fileDescriptor) {
      let data = fromPeer.availableData
      if data.isEmpty { break }
      received += data
    }
    var messages: [String] = []
    while !received.isEmpty {
      let header = String(decoding: received.prefix(40), as: UTF8.self)
      guard let found = header.prefixMatch(of: /Content-Length: (\d+)\r\n\r\n/),
        let count = Int(found.1), case let start = found.0.utf8.count,
        received.count >= start + count
      else { return messages + ["no message: \(header)"] }
      messages.append(String(decoding: received[start..<start + count], as: UTF8.self))
      received.removeFirst(start + count)
    }
    return messages
  }

  func rest() throws -> [String] {
    var lines: [String] = []
    while let line = try line() { lines.append(line) }
    return lines
  }

  /// Waits for the end of the connection and returns the exit code.
  func exitCode() throws -> Int32 {
    guard hasEnded.wait(timeout: .now() + 60) == .success, let exit else { throw Silence() }
    return exit
  }

  private func wait(for descriptor: Int32) -> Bool {
    var poller = Poller(slots: 1)
    poller.watch(0, descriptor, for: .readable)
    poller.wait(milliseconds: 60_000)
    return poller.happened(0, .readable)
  }

  /// No line, exit code or arrival within 60 s.
  struct Silence: Error {}
}

/// Returns an answer in short: the id, then `ok` and the result, or the code and the reason.
func brief(_ line: String) -> String {
  guard let value = try? JSONReader.read(Array(line.utf8)) else { return "unreadable: \(line)" }
  if let answers = value.array { return "[" + answers.map(brief).joined(separator: ", ") + "]" }
  guard line.hasPrefix(#"{"jsonrpc":"2.0","id":"#) else { return "not an answer: \(line)" }
  return brief(value)
}

private func brief(_ value: JSONValue) -> String {
  let id = value["id"]?.text ?? "no id"
  guard let error = value["error"] else { return "\(id) ok \(value["result"]?.text ?? "nothing")" }
  let by = error["data"]?["by"]?.string.map { " by \($0)" } ?? ""
  return
    "\(id) \(error["code"]?.text ?? "no code") \(error["data"]?["reason"]?.string ?? "no reason")\(by)"
}
