import Einlass
import EinlassNetwork
import Foundation
import Glibc
import Testing

extension Network {
  /// Each test has its own process, because all threads share the environment and libcurl is opened
  /// only once.
  @Suite struct EnvironmentTests {
    @Test func `The standard variables name the proxy and the hosts that need none`() async {
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

    @Test func `Weak certificates are refused even if the system's configuration accepts them`()
      async
    {
      await #expect(processExitsWith: .success) {
        let file = NSTemporaryDirectory() + "/openssl-\(UUID().uuidString).cnf"
        defer { unlink(file) }
        let lines = [
          "openssl_conf = a", "[a]", "ssl_conf = b", "[b]", "system_default = c", "[c]",
          "CipherString = DEFAULT:@SECLEVEL=0", "",
        ]
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        _ = unsafe setenv("OPENSSL_CONF", file, 1)
        let server = try await HostileServer.fresh()
        for (listener, code) in [("shortKey", -1202), ("sha1", -1202), ("rsa", nil)] {
          let request = HTTPRequest(.get, server.address(listener))
          let problem = await problem(request, by: client(caFile: server.caFile))
          #expect(problem?.networkCode == code)
        }
      }
    }

    @Test func `The keys of TLS sessions are never written to a file`() async {
      await #expect(processExitsWith: .success) {
        let server = try await HostileServer.fresh()
        let file = server.folder + "/keys"
        _ = unsafe setenv("SSLKEYLOGFILE", file, 1)
        let request = HTTPRequest(.get, server.address("good"))
        #expect(await problem(request, by: client(caFile: server.caFile)) == nil)
        #expect(!FileManager.default.fileExists(atPath: file))

        // Negative control: another client of the same server does write them.
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
