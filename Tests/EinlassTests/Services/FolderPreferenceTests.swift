import Testing

@testable import Einlass

/// The preferred accounts for folders.
struct FolderPreferenceTests {
  private static func provider(_ id: String) throws -> Provider {
    try ProviderCatalog.builtIn.provider(id)
  }

  static let folders = [
    FolderPreference("/home/ada", provider: "github", account: "ada"),
    FolderPreference("/home/ada/office", provider: "github", account: "work"),
    FolderPreference("/home/ada/office/x", provider: "gitlab", account: "other"),
  ]

  @Test(arguments: [
    ("/home/ada", "ada"), ("/home/ada/notes", "ada"), ("/home/ada/office", "work"),
    ("/home/ada/office/x/y", "work"), ("/home/ada/offices", "ada"), ("/home/adam", nil),
    ("/home", nil),
    ("/", nil), ("", nil),
  ])
  func `The longest folder above the path decides, by whole names`(
    folder: String, account: String?
  ) throws {
    #expect(try Self.folders.account(of: Self.provider("github"), in: folder) == account)
  }

  @Test func `The root covers every folder, and without a folder nothing is preferred`() throws {
    let root = [FolderPreference("/", provider: "github", account: "ada")]
    #expect(try root.account(of: Self.provider("github"), in: "/srv") == "ada")
    #expect(try root.account(of: Self.provider("github"), in: "/") == "ada")
    #expect(try root.account(of: Self.provider("github"), in: nil) == nil)
    #expect(try root.account(of: Self.provider("gitlab"), in: "/srv") == nil)
  }

  @Test func `An alias of the provider stands for it`() throws {
    let folders = [FolderPreference("/srv", provider: "google.com", account: "ada")]
    #expect(try folders.account(of: Self.provider("google"), in: "/srv") == "ada")
    #expect(try folders.account(of: Self.provider("github"), in: "/srv") == nil)
  }
}
