import Einlass
import EinlassCrypto
import EinlassJSON
import EinlassServer
import EinlassStorage
import EinlassSystem

@testable import EinlassRPC

/// Runs one connection from its first byte to its end. Checks that the output has messages only, and
/// that there are as many answers as requests and refusals.
func fuzzDispatcher(_ input: [UInt8]) {
  var configuration = Configuration()
  // The usual cost takes about a second under the sanitizer, as long as a slow input.
  configuration.users.stretching = ScryptParameters(cost: 16, blockSize: 1, parallelism: 1)
  let server = Server(
    .init(
      catalog: .builtIn, store: MemoryAccountStore.make(),
      audit: MemoryAccountStore.makeAuditLines(), files: noFiles,
      overlay: MemoryAccountStore.makeProviderOverlay(), effects: .offline,
      configuration: configuration, version: "fuzz"))
  let (code, output) = serve(input, server)
  check(code == 0, "garbage never ends the process: \(code)")
  var answers = 0
  for bytes in messages(in: output, of: input) {
    let message = try? JSONReader.read(bytes)
    check(message != nil, "every message that goes out is JSON")
    let entries = message?.array ?? message.map { [$0] } ?? []
    for entry in entries {
      check(sameBytes(entry["jsonrpc"]?.string ?? "", "2.0"), "every message names its version")
      if entry["method"] != nil {
        check(entry["id"] == nil, "a notification has no id")
      } else {
        answers += 1
        check((entry["result"] == nil) != (entry["error"] == nil), "an answer has one outcome")
      }
    }
  }
  if let expected = answerCount(of: input) {
    check(answers == expected, "\(expected) requests have \(answers) answers")
  }
}

/// The fuzzed server has no access to files.
private let noFiles = AccountsFiles(
  prepare: { _, _ throws(Problem) in throw nowhere },
  write: { _, _, _ throws(Problem) in throw nowhere },
  read: { _ throws(Problem) in throw nowhere })
private let nowhere = Problem(.accountStoreFailure, "There are no files here.")

private func serve(_ input: [UInt8], _ server: Server) -> (Int32, [UInt8]) {
  do {
    let output = try Descriptor.memory()
    let copy = try Descriptor.duplicate(output.number)
    let streams = StandardStreams(input: try Descriptor.memory(holding: input), output: copy)
    return (try server.serve(streams, signals: nil), output.contents())
  } catch { preconditionFailure("the machine has no descriptors left") }
}

/// Returns the messages of an output, in the framing of the input.
private func messages(in output: [UInt8], of input: [UInt8]) -> [ArraySlice<UInt8>] {
  var deciding = MessageFramer()
  deciding.feed(input[...])
  guard deciding.framing == .headers else {
    return output.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
  }
  var rest = output[...]
  var found: [ArraySlice<UInt8>] = []
  while !rest.isEmpty {
    let header = rest.prefix { $0 != 0x7B && $0 != 0x5B }
    let words = String(decoding: header, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    let count = words.last.flatMap { Int($0) } ?? 0
    check(words.first == "Content-Length:" && count > 0, "every message that goes out has a header")
    rest = rest.dropFirst(header.count)
    found.append(rest.prefix(count))
    rest = rest.dropFirst(count)
  }
  return found
}

/// Returns the number of answers to an input, or `nil` if the input ends the connection early.
private func answerCount(of input: [UInt8]) -> Int? {
  var framer = MessageFramer()
  framer.feed(input[...])
  var count = 0
  func take(_ message: Message) -> Bool {
    switch message {
    case .batch(let entries):
      for entry in entries where !take(entry) { return false }
    case .request(let request):
      if ["exit", "shutdown"].contains(request.method) { return false }
      if request.id != nil { count += 1 }
    case .refusal: count += 1
    case .response: break
    }
    return true
  }
  while let frame = framer.next() {
    guard case .text(let bytes) = frame else {
      count += 1
      continue
    }
    guard take(Message(bytes)) else { return nil }
  }
  if case .text(let bytes)? = framer.rest(), Message.isWhole(bytes), !take(Message(bytes)) {
    return nil
  }
  return count
}

extension Effects {
  /// No network, no waiting, and a stopped clock.
  static let offline = Effects(
    send: { _ throws(Problem) in throw Problem(.networkFailure, "offline", networkCode: -1009) },
    sleepUntil: { _ throws(Problem) in
      // Waits until the connection ends and cancels it. A timer would run on after the connection.
      for await _ in AsyncStream(Never.self, { _ in }) {}
      throw Problem(.cancelled, "ended")
    },
    now: { 1_500_000_000 },
    randomBytes: { SecureRandom.bytes($0) })
}
