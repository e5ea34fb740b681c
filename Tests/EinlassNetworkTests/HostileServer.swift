import Einlass
import EinlassNetwork
import Foundation
import Testing

/// Serialized, because all these tests share one server.
@Suite(.serialized) enum Network {}

/// The running `Server/hostile_server.py`, which ends with the test process.
final class HostileServer: Sendable {
  struct Event: Decodable {
    var event: String
    var listener: String?
    var path: String?
    var method: String?
    var connection: Int?
    var count: Int?
    var sent: Int?
    var size: Int?
    var host: String?
  }

  private struct Ready: Decodable {
    var ports: [String: UInt16]
    var folder: String
  }

  private static let running = Result { try HostileServer() }

  private let ready: Ready
  private let input: Pipe
  private let control = client { $0.total = .seconds(60) }

  /// Returns the server with an empty log.
  static func fresh(proxy: String = "open") async throws -> HostileServer {
    let server = try running.get()
    _ = try await server.ask("/reset", query: "proxy=\(proxy)")
    return server
  }

  private init() throws {
    let output = Pipe()
    input = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Server/hostile_server.py").path
    process.arguments = ["python3", script]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let piece = output.fileHandleForReading.availableData
      if piece.isEmpty { throw Failure.didNotStart }
      line += piece
    }
    ready = try JSONDecoder().decode(Ready.self, from: line)
  }

  enum Failure: Error { case didNotStart }

  /// The path of the certificate authority that signed the certificates of most listeners.
  var caFile: String { ready.folder + "/authority.pem" }

  /// A folder for the files of tests, removed at the end.
  var folder: String { ready.folder }

  /// Returns an address of a listener. Listeners with certificates use https.
  func address(_ listener: String, _ path: String = "/ok", host: String = "127.0.0.1") -> WebAddress
  {
    let plain = ["plain", "second", "control", "refused", "proxy"]
    return WebAddress(
      scheme: plain.contains(listener) ? .http : .https, host: host, port: ready.ports[listener],
      path: path)
  }

  /// Returns a GET request to the listener without TLS.
  func request(_ path: String) -> HTTPRequest { HTTPRequest(.get, address("plain", path)) }

  /// Returns the logged events of this name since `fresh()`.
  func events(_ name: String, at listener: String? = nil) async throws -> [Event] {
    let log = try JSONDecoder().decode([Event].self, from: Data(try await ask("/log").body))
    return log.filter { $0.event == name && (listener == nil || $0.listener == listener) }
  }

  /// Waits until the log has this many events of the name.
  func wait(for event: String, count: Int = 1) async throws {
    let answer = try await ask("/await", query: "event=\(event)&count=\(count)")
    #expect(answer.status == 200, "\(event) never came")
  }

  private func ask(_ path: String, query: String? = nil) async throws -> HTTPResponse {
    var address = address("control", path)
    address.query = query
    return try await control.send(HTTPRequest(.get, address))
  }
}

/// Returns the problem of a request, or `nil` if the request is answered.
func problem(_ request: HTTPRequest, by client: CurlClient = CurlClient()) async -> Problem? {
  do {
    _ = try await client.send(request)
    return nil
  } catch {
    return error
  }
}

/// Returns a client with limits that are short enough for a test.
func client(
  caFile: String? = nil, proxy: String? = nil, _ change: (inout TransferLimits) -> Void = { _ in }
) -> CurlClient {
  var configuration = CurlClient.Configuration(caFile: caFile, proxy: proxy)
  change(&configuration.limits)
  return CurlClient(configuration)
}
