// Only the sockets are those of a package, because FlyingFox keeps one of several equal headers and
// takes quadratic time for a long line. A stand-in for hostile cases may do neither.
import FlyingSocks
import FoundationEssentials

/// A connection to a client. Requests are answered one after the other.
struct Connection {
  private let socket: AsyncSocket
  private var reader: RequestReader

  init(socket: AsyncSocket, bodyLimit: Int) {
    self.socket = socket
    reader = RequestReader(bodyLimit: bodyLimit)
  }

  /// Answers requests until one side closes the connection. Throws the errors of the socket.
  mutating func serve(_ handler: @Sendable (Request) async -> Answer) async throws {
    while true {
      let received: RequestReader.Received?
      do throws(RequestReader.Flaw) { received = try reader.next() } catch {
        return try await send(.text(error.message + "\n", status: error.status), isLast: true)
      }
      guard let received else {
        if reader.takeExpectation() { try await write("HTTP/1.1 100 Continue\r\n\r\n") }
        reader.append(try await socket.read(atMost: 4096))
        continue
      }
      let answer = await handler(received.request)
      let isLast = received.isLast || !answer.delivery.keepsConnection
      try await send(answer, isLast: isLast, isHeadOnly: received.request.method == "HEAD")
      if isLast { return }
    }
  }

  private func send(_ answer: Answer, isLast: Bool, isHeadOnly: Bool = false) async throws {
    guard answer.delivery != .closed else { return }
    var head = "HTTP/1.1 \(answer.status) \(answer.phrase)\r\n"
    for header in answer.headers { head += "\(header.name): \(header.value)\r\n" }
    head +=
      answer.delivery == .chunked
      ? "Transfer-Encoding: chunked\r\n" : "Content-Length: \(answer.count)\r\n"
    if isLast { head += "Connection: close\r\n" }
    try await write(head + "\r\n")
    if !isHeadOnly { try await sendBody(of: answer) }
  }

  /// Sends the body and its padding, or half of them, in small pieces.
  private func sendBody(of answer: Answer) async throws {
    let end = answer.delivery == .cut ? answer.count / 2 : answer.count
    let filler = Data(repeating: UInt8(ascii: " "), count: 1 << 16)
    var sent = 0
    while sent < end {
      let piece =
        sent < answer.body.count
        ? Data(answer.body[sent..<min(end, answer.body.count)]) : filler.prefix(end - sent)
      if answer.delivery == .chunked {
        try await write(String(piece.count, radix: 16) + "\r\n")
        try await socket.write(piece + Data("\r\n".utf8))
      } else {
        try await socket.write(piece)
      }
      sent += piece.count
    }
    if answer.delivery == .chunked { try await write("0\r\n\r\n") }
  }

  private func write(_ text: String) async throws {
    try await socket.write(Data(text.utf8))
  }
}
