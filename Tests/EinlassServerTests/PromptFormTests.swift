import Einlass
import EinlassJSON
import Foundation
import Testing

@testable import EinlassServer

/// `show` of each kind of prompt, and its limits.
@Suite struct PromptFormTests {
  private static let flow = pending()

  private static func pending() -> PendingRequest {
    PendingRequest(
      id: "f_1", kind: .passphrase, of: .init(application: "conformance", title: "Conformance"),
      providerName: "GitHub", flowKind: .authorizationCode, startedAt: 0, expiresAt: 300,
      request: nil)
  }

  private static func account(_ name: String, displayName: String? = nil) -> Account {
    Account(
      id: Account.ID(rawValue: "a_\(name)"), provider: "github", username: name,
      displayName: displayName, isSignedIn: true, addedAt: 0)
  }

  private static func page(_ path: String, query: String? = nil) -> WebAddress {
    WebAddress(scheme: .https, host: "github.example", path: path, query: query)
  }

  /// The prompts of `protocol/conformance/prompts.json`.
  private static var prompts: [Prompt] {
    let ada = account("ada", displayName: "Ada Lovelace")
    var grace = account("grace")
    grace.health = .reloginNeeded
    var login = Prompt.Login(
      server: "https://pbx.example:8443", host: "pbx.example", isSafe: false)
    login.mayRemember = true
    let key = "sha256//X3pGTSOuJeEVw989IJ/cEtXUEmy52zs1TZQrU06KUKg="
    return [
      .grantAccess(
        permissions: ["email"], audience: .friends, added: ["email"], includes: [.refreshToken]),
      .selectAccount([ada, grace], more: true), .confirmAccount(ada),
      .replaceAccount([ada], more: true),
      .openURL(page("/login", query: "a=b&c=d"), returningTo: "com.example.editor:/callback"),
      .deviceCode(page("/device"), wholePage: nil, userCode: "WDJB-MJHT", expiresAt: 300),
      .enterVerifier(.pin, isAgain: true),
      .enterPassphrase(.init(.export, path: "/home/ada/accounts", isNew: true)),
      .enterPassword(login),
      .trustCertificate(
        .init(
          server: "https://pbx.example:8443", host: "pbx.example", port: 8443,
          certificate: .init(publicKey: key, fault: .selfSigned, endsAt: 1_893_456_000))),
    ]
  }

  private static func shown(_ prompt: Prompt, in language: PromptLanguage = .english) -> JSONValue {
    .object(PromptForm(prompt, of: flow).json(in: language))
  }

  @Test func `The prompts that the kit shows are those of the server`() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../protocol/conformance/prompts.json")
    let kit = try #require(JSONReader.read(Array(Data(contentsOf: file))).array)
    #expect(Set(Self.prompts.map(\.kind)) == Set(Prompt.Kind.allCases))
    for prompt in Self.prompts {
      let entry = kit.first { $0["prompt"]?["kind"]?.string == prompt.kind.rawValue }
      #expect(entry?["prompt"]?["show"] == Self.shown(prompt), "\(Self.shown(prompt).text)")
    }
  }

  @Test(arguments: prompts)
  func `Each prompt names the application that asks`(prompt: Prompt) {
    let form = PromptForm(prompt, of: Self.flow)
    let text = ([form.title] + form.text).map { $0.text(in: .english) }
    #expect(text.contains { $0.contains("“Conformance”") }, "\(text)")
  }

  @Test(arguments: prompts)
  func `In the pseudo-language no word of the server is English, and the other texts stay`(
    prompt: Prompt
  ) throws {
    let (english, pseudo) = (Self.shown(prompt), Self.shown(prompt, in: .pseudo))
    for name in ["page", "code"] { #expect(english[name] == pseudo[name]) }
    let title = try #require(pseudo["title"]?.string)
    #expect(title.hasPrefix("[") && title.hasSuffix("]"))
    let buttons = try #require(pseudo["buttons"]?.array)
    for text in [title] + buttons.compactMap({ $0["label"]?.string }) {
      var isForeign = false
      for letter in text {
        isForeign = letter == "“" || isForeign && letter != "”"
        #expect(isForeign || !letter.isASCII || !letter.isLetter, "\(text)")
      }
    }
  }

  @Test func `The end of a permission is shown, because it may be the name of a lesser one`() {
    let scope = "https://auth.example/admin.directory.device.chromeos.readonly.and.nothing.else"
    let flow = Self.pending()
    flow.grant = AccessGrant(
      application: "conformance", provider: "github", state: .granted, permissions: [scope],
      changedAt: 0)
    let access = Prompt.grantAccess(
      permissions: [scope, "email"], audience: nil, added: [scope], includes: [])
    for prompt in [access, .openURL(Self.page("/"), returningTo: nil)] {
      let text = PromptForm(prompt, of: flow).text.map { $0.text(in: .english) }.joined()
      #expect(text.contains("“\(scope)”"), "\(text)")
    }
  }

  @Test func `Each right is a sentence, and a refusal says that it is remembered`() {
    let prompt = Prompt.grantAccess(
      permissions: ["email", "repo"], audience: nil, added: ["repo"], includes: [])
    let form = PromptForm(prompt, of: Self.flow)
    let sentences = ["It asks for “email”.", "It asks for “repo”, which is new."]
    #expect(form.text.map { $0.text(in: .english) } == sentences)
    let refusal = form.buttons.first { $0.action == "decline" }
    #expect(refusal?.label.label(in: .english) == "Don't allow, and remember it")
  }

  @Test func `The question for the last address repeats no sentence of the page beside it`() {
    let form = PromptForm(.enterVerifier(.redirectURL), of: Self.flow)
    #expect(
      form.text.map { $0.text(in: .english) }
        == ["The sign-in goes on by itself if the browser is on this machine."])
  }

  @Test(arguments: [nil, "Ada Lovelace"] as [String?])
  func `The user name of an account is beside its name, and not repeated`(name: String?) {
    let form = PromptForm(.confirmAccount(Self.account("ada", displayName: name)), of: Self.flow)
    let text = ([form.title] + form.text).map { $0.text(in: .english) }.joined()
    #expect(text.split(separator: "“ada”", omittingEmptySubsequences: false).count == 2)
  }

  @Test func `A new account needs no id, however many accounts there are`() {
    let form = PromptForm(.replaceAccount([Self.account("ada")], more: true), of: Self.flow)
    #expect(form.fields.isEmpty && form.buttons.first?.action == "accept")
  }

  @Test(arguments: [false, true])
  func `A passphrase that must be long says so before it is entered`(isLong: Bool) {
    var wanted = Prompt.Passphrase(.export, path: nil, isNew: true)
    wanted.isLong = isLong
    let asks: JSONValue = "“Conformance” asks for it."
    #expect(
      Self.shown(.enterPassphrase(wanted))["text"]
        == JSONValue.array(isLong ? ["It needs at least twelve characters.", asks] : [asks]))
  }

  @Test func `A text of another program is marked, cut, and has no controls and quotation marks`() {
    func title(_ provider: String) -> String? {
      let flow = PendingRequest(
        id: "f", kind: .passphrase, of: .init(application: "editor"), providerName: provider,
        flowKind: .authorizationCode, startedAt: 0, expiresAt: 1, request: nil)
      return PromptForm(.enterVerifier(.pin), of: flow).json(in: .english)["title"]?.string
    }
    func sentence(_ name: String) -> String { "Enter the code that the page of “\(name)” shows." }
    let (fits, long) = (String(repeating: "ä", count: 64), String(repeating: "ä", count: 65))
    #expect(title(fits) == sentence(fits))
    #expect(title(long) == sentence(String(repeating: "ä", count: 63) + "…"))
    #expect(title("a” shows. “b") == sentence("a\" shows. \"b"))
    for mark in ["\u{FE0E}", "\u{200D}", "\u{301}"] {
      #expect(title("a”\(mark) b “\(mark)") == sentence("a\"\(mark) b \"\(mark)"))
    }
    #expect(title("a\u{1B}[2J\u{202E}\nb") == sentence("a[2Jb…"))
  }

  @Test(arguments: [(64, 64), (65, 64)])
  func `The label of an account is cut at 64 characters`(count: Int, shown: Int) throws {
    let account = Self.account("a", displayName: String(repeating: "y", count: count))
    let form = PromptForm(.selectAccount([account], more: false), of: Self.flow)
    #expect(form.choices[0].label.label(in: .english).count == shown)
    #expect(form.choices[0].label.label(in: .english).hasSuffix("…") == (count > shown))
  }

  @Test func `The user name of a choice is marked and cut, and its state stays`() {
    var account = Self.account(String(repeating: "y", count: 65), displayName: "Ada")
    account.health = .banned
    let form = PromptForm(.selectAccount([account], more: false), of: Self.flow)
    let detail = form.choices[0].json(in: .english)["detail"]?.string
    let name = String(repeating: "y", count: 63)
    #expect(detail == "“\(name)…”, suspended by the provider")
  }

  @Test(arguments: [64, 65])
  func `A code is cut at 64 characters, because it has no marks`(count: Int) {
    let code = String(repeating: "A", count: count)
    let prompt = Prompt.deviceCode(
      Self.page("/device"), wholePage: nil, userCode: code, expiresAt: 300)
    let shown = PromptForm(prompt, of: Self.flow).code
    #expect(shown == (count > 64 ? "\(code.prefix(63))…" : code))
  }
}
