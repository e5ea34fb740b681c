import Einlass
import Testing

@testable import EinlassNetwork

/// The rules of libcurl for the variables of proxies.
@Suite struct ProxyChoiceTests {
  private static func proxy(
    _ address: String, configured: String? = nil, _ variables: [String: String]
  ) throws -> String? {
    ProxyChoice(configured) { variables[$0] }.proxy(for: try WebAddress.parse(address))
  }

  private typealias Case = (address: String, variables: [String: String], proxy: String?)

  @Test func `The variables name the proxy`() throws {
    let cases: [Case] = [
      ("https://a.example", ["https_proxy": "one", "all_proxy": "two"], "one"),
      ("https://a.example", ["HTTPS_PROXY": "one", "all_proxy": "two"], "one"),
      ("https://a.example", ["http_proxy": "one", "ALL_PROXY": "two"], "two"),
      ("http://a.example", ["http_proxy": "one", "https_proxy": "two"], "one"),
      ("http://a.example", ["HTTP_PROXY": "one", "https_proxy": "two"], nil),
      ("https://127.0.0.1", ["https_proxy": "one"], nil),
      ("https://[::1]", ["https_proxy": "one"], nil),
      ("https://a.example", [:], nil),
    ]
    for one in cases {
      #expect(try Self.proxy(one.address, one.variables) == one.proxy, "\(one)")
    }
  }

  @Test func `The configured proxy comes first, and an empty one means none`() throws {
    let variables = ["https_proxy": "one"]
    #expect(try Self.proxy("https://a.example", configured: "own", variables) == "own")
    #expect(try Self.proxy("https://a.example", configured: "", variables) == nil)
    let excepted = variables.merging(["no_proxy": "a.example"]) { $1 }
    #expect(try Self.proxy("https://a.example", configured: "own", excepted) == nil)
  }

  @Test func `The hosts of no_proxy need none`() throws {
    let cases: [(list: String, host: String, isExcepted: Bool)] = [
      ("*", "a.example", true), ("a.example", "a.example", true), ("A.Example", "a.example", true),
      ("example", "a.example", true), (".example", "a.example", true),
      (".a.example", "a.example", true),
      ("b.example, a.example", "a.example", true), ("b.example\ta.example", "a.example", true),
      ("example", "example", true), ("10.0.0.0/8", "10.1.2.3", true),
      ("10.1.2.3", "10.1.2.3", true),
      ("10.0.0.0/7", "11.0.0.1", true), ("fd00::/8", "[fd00::1]", true),
      ("fd00::1", "[fd00::1]", true),
      ("*.example", "a.example", true), ("*.a.example", "a.example", true),
      ("a.example:443", "a.example", true), (".example:443", "a.example", true),
      ("a.example:8443", "a.example:8443", true), ("10.1.2.3:443", "10.1.2.3", true),
      ("[fd00::1]:443", "[fd00::1]", true),
      ("*xample", "a.example", false), ("*.", "a.example", false), ("a.*", "a.example", false),
      ("a.example:80", "a.example", false), ("a.example:8443", "a.example", false),
      ("a.example:", "a.example", false), ("a.example:99999", "a.example", false),
      ("[fd00::1]:80", "[fd00::1]", false),
      ("b.example", "a.example", false), ("xample", "a.example", false),
      ("a.example", "example", false),
      ("", "a.example", false), (".", "a.example", false), (",", "a.example", false),
      ("10.0.0.0/8", "11.1.2.3", false), ("10.0.0.0/33", "10.1.2.3", false),
      ("10.0.0.0/-1", "10.1.2.3", false), ("10.0.0.0/", "10.1.2.3", false),
      ("3", "10.1.2.3", false),
      ("::/0", "10.1.2.3", false), ("10.0.0.5", "fd.example", false),
      ("fd00::/8", "[fc00::1]", false),
    ]
    for one in cases {
      for name in ["no_proxy", "NO_PROXY"] {
        let variables = ["https_proxy": "one", name: one.list]
        let proxy = try Self.proxy("https://\(one.host)", variables)
        #expect((proxy == nil) == one.isExcepted, "\(one)")
      }
    }
  }
}
