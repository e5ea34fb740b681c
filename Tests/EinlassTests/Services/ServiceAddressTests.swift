import Testing

@testable import Einlass

@Suite struct ServiceAddressTests {
  @Test(arguments: [
    ("https://git.example", "https://git.example"),
    ("https://GIT.example:443/", "https://git.example"),
    ("https://git.example:8443/team/app.git", "https://git.example:8443/team/app.git"),
    ("https://git.example/a%20b/", "https://git.example/a%20b"),
    ("https://git.example/t%C3%A9am/a;b=..", "https://git.example/t%C3%A9am/a;b=.."),
    ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
    ("imap.example.com", "imap.example.com"), ("127.0.0.1:5000", "127.0.0.1:5000"),
    ("[::1]:5000", "[::1]:5000"),
  ])
  func `An address is read in its normal form`(text: String, normal: String) throws {
    #expect(try ServiceAddress(text).text == normal)
  }

  @Test(arguments: [
    "", "/", "https://", "ftp://git.example", "http://git.example", "http://localhost:80",
    "https://ada@git.example", "ada@git.example", "https://git.example?x", "https://git.example/#x",
    "https://git.example/../x", "https://git.example/./x", "https://git.example//x",
    "https://git.example/a//", "https://git.example/%2e%2e/x", "https://git.example/a%2Fb",
    "https://git.example/a%5cb", "https://git.example/%0a", "https://git.example/%7F",
    "https://git.example/%zz", "https://git.example:0", "https://git.example\\@evil.example",
    "https://git.example/corp/..;/x", "https://git.example/corp/.;a=1/x",
    "https://git.example/..%3Bx", "https://git.example/;x", "https://git.example/a%252e%252e/x",
    "https://git.example/%c0%ae%c0%ae/x", "https://git.example/%e0%80%ae/x",
    "https://git.example/%ff", "https://git.example/%63orp", "https://git.example/a%2Db",
    "git.example:x", "https://git.example\n", "https://gıt.example", "git.example ",
  ])
  func `An address that two programs could read differently is refused`(text: String) {
    #expect(throws: ServiceAddress.Fault.self) { try ServiceAddress(text) }
  }

  @Test func `An address has at most 8192 bytes`() throws {
    let longest = "https://a.example/" + String(repeating: "x", count: 8192 - 18)
    #expect(try ServiceAddress(longest).text == longest)
    #expect(throws: ServiceAddress.Fault.self) { try ServiceAddress(longest + "x") }
  }

  @Test(arguments: [
    ("https://git.example/team/app", "https://git.example", true),
    ("https://git.example/team/app", "https://git.example/team", true),
    ("https://git.example/team", "https://git.example/team", true),
    ("https://git.example/team", "https://git.example/team/app", false),
    ("https://git.example/teams", "https://git.example/team", false),
    ("https://git.example/Team", "https://git.example/team", false),
    ("https://git.example:8443", "https://git.example", false),
    ("https://git.example.evil", "https://git.example", false),
    ("https://evil-git.example", "https://git.example", false),
    ("https://sub.git.example", "https://git.example", false),
    ("http://127.0.0.1:80", "https://127.0.0.1:80", false),
    ("git.example", "https://git.example", false), ("git.example", "https://git.example/x", false),
    ("127.0.0.1:5000", "http://127.0.0.1:5000", false), ("git.example", "git.example", true),
    ("https://git.example/x", "git.example", true), ("git.example:1", "git.example:2", false),
    ("http://127.0.0.1:5000", "127.0.0.1:5000", true), ("git.example:25", "git.example", false),
  ])
  func `Host and port match exactly and the path by whole segments`(
    address: String, place: String, isBelow: Bool
  ) throws {
    #expect(try ServiceAddress(address).isBelow(ServiceAddress(place)) == isBelow)
  }

  @Test func `A host alone and an address at it are the same service in both orders`() throws {
    let (host, address) = try (ServiceAddress("git.example"), ServiceAddress("https://git.example"))
    #expect(host.isSame(as: address) && address.isSame(as: host))
    #expect(try !host.isSame(as: ServiceAddress("git.example:25")))
  }
}
