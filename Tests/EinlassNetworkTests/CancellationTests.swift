import Einlass
import EinlassNetwork
import Testing

extension Network {
  @Suite struct CancellationTests {
    @Test(
      "Cancelling a task aborts its transfer at once",
      arguments: ["/silence", "/drip-body", "/drip-head"])
    func running(path: String) async throws {
      let server = try await HostileServer.fresh()
      let client = CurlClient()
      let request = server.request(path)
      let task = Task { await problem(request, by: client) }
      try await server.wait(for: "request")
      task.cancel()
      // A transfer that had run into its time limit would report the limit instead.
      #expect(await task.value?.reason == .cancelled)
      try await server.wait(for: path == "/silence" ? "closed" : "stopped")
      // Negative control: other transfers are not disturbed.
      #expect(await problem(server.request("/ok"), by: client) == nil)
    }

    @Test func `A task that is already cancelled sends no request`() async throws {
      let server = try await HostileServer.fresh()
      let request = server.request("/ok")
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        return await problem(request)
      }
      task.cancel()
      #expect(await task.value?.reason == .cancelled)
      #expect(try await server.events("request", at: "plain").isEmpty)
    }

    @Test func `One of many tasks is cancelled, and the others get their answers`() async throws {
      let server = try await HostileServer.fresh()
      let client = CurlClient()
      let patient = (0..<8).map { _ in
        Task { await problem(server.request("/barrier/9"), by: client) }
      }
      let doomed = Task { await problem(server.request("/silence"), by: client) }
      try await server.wait(for: "request", count: 9)
      doomed.cancel()
      #expect(await doomed.value?.reason == .cancelled)
      #expect(await problem(server.request("/barrier/9"), by: client) == nil)
      for task in patient { #expect(await task.value == nil) }
    }

    @Test func `Tasks cancelled at any moment end once each, and the client goes on working`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let client = CurlClient()
      let tasks = (0..<200).map { number in
        (number, Task { await problem(server.request("/ok"), by: client) })
      }
      for (number, task) in tasks where number % 2 == 0 {
        for _ in 0..<number % 7 { await Task.yield() }
        task.cancel()
      }
      for (number, task) in tasks {
        let reason = await task.value?.reason
        #expect(reason == nil || (reason == .cancelled && number % 2 == 0))
      }
      #expect(await problem(server.request("/ok"), by: client) == nil)
    }

    @Test func `Closing the client cancels running requests and refuses new ones`() async throws {
      let server = try await HostileServer.fresh()
      let client = CurlClient()
      let running = Task { await problem(server.request("/silence"), by: client) }
      try await server.wait(for: "request")
      client.close()
      #expect(await running.value?.reason == .cancelled)
      try await server.wait(for: "closed")
      #expect(await problem(server.request("/ok"), by: client)?.reason == .cancelled)
      client.close()
    }
  }
}
