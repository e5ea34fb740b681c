import EinlassJSON
import Foundation
import Testing

/// The network tests' server, with its listeners, its private authority and its bad manners.
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

  /// How often bytes of a request arrived at a listener, or another event happened there.
  func requestBytes(at listener: String, _ event: String = "bytes") throws -> Int {
    let events = try #require(JSONReader.read(control("log")).array)
    return events.count {
      $0["event"]?.string == event && $0["listener"]?.string == listener
    }
  }

  /// From now on every request is answered in this way, and the log is empty.
  func behave(_ behaviour: String) throws { _ = try control("reset?every=\(behaviour)") }

  /// From now on every request is answered with these bytes, and the log is empty.
  func say(_ status: String = "200 OK", _ headers: [String] = [], body: [UInt8]) throws {
    let head = ["HTTP/1.1 \(status)"] + headers + ["Connection: close", "", ""]
    let bytes = Array(head.joined(separator: "\r\n").utf8) + body
    let folder = try #require(ready["folder"]?.string)
    try Data(bytes).write(to: URL(filePath: folder).appending(path: "said"))
    try behave("said")
  }

  /// Returns when so many requests have come.
  func awaitRequests(_ count: Int) throws {
    _ = try control("await?event=request&count=\(count)")
  }

  private func control(_ path: String) throws -> [UInt8] {
    try Array(
      Data(contentsOf: #require(URL(string: "http://127.0.0.1:\(port("control"))/\(path)"))))
  }
}
