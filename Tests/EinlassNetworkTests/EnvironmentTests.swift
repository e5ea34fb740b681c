import Einlass
import EinlassNetwork
import Foundation
import Glibc
import Testing

extension Network {
  /// Each in a process of its own: the environment belongs to all threads, and libcurl is opened but once.
  @Suite struct EnvironmentTests {
    @Test func `the standard variables name the proxy and the hosts that need none`() async {
      await #expect(processExitsWith: .success) {
        let server = try await HostileServer.fresh()
        let request = HTTPRequest(.get, server.address("good", host: "localhost"))
        let ask = { await problem(request, by: client(caFile: server.caFile)) }
        _ = unsafe setenv("https_proxy", server.address("proxy", "").text, 1)
        #expect(await ask() == nil)
        #expect(try await server.events("tunnel").count == 1)
        _ = unsafe setenv("no_proxy", "localhost", 1)
        #expect(await ask() == nil)
        #expect(try await server.events("tunnel").count == 1)
      }
    }

    @Test func `the keys of TLS sessions are never written down`() async {
      await #expect(processExitsWith: .success) {
        let server = try await HostileServer.fresh()
        let file = server.folder + "/keys"
        _ = unsafe setenv("SSLKEYLOGFILE", file, 1)
        let request = HTTPRequest(.get, server.address("good"))
        #expect(await problem(request, by: client(caFile: server.caFile)) == nil)
        #expect(!FileManager.default.fileExists(atPath: file))

        // The control: another client of the same server does write them.
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let script = """
          import ssl, sys, urllib.request
          context = ssl.create_default_context(cafile=sys.argv[1])
          urllib.request.urlopen(sys.argv[2], context=context).read()
          """
        python.arguments = ["python3", "-c", script, server.caFile, server.address("good").text]
        python.environment = ["SSLKEYLOGFILE": file, "PATH": "/usr/local/bin:/usr/bin:/bin"]
        try python.run()
        python.waitUntilExit()
        #expect(FileManager.default.fileExists(atPath: file))
      }
    }
  }
}
