import Testing

@testable import EinlassControl
@testable import EinlassHelpers

@Suite struct GitInputTests {
  private static func input(_ text: String) throws -> GitInput { try GitInput(Array(text.utf8)) }

  private static func refusal(_ text: String) -> String? {
    do throws(Failure) {
      _ = try GitInput(Array(text.utf8)).address()
      return nil
    } catch {
      guard case .unusable(let sentence, _) = error else { return nil }
      return sentence
    }
  }

  @Test(
    arguments: [
      ("protocol=https\nhost=github.com\n", "https://github.com/"),
      (
        "protocol=https\nhost=github.com:8443\npath=ada/a b.git\n",
        "https://github.com:8443/ada/a%20b.git"
      ),
      ("protocol=smtp\nhost=smtp.gmail.com:587\n", "smtp.gmail.com"),
      ("protocol=smtp\nhost=smtp.gmail.com:465\n", "smtp.gmail.com"),
      ("protocol=smtps\nhost=smtp.gmail.com:465\n", "smtp.gmail.com"),
      ("protocol=smtps\nhost=smtp.gmail.com\n", "smtp.gmail.com"),
      ("protocol=imap\nhost=imap.gmail.com:993\n", "imap.gmail.com"),
      // These may stay without TLS.
      ("protocol=smtp\nhost=smtp.gmail.com:25\n", "smtp.gmail.com:25"),
      ("protocol=smtp\nhost=smtp.gmail.com\n", "smtp.gmail.com:25"),
      ("protocol=imap\nhost=imap.gmail.com:143\n", "imap.gmail.com:143"),
      ("protocol=imap\nhost=imap.gmail.com\n", "imap.gmail.com:143"),
      ("protocol=imaps\nhost=imap.gmail.com\n", "imap.gmail.com"),
    ])
  func `The lines of git name an address`(text: String, address: String) throws {
    #expect(try Self.input(text).address() == address)
  }

  @Test(
    arguments: [
      ("protocol=https\nhost=evil.example\nhost=github.com\n", "Line 3 of the input repeats"),
      ("protocol=https\nprotocol=http\nhost=a.example\n", "Line 2 of the input repeats"),
      ("protocol=https\nhost=github.com\npath=a\npath=b\n", "Line 4 of the input repeats"),
      ("protocol=https\nhost=github.com%0ahost\n", "Line 2 of the input holds a character"),
      ("protocol=https\nhost=ada@github.com\n", "Line 2 of the input holds a character"),
      ("protocol=https\nhost=github.com/x\n", "Line 2 of the input holds a character"),
      ("protocol=https\nhost=b\u{fc}cher.example\n", "not in Punycode (xn--)"),
      ("protocol=ftp\nhost=github.com\n", "Line 1 of the input names a protocol"),
      ("host=smtp.gmail.com:9999\nprotocol=smtp\n", "Line 1 of the input names a port"),
      ("protocol=imap\nhost=imap.gmail.com:evil.example\n", "Line 2 of the input names a port"),
      ("protocol=imaps\nhost=imap.gmail.com:993:1\n", "Line 2 of the input names a port"),
      ("protocol=smtps\nhost=smtp.gmail.com:25\n", "Line 2 of the input names a port"),
      ("protocol=https\n", "names no protocol and host"),
    ])
  func `A line that could be read differently is refused by its number`(
    text: String, sentence: String
  ) throws {
    let refusal = try #require(Self.refusal(text))
    #expect(refusal.contains(sentence))
  }

  @Test func `A line is divided at the first byte of an equals sign`() throws {
    // U+0338 makes one character with the sign before it.
    let input = try Self.input("protocol=https\nhost=github.com\npath=\u{338}a\n")
    #expect(try input.address() == "https://github.com/%CC%B8a")
    #expect(
      Self.refusal("host\u{338}=github.com\nprotocol=https\n")?.contains("no protocol") == true)
  }

  @Test func `A key with brackets may be repeated`() throws {
    let input = try Self.input(
      "capability[]=authtype\ncapability[]=state\nwwwauth[]=Basic realm=\"Gitea\"\nwwwauth[]=Bearer\n"
    )
    #expect(input.capabilities == ["authtype", "state"])
    #expect(input.software == "Gitea")
  }

  @Test(
    arguments: [
      (#"Basic realm="GitLab""#, "GitLab"), (#"Basic realm="Forgejo", charset="UTF-8""#, "Forgejo"),
      (#"Basic realm="gate""#, nil), ("Bearer Gitea", nil),
    ] as [(String, String?)])
  func `The realm of a challenge names the server's software`(challenge: String, name: String?)
    throws
  {
    #expect(try Self.input("wwwauth[]=\(challenge)\n").software == name)
  }
}
