import Testing

@testable import Einlass

/// The preferred accounts for folders.
struct FolderPreferenceTests {
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
  ) {
    #expect(Self.folders.account(of: "github", in: folder) == account)
  }

  @Test func `The root covers every folder, and without a folder nothing is preferred`() {
    let root = [FolderPreference("/", provider: "github", account: "ada")]
    #expect(root.account(of: "github", in: "/srv") == "ada")
    #expect(root.account(of: "github", in: "/") == "ada")
    #expect(root.account(of: "github", in: nil) == nil)
    #expect(root.account(of: "gitlab", in: "/srv") == nil)
  }
}
