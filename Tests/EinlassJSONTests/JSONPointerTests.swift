import EinlassJSON
import Testing

struct JSONPointerTests {
  let document: JSONValue = [
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6,
    " ": 7, "m~n": 8,
  ]

  @Test(
    "The examples of RFC 6901 section 5 are found",
    arguments: [
      ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3),
      ("/g|h", 4), ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8),
    ] as [(String, JSONValue)])
  func found(pointer: String, value: JSONValue) {
    #expect(document.at(pointer: pointer) == value)
  }

  @Test(
    "A pointer that is malformed or leads nowhere finds nothing",
    arguments: [
      "foo", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/m~2n", "/m~", "/x", "//",
      "/foo/0/x", "/foo/",
    ])
  func absent(pointer: String) {
    #expect(document.at(pointer: pointer) == nil)
  }

  @Test("The empty pointer is the whole document")
  func whole() { #expect(document.at(pointer: "") == document) }

  @Test("A token is escaped when it is appended")
  func appends() {
    #expect(document.at(pointer: appending("a/b", toPointer: "")) == 1)
    #expect(appending("m~n", toPointer: "/x") == "/x/m~0n")
  }
}
