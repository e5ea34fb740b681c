import EinlassJSON
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The spawned sandbox with its control address.
final class Sandbox {
  /// The line that the sandbox prints at its start: address, control, config, accounts.
  let ready: JSONValue
  private let program: SpawnedProgram
  private var requestsSeen = 0

  init() throws {
    program = try SpawnedProgram(Program.sandbox)
    guard let line = try program.line() else {
      throw SpawnedProgram.Failure(description: "The sandbox ended: \(program.logged)")
    }
    ready = try JSONReader.read(line)
  }

  func terminate() { program.terminate() }

  /// Returns the parameters of `accounts.add` for the demo account with this username.
  func account(_ username: String) throws -> JSONValue {
    let found = ready["accounts"]?.array?.first { $0["username"]?.string == username }
    guard let found else {
      throw SpawnedProgram.Failure(description: "The sandbox has no demo account \(username).")
    }
    return found
  }

  func patch(_ patch: JSONValue) throws {
    _ = try control("PATCH", "state", body: patch)
  }

  func state() throws -> JSONValue { try control("GET", "state") }

  /// Returns the requests since the last call, such as `POST /oauth/request_token`.
  func newRequests() throws -> [String] {
    let log = try control("GET", "log")["requests"]?.array ?? []
    defer { requestsSeen = log.count }
    return log.dropFirst(requestsSeen).map {
      "\($0["method"]?.string ?? "?") \($0["path"]?.string ?? "?")"
    }
  }

  private func control(
    _ method: String, _ path: String, body: JSONValue? = nil
  ) throws -> JSONValue {
    guard let address = ready["control"]?.string.flatMap({ URL(string: $0) })?.appending(path: path)
    else {
      throw SpawnedProgram.Failure(description: "The sandbox has no control address.")
    }
    var request = URLRequest(url: address)
    request.httpMethod = method
    request.httpBody = body.map { Data($0.bytes()) }
    let answer = Self.answer(to: request)
    guard let data = answer.data, answer.status == 200 else {
      throw SpawnedProgram.Failure(
        description: "\(method) \(address): \(answer.status.map(String.init) ?? "no answer")")
    }
    return data.isEmpty ? .null : try JSONReader.read(Array(data))
  }

  /// Opens an address, follows redirects as a browser does, and returns the status of the last
  /// page.
  static func browse(_ address: String) throws -> Int {
    guard let address = URL(string: address),
      let status = answer(to: URLRequest(url: address)).status
    else { throw SpawnedProgram.Failure(description: "\(address) shows no page.") }
    return status
  }

  /// Returns the target of a redirect without following it.
  static func redirect(from address: String) throws -> String {
    let session = URLSession(configuration: .ephemeral, delegate: Stay(), delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    guard let address = URL(string: address),
      let place = answer(to: URLRequest(url: address), in: session).location
    else { throw SpawnedProgram.Failure(description: "\(address) leads nowhere.") }
    return place
  }

  /// A delegate that follows no redirect.
  private final class Stay: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
  }

  private static func answer(
    to request: URLRequest, in session: URLSession = .shared
  ) -> Answer {
    let done = DispatchSemaphore(value: 0)
    let answer = Answer()
    session.dataTask(with: request) { data, response, error in
      answer.data = data
      answer.status = (response as? HTTPURLResponse)?.statusCode
      answer.location = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Location")
      done.signal()
    }.resume()
    done.wait()
    return answer
  }

  /// The result of a request. It is read after the semaphore of the session's thread is signalled.
  private final class Answer: @unchecked Sendable {
    var data: Data?
    var status: Int?
    var location: String?
  }
}
