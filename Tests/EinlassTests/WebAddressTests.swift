import Einlass
import Testing

struct WebAddressTests {
  @Test(
    "An address is read into its parts and written back",
    arguments: [
      ("https://example.com", "https://example.com", ""),
      ("HTTPS://Example.COM/Path", "https://example.com", "/Path"),
      ("https://example.com:443/", "https://example.com", "/"),
      ("http://example.com:80/", "http://example.com", "/"),
      ("https://example.com:8443/a", "https://example.com:8443", "/a"),
      ("http://example.com:443/", "http://example.com:443", "/"),
      ("https://a_b.example.com/", "https://a_b.example.com", "/"),
      ("http://127.0.0.1:8080/r%20v/X", "http://127.0.0.1:8080", "/r%20v/X"),
      ("http://[::1]:80/", "http://[::1]", "/"),
      ("https://[2001:DB8::7]/", "https://[2001:db8::7]", "/"),
      ("https://[1:2:3:4:5:6:7:8]/", "https://[1:2:3:4:5:6:7:8]", "/"),
      ("https://[::]/", "https://[::]", "/"),
      ("https://[1::]/", "https://[1::]", "/"),
    ])
  func parts(text: String, origin: String, path: String) throws {
    let address = try WebAddress.parse(text)
    #expect(address.origin == origin)
    #expect(address.path == path)
    #expect(address.query == nil)
    #expect(try WebAddress.parse(address.text) == address)
  }

  @Test(
    "A query is unchanged",
    arguments: [
      ("https://example.com?a=1", "", "a=1"), ("https://example.com/?", "/", ""),
      ("https://example.com/p?x=%2F&y=a+b?c=/d", "/p", "x=%2F&y=a+b?c=/d"),
    ])
  func query(text: String, path: String, query: String) throws {
    let address = try WebAddress.parse(text)
    #expect(address.path == path)
    #expect(address.query == query)
    #expect(address.text == text)
  }

  @Test(
    "An address that two parsers could read differently is refused",
    arguments: [
      ("", WebAddress.Fault.scheme), ("example.com", .scheme), ("//example.com", .scheme),
      ("ftp://example.com", .scheme), ("https:/example.com", .scheme), ("https:example", .scheme),
      ("javascript:alert(1)", .scheme), ("file:///etc/passwd", .scheme),
      ("https://user@example.com", .userInfo), ("https://user:pass@example.com", .userInfo),
      ("https://example.com@evil.example", .userInfo), ("https://example.com/#x", .fragment),
      ("https://example.com#@evil.example/", .fragment), ("https://example.com\\@evil", .character),
      ("https://exa mple.com", .character), (" https://example.com", .character),
      ("https://example.com/\r\nHost: x", .character), ("https://example.com/\u{0}", .character),
      ("https://example.com/\u{7F}", .character), ("https://exämple.com", .character),
      ("https://example.com/ü", .character), ("https://ex\u{212A}.com", .character),
      ("https://", .host), ("https:///path", .host), ("https://:443", .host),
      ("https://-a.example", .host), ("https://a..example", .host), ("https://.example", .host),
      ("https://example.com.", .host),
      ("https://exa%6dple.com", .host), ("https://127.1", .host), ("https://2130706433", .host),
      ("https://0x7f.0.0.1", .host), ("https://0177.0.0.1", .host), ("https://1.2.3.4.5", .host),
      ("https://256.1.1.1", .host), ("https://[::1", .host), ("https://[:::]", .host),
      ("https://[1::2::3]", .host), ("https://[:1:2:3:4:5:6:7]", .host), ("https://[]", .host),
      ("https://[fe80::1%25eth0]", .host), ("https://[12345::]", .host), ("https://[::1]a", .port),
      ("https://example.com:", .port), ("https://example.com:0", .port),
      ("https://example.com:65536", .port), ("https://example.com:-1", .port),
      ("https://example.com:+1", .port), ("https://example.com:80:80", .port),
      ("https://example.com/%", .percent), ("https://example.com/%4", .percent),
      ("https://example.com/%zz", .percent),
      ("https://example.com/`id`", .character), ("https://example.com/$(id)", .character),
      ("https://example.com/\"", .character), ("https://example.com/<>", .character),
      ("-https://example.com", .scheme), ("--help", .scheme), ("smb://example.com/x", .scheme),
      ("ms-msdt:/id", .scheme), ("data:text/html,x", .scheme), ("http:", .scheme),
      ("https://example.com/" + String(repeating: "a", count: 8192 - 19), .tooLong),
    ])
  func refused(text: String, fault: WebAddress.Fault) {
    #expect(throws: fault) { try WebAddress.parse(text) }
  }

  /// Addresses that must not be opened.
  static let hostile = [
    "javascript:alert(1)", "file:///etc/passwd", "smb://host/share", "ms-msdt:/id",
    "data:text/html,x",
    "http://op.example/go", "https://op.example/a b", "https://op.example/\"x",
    "https://op.example/`id`",
    "https://op.example/$(id)", "https://op.example/\u{1B}[2J",
    "https://op.example\\@evil.example/",
    "https://op.example@evil.example/", "-https://op.example/", "--help", "https://-op.example/",
    "",
    "https://op.example/" + String(repeating: "a", count: 8192), "http://127.0.0.1:6379/",
    "https://[::1]/",
  ]

  @Test func `An address may have 8192 bytes`() throws {
    let text = "https://example.com/" + String(repeating: "a", count: 8192 - 20)
    #expect(try WebAddress.parse(text).text == text)
    #expect(try WebAddress.parse("https://example.com/$id(x)'").path == "/$id(x)'")
  }

  @Test(
    "An address is safe with https or on the loopback interface",
    arguments: [
      ("https://example.com", true), ("http://127.0.0.1:1", true), ("http://127.9.8.7", true),
      ("http://[::1]:8080", true), ("http://localhost", false), ("http://example.com", false),
      ("http://128.0.0.1", false), ("http://[::2]", false),
      ("http://127.0.0.1.example.com", false),
    ])
  func safety(text: String, isSafe: Bool) throws {
    #expect(try WebAddress.parse(text).isSafe == isSafe)
  }
}
