import EinlassCrypto
import EinlassJSON
import Testing

@testable import Einlass

/// The words of a descriptor for token requests and token answers.
struct TokenWordTests {
  /// Returns a descriptor of one flow with these further words, and these of its token request.
  static func descriptor(
    _ words: String = "", token: String = #""method":"POST""#, authorize: String = "",
    more: String = "", kind: String = "authorizationCode"
  ) -> String {
    let start =
      kind == "deviceCode"
      ? #""deviceAuthorization":{"method":"POST","url":"https://example.org/d"}"#
      : #""authorize":{"method":"GET","url":"https://example.org/a"\#(authorize)}"#
    return """
      {"id":"example","name":"Example","setup":{"documentation":"https://example.org/docs"},\
      "accounts":"many","registration":["clientId","clientSecret"]\(more),\
      "flows":[{"kind":"\(kind)",\(start),"token":{"url":"https://example.org/t",\(token)}\(words)}]}
      """
  }

  private static func fault(_ descriptor: String) throws -> String? {
    do {
      _ = try ProviderCatalogTests.catalog(descriptor)
      return nil
    } catch {
      #expect(error.provider == "example")
      return error.pointer.replacing("/providers/0", with: "")
    }
  }

  @Test(arguments: [
    (descriptor(token: #""method":"DELETE""#), "/flows/0/token"),
    (descriptor(token: #""method":"POST","path":"/../t""#), "/flows/0/token/path"),
    (descriptor(token: #""method":"POST","path":"/a/%2e%2e/t""#), "/flows/0/token/path"),
    (descriptor(token: #""method":"POST","path":"t""#), "/flows/0/token/path"),
    (descriptor(token: #""method":"POST","path":"/.{clientId}/t""#), "/flows/0/token/path"),
    (descriptor(token: #""method":"GET","form":{"a":"b"}"#), "/flows/0/token/form"),
    (descriptor(token: #""method":"POST","json":{},"form":{"a":"b"}"#), "/flows/0/token/json"),
    (
      descriptor(token: #""method":"POST","names":{"resource":"r"}"#),
      "/flows/0/token/names/resource"
    ),
    (
      descriptor(token: #""method":"POST","names":{"client_id":"state"}"#),
      "/flows/0/token/names/client_id"
    ),
    (
      descriptor(token: #""method":"POST","names":{"client_id":"a b"}"#),
      "/flows/0/token/names/client_id"
    ),
    (
      descriptor(token: #""method":"POST","names":{"client_id":"k","code":"k"}"#),
      "/flows/0/token/names/code"
    ),
    (
      descriptor(authorize: #","names":{"client_secret":"s"}"#),
      "/flows/0/authorize/names/client_secret"
    ),
    (
      descriptor(
        #","deviceAuthorization":{"method":"GET","url":"https://example.org/d"}"#),
      "/flows/0/deviceAuthorization"
    ),
    (
      descriptor(#","revocation":{"method":"GET","url":"https://example.org/r"}"#),
      "/flows/0/revocation"
    ),
    (
      descriptor(
        more: #","identity":{"request":{"method":"GET","url":"https://example.org/me","names":{}},"#
          + #""id":"/id","required":["id"]}"#), "/identity/request/names"
    ),
  ]) func `A token request has no other method, place or name`(
    _ descriptor: String, _ pointer: String
  ) throws {
    #expect(try Self.fault(descriptor) == pointer)
  }

  @Test(arguments: [
    (descriptor(#","tokenAnswer":{"accessToken":"access"}"#), "/flows/0/tokenAnswer/accessToken"),
    (descriptor(#","tokenAnswer":{"expiresAt":"/at"}"#), "/flows/0/tokenAnswer/expiresAt"),
    (
      descriptor(#","tokenAnswer":{"tokenTypes":["user","dPoP"]}"#),
      "/flows/0/tokenAnswer/tokenTypes"
    ),
    (descriptor(#","tokenAnswer":{"tokenTypes":"user"}"#), "/flows/0/tokenAnswer/tokenTypes"),
    (
      descriptor(#","refresh":{"tokenAnswer":{"subject":"/id"}}"#),
      "/flows/0/refresh/tokenAnswer/subject"
    ),
    (descriptor(#","device":{"lifetime":"/l"}"#, kind: "deviceCode"), "/flows/0/device/lifetime"),
    (descriptor(#","device":{"userCode":"word"}"#, kind: "deviceCode"), "/flows/0/device/userCode"),
    (
      descriptor(more: #","identity":{"source":"answer","id":"/id","required":["id"]}"#),
      "/identity/source"
    ),
    (
      descriptor(
        more: #","identity":{"source":"tokenAnswer","request":{"method":"GET","#
          + #""url":"https://example.org/me"},"id":"/id","required":["id"]}"#), "/identity/source"
    ),
    (
      descriptor(more: #","identity":{"id":"/id","required":["id"]}"#), "/identity"
    ),
  ]) func `A place in an answer is a pointer, and a type is that of a bearer token`(
    _ descriptor: String, _ pointer: String
  ) throws {
    #expect(try Self.fault(descriptor) == pointer)
  }

  private static func answer(_ words: String) throws -> TokenAnswer {
    let value = try JSONReader.read(Array("{\(words)}".utf8))
    return try TokenAnswer(
      "tokenAnswer",
      in: DescriptorReader(
        value, at: "", provider: "x", members: ["tokenAnswer", "answer", "subject"]))
  }

  @Test(arguments: [
    (
      #""accessToken":"/user/access_token""#,
      #"{"access_token":"u","refresh_token":"r","scope":"a"}"#
    ),
    // The refresh token of the root belongs to the other token.
    (#""accessToken":"/bot/access_token""#, #"{"access_token":"b"}"#),
    (
      #""accessToken":"/bot/access_token","refreshToken":"/refresh_token","scopes":"/user/scope""#,
      #"{"access_token":"b","refresh_token":"root","scope":"a"}"#
    ),
    (
      #""accessToken":"/list/0/t","expiresIn":"/list/0/l""#, #"{"access_token":"l","expires_in":9}"#
    ),
    (#""accessToken":"/nothing/access_token""#, "{}"),
    (
      #""tokenTypes":["UsEr"]"#,
      #"{"access_token":"root","refresh_token":"root","token_type":"Bearer"}"#
    ),
    (
      #""tokenTypes":["bot"]"#,
      #"{"access_token":"root","refresh_token":"root","token_type":"user"}"#
    ),
  ])
  func `The members of a token come from the object of the access token, or from their own places`(
    _ words: String, _ expected: String
  ) throws {
    let answer = """
      {"access_token":"root","refresh_token":"root","token_type":"user",\
      "user":{"access_token":"u","refresh_token":"r","scope":"a"},"bot":{"access_token":"b"},\
      "list":[{"t":"l","l":9}]}
      """
    let standard = try Self.answer(#""tokenAnswer":{\#(words)}"#)
      .standard(JSONReader.read(Array(answer.utf8)))
    #expect(standard?.text == expected)
  }

  @Test(arguments: [
    ("{{ me {{ id }} }}", "{ me { id } }"), ("{{{token}}}", "{T}"), ("{{token}}", "{token}"),
    ("{token}}}", "T}"), ("a{{", "a{"),
  ]) func `A doubled brace stands for itself`(_ text: String, _ filled: String) {
    let template = Template(text, allowing: [.token])
    #expect(template?.filled(.init(texts: [.token: "T"])) == filled)
  }

  @Test(arguments: ["{", "}", "{{{", "}}}", "{token}}", "{{token}", "{ token }", "{id}"])
  func `A single brace is refused`(_ text: String) {
    #expect(Template(text, allowing: [.token]) == nil)
  }
}
