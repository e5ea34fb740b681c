import EinlassJSON
import FlyingFox
import FlyingSocks
import Foundation

/// An HTTP/1.1 server on 127.0.0.1, with the library's types on the one side and ours on the other.
struct Listener: Sendable {
  private let server: HTTPServer

  /// A server that will listen on this port, 0 for any that is free, and answers with what `handler` says.
  init(
    port: UInt16, bodyLimit: Int, handler: @escaping @Sendable (Request) async -> Answer
  ) throws {
    // An answer may be slow on purpose, so the server's own patience must not end first.
    let configuration = HTTPServer.Configuration(
      address: try .inet(ip4: "127.0.0.1", port: port), timeout: 86_400, logger: .disabled)
    let answering = AnsweringHandler(bodyLimit: bodyLimit, handler: handler)
    server = HTTPServer(config: configuration, handler: answering)
  }

  /// Serves until the task is cancelled; throws if the port is taken.
  func run() async throws { try await server.run() }

  /// The port, as soon as it listens.
  func port() async throws -> UInt16? {
    try await server.waitUntilListening(timeout: 60)
    guard case .ip4(_, let port)? = await server.listeningAddress else { return nil }
    return port
  }
}

/// Every method and every path, in one place.
private struct AnsweringHandler: HTTPHandler {
  let bodyLimit: Int
  let handler: @Sendable (Request) async -> Answer

  func handleRequest(_ received: HTTPRequest) async throws -> HTTPResponse {
    var request = Request(method: received.method.rawValue, path: received.target.path())
    request.rawQuery = received.target.query()
    request.headers = received.headers.map { Parameter(name: $0.key.rawValue, value: $0.value) }
    for try await chunk in received.bodySequence {
      guard request.body.count + chunk.count <= bodyLimit else {
        return response(.text("The body has more than \(bodyLimit) bytes.\n", status: 413))
      }
      request.body += chunk
    }
    return response(await handler(request))
  }

  private func response(_ answer: Answer) -> HTTPResponse {
    var headers = HTTPHeaders()
    for header in answer.headers { headers.addValue(header.value, for: HTTPHeader(header.name)) }
    let body = PaddedBody(answer: answer)
    switch answer.delivery {
    case .closed:
      // The one way in which the library ends a connection before it has written the head.
      return HTTPResponse(webSocket: RefusingHandler())
    case .chunked:
      return HTTPResponse(
        statusCode: answer.statusCode, headers: headers,
        body: HTTPBodySequence(from: body, suggestedBufferSize: 65_536))
    case .whole, .cut:
      return HTTPResponse(
        statusCode: answer.statusCode, headers: headers,
        body: HTTPBodySequence(from: body, count: body.count, suggestedBufferSize: 65_536))
    }
  }
}

extension Answer {
  /// The status in the library's words.
  fileprivate var statusCode: HTTPStatusCode { HTTPStatusCode(status, phrase: phrase) }
}

/// Thrown to end a connection on purpose.
private struct Hangup: Error {}

private struct RefusingHandler: WSHandler {
  func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) async throws
    -> AsyncStream<WSFrame>
  {
    throw Hangup()
  }
}

/// The bytes of an answer, its padding made up on the way.
private struct PaddedBody: AsyncBufferedSequence {
  let answer: Answer

  var count: Int { answer.body.count + answer.padding }

  func makeAsyncIterator() -> Iterator {
    Iterator(
      rest: answer.body[...], padding: answer.padding,
      end: answer.delivery == .cut ? count / 2 : nil)
  }

  struct Iterator: AsyncBufferedIteratorProtocol {
    var rest: ArraySlice<UInt8>
    var padding: Int
    /// After so many bytes the connection ends.
    var end: Int?

    mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

    mutating func nextBuffer(suggested count: Int) async throws -> Data? {
      if let end, end <= 0 { throw Hangup() }
      var wanted = Swift.min(count, end ?? count)
      var buffer = Data(rest.prefix(wanted))
      rest = rest.dropFirst(buffer.count)
      wanted = Swift.min(padding, wanted - buffer.count)
      buffer.append(Data(repeating: UInt8(ascii: " "), count: wanted))
      padding -= wanted
      end = end.map { $0 - buffer.count }
      return buffer.isEmpty ? nil : buffer
    }
  }
}
