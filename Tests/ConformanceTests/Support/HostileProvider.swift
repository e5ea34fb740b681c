import EinlassJSON
import Foundation
import Testing

/// The hostile server of the network tests, with its listeners and its private certificate
/// authority.
struct HostileProvider {
  let program: SpawnedProgram
  let ready: JSONValue

  init() throws {
    let script = projectFolder.appending(
      path: "Tests/EinlassNetworkTests/Server/hostile_server.py")
    program = try SpawnedProgram("/usr/bin/env", ["python3", script.path])
    ready = try JSONReader.read(try #require(try program.line()))
  }

  func port(_ listener: String) -> Int64 { ready["ports"]?[listener]?.int64 ?? 0 }

  /// Returns the number of `bytes` events, or of another event, at a listener.
  func requestBytes(at listener: String, _ event: String = "bytes") throws -> Int {
    let events = try #require(JSONReader.read(control("log")).array)
    return events.count {
      $0["event"]?.string == event && $0["listener"]?.string == listener
    }
  }

  /// Answers every request from now on with this behaviour, and empties the log.
  func behave(_ behaviour: String) throws { _ = try control("reset?every=\(behaviour)") }

  /// Answers every request from now on with these bytes, and empties the log.
  func say(_ status: String = "200 OK", _ headers: [String] = [], body: [UInt8]) throws {
    let head = ["HTTP/1.1 \(status)"] + headers + ["Connection: close", "", ""]
    let bytes = Array(head.joined(separator: "\r\n").utf8) + body
    let folder = try #require(ready["folder"]?.string)
    try Data(bytes).write(to: URL(filePath: folder).appending(path: "said"))
    try behave("said")
  }

  func awaitRequests(_ count: Int) throws {
    _ = try control("await?event=request&count=\(count)")
  }

  private func control(_ path: String) throws -> [UInt8] {
    try Array(
      Data(contentsOf: #require(URL(string: "http://127.0.0.1:\(port("control"))/\(path)"))))
  }
}
