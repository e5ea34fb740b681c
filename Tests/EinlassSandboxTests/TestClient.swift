import EinlassJSON
import FlyingSocks
import Foundation

@testable import EinlassSandbox

/// The bytes of an HTTP response, parsed.
struct Reply {
  var status = 0
  var headers: [Parameter] = []
  var body: [UInt8] = []

  /// Parses a response. Returns `nil` if the bytes are none.
  init?(_ bytes: [UInt8]) {
    let end = Array("\r\n\r\n".utf8)
    guard let head = bytes.firstRange(of: end) else { return nil }
    let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).split(separator: "\r\n")
    guard let status = lines[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      return nil
    }
    self.status = status
    headers = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return Parameter(
        name: parts[0].lowercased(), value: String(parts.last ?? "").trimming(" "))
    }
    body = Array(bytes[head.upperBound...])
  }

  /// Returns the value of a header. The name is in lower case.
  func header(_ name: String) -> String? { headers[name] }
  var text: String { String(decoding: body, as: UTF8.self) }
  var json: JSONValue? { try? JSONReader.read(body) }
  var twitterCode: Int64? { json?.at(pointer: "/errors/0/code")?.int64 }
  var facebookCode: [Int64]? {
    guard let error = json?["error"], let code = error["code"]?.int64 else { return nil }
    return [code] + (error["error_subcode"]?.int64.map { [$0] } ?? [])
  }
}

/// A client that sends any bytes, well formed or not.
struct TestClient {
  let port: UInt16

  /// Sends bytes and reads until the connection ends.
  func exchange(_ bytes: [UInt8]) async throws -> [UInt8] {
    let socket = try await AsyncSocket.connected(
      to: .inet(ip4: "127.0.0.1", port: port), timeout: 60)
    defer { try? socket.close() }
    var received: [UInt8] = []
    do {
      try await socket.write(Data(bytes))
      while true { received += try await socket.read(atMost: 4096) }
    } catch is SocketError {
      return received
    }
  }

  /// Sends bytes and closes the connection, without waiting for an answer.
  func sendOnly(_ bytes: [UInt8]) async throws {
    let socket = try await AsyncSocket.connected(
      to: .inet(ip4: "127.0.0.1", port: port), timeout: 60)
    try await socket.write(Data(bytes))
    try socket.close()
  }

  /// Sends a request and returns the answer, or `nil` if the connection ends without one.
  func send(
    _ method: String, _ target: String, headers: [(String, String)] = [], body: [UInt8] = []
  ) async throws -> Reply? {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
    return Reply(try await exchange(Array((head + "\r\n").utf8) + body))
  }

  func post(_ target: String, headers: [(String, String)] = [], form: [(String, String)])
    async throws -> Reply?
  {
    let parameters = form.map { Parameter(name: $0.0, value: $0.1) }
    return try await send(
      "POST", target,
      headers: headers + [("Content-Type", "application/x-www-form-urlencoded")],
      body: Array(parameters.formEncoded.utf8))
  }
}
