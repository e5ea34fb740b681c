import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// The language of the person: its form, the parameter of the page, and the header.
@Suite struct LanguageTagTests {
  @Test(arguments: [
    "de", "DE", "pt-BR", "zh-Hant-TW", "sr-Latn-RS", "es-419", "de-CH-1996", "gsw", "en-x-private",
    "abcdefgh", "de-abcdefgh", "de" + String(repeating: "-abcdefg1", count: 6) + "-abcdefg",
  ])
  func `A language tag is taken as it is`(text: String) {
    #expect(LanguageTag(text)?.text == text)
  }

  @Test(arguments: [
    "", "d", "i-klingon", "de_DE", "de_DE.UTF-8", "de-", "-de", "de--DE", "d1", "de DE", "de\n",
    "de,en", "de;q=1", "dé", "abcdefghi", "de-abcdefghi", "*",
    "de" + String(repeating: "-abcdefg1", count: 7),
  ])
  func `Anything else is no language tag`(text: String) {
    #expect(LanguageTag(text) == nil)
  }

  @Test(arguments: [
    (#"{"parameter": "hl"}"#, "hl", "zh-Hant-TW"),
    (#"{"parameter": "lang"}"#, "lang", "zh-Hant-TW"),
    (#"{"parameter": "locale"}"#, "locale", "zh-Hant-TW"),
    (#"{"parameter": "ui_locales", "separator": "-"}"#, "ui_locales", "zh-Hant-TW"),
    (#"{"parameter": "locale", "separator": "_"}"#, "locale", "zh_Hant_TW"),
  ])
  func `The descriptor decides the parameter and its form`(
    text: String, name: String, value: String
  )
    throws
  {
    let reader = try DescriptorReader(
      .object(["locale": JSONReader.read(Array(text.utf8))]), at: "", provider: nil,
      members: ["locale"])
    let descriptor = try #require(try LocaleDescriptor("locale", in: reader))
    let parameter = descriptor.parameter(try #require(LanguageTag("zh-Hant-TW")))
    #expect(parameter == Parameter(name, value))
  }

  @Test(
    arguments: [
      (nil, [], nil), ("de-CH", [], "hl=de-CH"), ("de-CH", ["hl"], "hl=own"),
      ("de-CH", ["HL"], "HL=own"),
    ] as [(String?, [String], String?)])
  func `The page gets the language, unless the front end has set it itself`(
    language: String?, custom: [String], expected: String?
  ) async throws {
    var request = SignInRequest(
      application: "editor", registration: Sample.registration, provider: "google")
    request.locale = language.flatMap(LanguageTag.init)
    request.customParameters = custom.map { Parameter($0, "own") }
    request.flowKind = .authorizationCode
    let script = Script(answers: [.decline])
    _ = try? await Sample.engine(script).signIn(request, asking: script.asker([.openURL]))
    guard case .openURL(let page, _)? = script.prompts.first else {
      Issue.record("no page")
      return
    }
    let found = page.query?.split(separator: "&").filter { $0.lowercased().hasPrefix("hl=") }
    #expect(found?.map(String.init) == [expected].compactMap(\.self))
  }

  @Test(arguments: [nil, "de-CH"])
  func `Requests of einlass name the language`(text: String?) async throws {
    let script = Script([.text("ok")])
    let effects = script.effects.speaking(text.flatMap(LanguageTag.init))
    _ = try await effects.send(
      HTTPRequest(
        .get, WebAddress(scheme: .https, host: "example.com"), headers: [.init("Accept", "*/*")]))
    var expected = [HTTPRequest.Header("Accept", "*/*")]
    if let text { expected.append(.init("Accept-Language", text)) }
    #expect(script.requests.first?.headers == expected)
  }
}
