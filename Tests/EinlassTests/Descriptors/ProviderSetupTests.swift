import Testing

@testable import Einlass

/// The words `setup` and `scopeContents` of a descriptor.
@Suite struct ProviderSetupTests {
  private static func provider(_ setup: String, _ more: String = "") throws -> Provider {
    let text = ProviderCatalogTests.small
      .replacing(#""https://example.org/docs""#, with: #""https://example.org/docs"\#(setup)"#)
      .replacing(#""accounts""#, with: #"\#(more)"accounts""#)
    return try ProviderCatalogTests.catalog(text).provider("example")
  }

  private static func steps(_ count: Int) -> String {
    #","steps":[\#((1...count).map { "\"Step \($0).\"" }.joined(separator: ","))]"#
  }

  @Test func `A setup has its form, its steps and the conditions of the provider`() throws {
    let setup = try Self.provider(
      #","form":"https://example.org/new","steps":["Type a name."],"costs":"Money.","#
        + #""approval":"A wait.","ends":"After a year.""#
    ).setup
    #expect(setup.form == "https://example.org/new" && setup.steps == ["Type a name."])
    #expect(setup.costs == "Money." && setup.approval == "A wait." && setup.ends == "After a year.")
    #expect(try Self.provider(Self.steps(16)).setup.steps.count == 16)
  }

  @Test(arguments: [
    (#","form":"http://example.org/new""#, "form"), (Self.steps(17), "steps"),
    (#","steps":"one""#, "steps"), (#","steps":["a\u0000b"]"#, "steps"), (#","costs":1"#, "costs"),
    (#","ends":"\#(String(repeating: "e", count: 2049))""#, "ends"),
  ]) func `A wrong member of a setup is refused with its place`(setup: String, member: String) {
    let fault = #expect(throws: ProviderCatalog.Fault.self) { try Self.provider(setup) }
    #expect(fault?.pointer == "/providers/0/setup/\(member)")
  }

  @Test func `A token with a wider scope lacks none of those that it contains`() throws {
    let contents = try Self.provider("", #""scopeContents":{"api":["read","write"]},"#)
      .scopeContents
    #expect(contents.lacking(["read", "write", "api"], in: ["api"]).isEmpty)
    #expect(contents.lacking(["read", "api", "other"], in: ["read"]) == ["api", "other"])
    #expect(contents.lacking(["READ"], in: ["api"]) == ["READ"])
  }

  @Test(arguments: [
    (#"{}"#, "/scopeContents"), (#"{"api":[]}"#, "/scopeContents/api"),
    (#"{"api":"read"}"#, "/scopeContents/api"), (#"{"":["read"]}"#, "/scopeContents/"),
    (
      #"{"api":[\#((0..<65).map { "\"s\($0)\"" }.joined(separator: ","))]}"#, "/scopeContents/api"
    ),
  ]) func `A wrong list of contained scopes is refused with its place`(
    contents: String, pointer: String
  ) {
    let fault = #expect(throws: ProviderCatalog.Fault.self) {
      try Self.provider("", #""scopeContents":\#(contents),"#)
    }
    #expect(fault?.pointer == "/providers/0\(pointer)")
  }

  @Test func `The wider scopes of the providers of git contain what git needs`() throws {
    for (id, wide) in [("github", "repo"), ("gitlab", "api"), ("bitbucket", "repository:write")] {
      let provider = try ProviderCatalog.builtIn.provider(id)
      #expect(provider.scopeContents.scopes.contains { $0.scope == wide }, "\(id)")
    }
    let gitLab = try ProviderCatalog.builtIn.provider("gitlab")
    let git = gitLab.scopeNames.replaced(in: ["git"])
    #expect(gitLab.scopeContents.lacking(git, in: ["api"]).isEmpty)
    #expect(gitLab.scopeContents.lacking(git, in: ["read_api"]) == git)
  }
}
