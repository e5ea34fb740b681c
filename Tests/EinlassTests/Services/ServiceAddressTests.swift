import Testing

@testable import Einlass

@Suite struct ServiceAddressTests {
  @Test(arguments: [
    ("https://git.example", "https://git.example"),
    ("https://GIT.example:443/", "https://git.example"),
    ("https://git.example:8443/team/app.git", "https://git.example:8443/team/app.git"),
    ("https://git.example/a%20b/", "https://git.example/a%20b"),
    ("https://git.example/t%C3%A9am/a=b", "https://git.example/t%C3%A9am/a=b"),
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
    "git.example:x", "https://git.example\n", "https://gıt.example", "git.example ",
  ])
  func `An address that two programs could read differently is refused`(text: String) {
    #expect(throws: ServiceAddress.Fault.self) { try ServiceAddress(text) }
  }

  @Test(arguments: [
    "corp/..;/x", "corp/.;a=1/x", "corp;/x", "..%3Bx", ";x", "a%252e%252e/x", "%c0%ae%c0%ae/x",
    "%e0%80%ae/x", "%ff", "%63orp", "a%2Db", "corp/%7Eada",
  ])
  func `A path that servers read differently is below its host alone`(path: String) throws {
    let address = try ServiceAddress("https://git.example/\(path)")
    #expect(address.isAmbiguous)
    for (place, isBelow, isPerhapsBelow) in [
      ("https://git.example", true, false), ("git.example", true, false),
      ("https://git.example/corp", false, true), ("https://git.example/other", false, true),
      ("https://git.example:8443/corp", false, false), ("https://git.test", false, false),
    ] {
      let place = try ServiceAddress(place)
      #expect(address.isBelow(place) == isBelow)
      #expect(address.isPerhapsBelow(place) == isPerhapsBelow)
    }
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

  @Test func `A host alone and an address at it are two services, and the address is closer`()
    throws
  {
    let (host, address) = try (ServiceAddress("git.example"), ServiceAddress("https://git.example"))
    #expect(!host.isSame(as: address) && !address.isSame(as: host) && host.isSame(as: host))
    #expect(address.isCloser(than: host) && !host.isCloser(than: address))
    #expect(try ServiceAddress("https://git.example/x").isCloser(than: address))
  }
}
