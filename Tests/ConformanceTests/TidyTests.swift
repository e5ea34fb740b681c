import EinlassJSON
import Foundation
import Testing

/// The rules of `Sources/ARCHITECTURE.md` that a machine can check.
@Suite struct TidyTests {
  /// The targets of einlass and the C libraries that each target may import.
  static let imports: [String: Set<String>] = [
    "EinlassSystem": ["CSystem"],
    "EinlassJSON": [],
    "EinlassCrypto": ["COpenSSL"],
    "Einlass": ["EinlassJSON", "EinlassCrypto"],
    "EinlassNetwork": ["Einlass", "EinlassCrypto", "EinlassSystem", "CCurl", "CSystem"],
    "EinlassStorage": [
      "Einlass", "EinlassCrypto", "EinlassSystem", "CPostgres", "CSQLite", "CWALIndex",
    ],
    "EinlassAuthenticators": ["Einlass", "EinlassNetwork", "EinlassStorage"],
    "EinlassRPC": ["EinlassJSON", "EinlassSystem"],
    "EinlassServer": ["Einlass", "EinlassCrypto", "EinlassJSON", "EinlassRPC", "EinlassSystem"],
    "EinlassCommand": [
      "EinlassSystem", "EinlassJSON", "EinlassCrypto", "Einlass", "EinlassNetwork",
      "EinlassStorage", "EinlassRPC", "EinlassServer", "EinlassHelpers",
    ],
    "EinlassHelpers": ["EinlassJSON", "EinlassRPC", "EinlassSystem"],
    "EinlassControl": [
      "EinlassHelpers", "EinlassJSON", "EinlassRPC", "EinlassSystem", "ArgumentParser",
    ],
    "EinlassSandbox": [
      "EinlassJSON", "EinlassCrypto", "EinlassSystem", "FlyingFox", "FlyingSocks", "Foundation",
    ],
  ]

  /// Small modules of the toolchain, allowed in every target.
  static let toolchain: Set<String> = [
    "Glibc", "Dispatch", "FoundationEssentials", "Synchronization",
  ]

  static let linked = imports.keys.filter { $0 != "EinlassSandbox" }

  @Test(arguments: imports.keys.sorted())
  func `A target imports only modules from its row in the architecture's table`(target: String)
    throws
  {
    let allowed = try #require(Self.imports[target]).union(Self.toolchain)
    for file in try SourceFile.all(in: target) {
      for module in try file.imports() where !allowed.contains(module) {
        Issue.record("\(file.path) imports \(module)")
      }
    }
  }

  @Test func `Every target of einlass is in the table`() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: "\(SourceFile.root)/Sources")
      .filter { $0.hasPrefix("Einlass") }
    #expect(Set(folders) == Set(Self.imports.keys))
  }

  @Test func `Linux alone is meant only in the places that PORTING.md names`() throws {
    let places = ["CSystem/", "EinlassSystem/", "EinlassNetwork/", "EinlassStorage/Keys/"]
    let calls =
      "epoll|eventfd|inotify|signalfd|timerfd|pidfd|memfd|prctl|pipe2|accept4|fallocate|mremap|madvise|f?statfs|renameat2|close_range|getauxval|keyctl|getrandom|gettid|syscall"
    let words =
      #"SOCK_(CLOEXEC|NONBLOCK)|MSG_NOSIGNAL|O_(PATH|TMPFILE)|F_OFD_\w+|__linux__|os\(Linux\)"#
    let pattern = #"\b(\#(calls))\w*\(|\b(\#(words))|"/proc/|include <(linux|sys/(\#(calls)))"#
    // The control: each kind is found.
    for line in [
      "if (epoll_wait(1, 0, 0, 0))", "#if os(Linux)", "open(\"/proc/self\")",
      "#include <linux/fs.h>",
      "#include <sys/eventfd.h>", "F_OFD_SETLK,",
    ] {
      #expect(try !SourceFile(name: "", lines: [line]).code(matching: pattern).isEmpty, "\(line)")
    }
    var found: Set<String> = []
    for file in try SourceFile.withC() {
      let lines = try file.code(matching: pattern)
      if let place = places.first(where: { file.name.hasPrefix($0) }), !lines.isEmpty {
        found.insert(place)
      } else {
        for (number, line) in lines { Issue.record("\(file.path):\(number) \(line)") }
      }
    }
    #expect(found.isSuperset(of: places.prefix(2)))
  }

  @Test(arguments: [
    "README.md", "Tests/README.md", "clients/README.md", "Sources/SECURITY.md",
    "Sources/PORTING.md",
    "protocol/FORMER-SYSTEMS.md",
  ])
  func `Every link of a page leads to a file`(page: String) throws {
    let path = "\(SourceFile.root)/\(page)"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let folder = URL(filePath: path).deletingLastPathComponent()
    for link in text.matches(of: /\]\(([^)#]+)/).map({ String($0.1) })
    where !link.hasPrefix("https:") {
      #expect(
        FileManager.default.fileExists(atPath: folder.appending(path: link).path()),
        "\(page): \(link)")
    }
  }

  @Test func `The messages of OAuth and OpenID are computed without effects or a store`() throws {
    let pure = ["OAuth1", "OAuth2", "OpenID", "Encoding"].map { "Einlass/\($0)/" }
    let files = try SourceFile.all(in: ["Einlass"])
      .filter { file in pure.contains { file.name.hasPrefix($0) } }
    #expect(files.count > 15)
    for file in files {
      for (number, line) in try file.code(matching: #"\b(Effects|AccountStore|Exchange)\b"#) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `Every promise links to a test`() throws {
    let text = try String(contentsOfFile: "\(SourceFile.root)/Tests/README.md", encoding: .utf8)
    let promises = try #require(text.split(separator: "| Promise | Tests |\n|---|---|\n").last)
      .prefix { $0 != "#" }.split(separator: "\n").prefix { $0.hasPrefix("|") }
    #expect(promises.count > 10)
    for promise in promises { #expect(promise.contains("]("), "\(promise)") }
  }

  @Test func `Every row of the security page names tests, and each of them exists`() throws {
    let folder = "\(SourceFile.root)/Sources"
    let page = try String(contentsOfFile: "\(folder)/SECURITY.md", encoding: .utf8)
    let rows = page.split(separator: "\n")
      .filter { $0.hasPrefix("| ") && !$0.hasSuffix("| Test |") }
    #expect(rows.count > 100)
    for row in rows {
      let tests = row.matches(of: /\]\((\.\.\/Tests\/[^)]+)\)((?:,? `[^`]+`)+)/)
      #expect(!tests.isEmpty && tests.count == row.matches(of: /\]\(/).count, "\(row)")
      for test in tests {
        let file = try String(contentsOfFile: "\(folder)/\(test.1)", encoding: .utf8)
        for name in test.2.matches(of: /`([^`]+)`/).map({ $0.1 }) {
          let declarations = ["func `\(name)`(", "\"\(name)\"", "def \(name)("]
          #expect(declarations.contains { file.contains($0) }, "\(test.1) \(name)")
        }
      }
    }
  }

  @Test(arguments: [
    ("EinlassNetwork/CurlTransfer.swift", "(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))"),
    ("EinlassStorage/SQLite/SQLiteConnection.swift", "limit(SQLITE_LIMIT_VDBE_OP, to: 100_000)"),
    ("EinlassCrypto/ConstantTime.swift", "CRYPTO_memcmp(left, right, left.count)"),
    ("EinlassCrypto/Secret.swift", "CRYPTO_memcmp(left.bytes.baseAddress"),
    ("Einlass/OAuth2/ReturnedParameters.swift", "constantTimeEqual(Array($0.utf8)"),
    ("EinlassCrypto/MessageAuthentication.swift", "constantTimeEqual(hmacSHA256("),
  ])
  func `A precaution that no behaviour shows is in the source`(name: String, text: String) throws {
    let file = try #require(try SourceFile.all().first { $0.name == name })
    let pattern = NSRegularExpression.escapedPattern(for: text)
    #expect(try file.code(matching: pattern).count == 1)
  }

  @Test func `No text cites a section without its standard, or a number of another page`() throws {
    // Negative control: planted citations are found.
    for (text, isFound) in [
      ("kept (\("C")-27)", true), ("| \("T")-01 | a kill", true), ("\("Seeds") 2.2.", true),
      ("Protocol \("section") 6.", true), ("RFC 6749 section 5.2", false),
      ("RFC 8414\n  /// \("section") 3.1", false), ("Core 1.0, sections 3 and 4", false),
    ] { #expect((Self.citation(in: text) != nil) == isFound, "\(text)") }
    for file in try Self.textFiles() {
      guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { continue }
      if let found = Self.citation(in: text) { Issue.record("\(file): \(found)") }
    }
  }

  /// Returns the first citation with some text after it. A standard may be on the line before its
  /// section.
  private static func citation(in text: String) -> Substring? {
    let joined = text.replacingOccurrences(
      of: #"\n\s*(///?|#|\*)?\s*"#, with: " ", options: .regularExpression)
    let pattern = #"\b[CT]-\d\d|\bSeeds? \d|(?<!\d[A-Z]{0,1},{0,1} )\b[Ss]ections? \d"#
    return joined.range(of: pattern, options: .regularExpression)
      .map { joined[$0.lowerBound...].prefix(40) }
  }

  /// Returns the paths of the repository's own files. Vectors are the work of others.
  private static func textFiles() throws -> [String] {
    let names = try ["Sources", "Tests", "clients", "protocol"].flatMap { folder in
      try FileManager.default.subpathsOfDirectory(atPath: "\(SourceFile.root)/\(folder)")
        .map { "/\(folder)/\($0)" }
    }
    let left = ["/.", "/Vectors/", "/__pycache__/", "/build/"]
    return (names + ["/README.md", "/Package.swift"])
      .filter { name in !left.contains { name.contains($0) } }.map { SourceFile.root + $0 }
  }

  @Test func `No file is longer than 400 lines and no function longer than 70`() throws {
    for file in try SourceFile.all() {
      #expect(file.lines.count <= 400, "\(file.path)")
      for (start, count) in try file.functionLengths() where count > 70 {
        Issue.record("\(file.path):\(start) is a function of \(count) lines")
      }
    }
  }

  @Test(arguments: [
    (#"(^|[ {(])print\("#, [String]()),
    (#"try!"#, []),
    (#"[A-Z]\w*\.shared\b"#, []),
    (#"(fatalError|precondition|preconditionFailure)\([^)]*\\\("#, []),
    (#"\bUUID\(\)|\bDate\(\)"#, []),
    (
      #"import (class |struct )?Synchronization"#,
      ["Einlass/Descriptors/CatalogEntry.swift", "EinlassRPC/OnDemand.swift"]
    ),
    (#"\bdlopen\(|posix_spawn|[^.e] system\("#, []),
    // The runtime's thread pool retries without end when no thread can be started. The library has no
    // threads of its own.
    (
      #"\bTask(\.detached)? \{|globalConcurrentExecutor|\bDispatchQueue"#,
      [
        "Einlass/Effects.swift", "EinlassAuthenticators/Authenticator.swift",
        "EinlassAuthenticators/FacebookAuthenticator.swift",
        "EinlassAuthenticators/TwitterAuthenticator.swift",
      ]
    ),
    (
      #"Task\.sleep|ContinuousClock|SuspendingClock|clock_gettime|csystem_wall_clock|\btime\(nil"#,
      ["EinlassNetwork/LiveEffects.swift"]
    ),
  ])
  func `Forbidden calls are in no source of the program`(
    pattern: String, exceptions: [String]
  ) throws {
    for file in try SourceFile.all(in: Self.linked) where !exceptions.contains(file.name) {
      for (number, line) in try file.code(matching: pattern) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test
  func `Each program takes its arguments from Program.arguments, because CommandLine needs procfs`()
    throws
  {
    for file in try SourceFile.all() {
      for (number, line) in try file.code(matching: #"\bCommandLine\b"#) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `Unsafe expressions are only in the files that call C`() throws {
    let places = [
      "EinlassSystem/", "EinlassCrypto/", "EinlassStorage/SQLite", "EinlassStorage/PostgreSQL",
      "EinlassNetwork/Curl", "EinlassJSON/ByteSearch",
    ]
    for file in try SourceFile.all(in: Self.linked) {
      guard !places.contains(where: { file.name.hasPrefix($0) }) else { continue }
      for (number, line) in try file.code(matching: #"\bunsafe\b"#) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `Secrets are revealed only in the listed files`() throws {
    for file in try SourceFile.all(in: Self.linked) where file.name != "EinlassCrypto/Secret.swift"
    {
      guard !revealing.contains(where: { file.name.hasPrefix($0) }) else { continue }
      for (number, line) in try file.code(matching: #"reveal\(\)|bytesInPlace"#) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `No Swift source names a provider`() throws {
    let catalog = try JSONReader.read(
      Array(
        Data(
          contentsOf: URL(filePath: "\(SourceFile.root)/Sources/Einlass/Descriptors/providers.json")
        )
      ))
    let ids = try #require(catalog["providers"]?.array).compactMap { $0["id"]?.string }
      // These are English words too.
      .filter { !["line", "linear"].contains($0) }
    try #require(ids.count >= 2)
    // einlassctl shows provider names in its examples, a helper of git reads the software of a server
    // in its challenge, and the library has an authenticator for two.
    let exempt = ["EinlassControl", "EinlassHelpers", "EinlassAuthenticators"]
    for file in try SourceFile.all(in: Self.linked.filter { !exempt.contains($0) }) {
      for (number, line) in try file.lines(matching: "(?i)\(ids.joined(separator: "|"))") {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `Every public type and function, and every type of a file, has a doc comment`() throws
  {
    let isPublic =
      #"^ *public (static |final |mutating |borrowing )*(struct|class|enum|protocol|func|typealias) (?!hash\(|==)"#
    let isOuter = #"^(?:final |@safe )*(?:struct|class|enum|typealias) "#
    for file in try SourceFile.all(in: Self.linked) {
      for (number, line) in try file.code(matching: "\(isPublic)|\(isOuter)")
      where !file.isDocumented(number - 1) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `Type names avoid empty words such as Manager or Helper`() throws {
    let forbidden = #"(struct|class|enum|actor|protocol) \w*(Manager|Helper|Util|Common|Impl)\b"#
    for file in try SourceFile.all() {
      #expect(!file.name.contains("Extensions"), "\(file.path)")
      for (number, line) in try file.code(matching: forbidden) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }
}

private let revealing = [
  "EinlassCrypto/", "EinlassStorage/Keys/", "EinlassServer/Wire/WireTypes",
  "Einlass/OAuth1/Signer", "Einlass/Accounts/RevealedText", "EinlassNetwork/CurlTransfer",
]

private struct SourceFile {
  static let root = projectFolder.path()

  /// `Target/Folder/File.swift`.
  var name: String
  var path: String { "Sources/\(name)" }
  var lines: [String]

  static func all(in targets: some Sequence<String>) throws -> [SourceFile] {
    try targets.flatMap { try all(in: $0) }
  }

  static func all(in target: String = "") throws -> [SourceFile] {
    try withC().filter {
      $0.name.hasSuffix(".swift") && (target.isEmpty || $0.name.hasPrefix("\(target)/"))
    }
  }

  static func withC() throws -> [SourceFile] { try loaded.get() }

  private static let loaded = Result {
    let folder = "\(root)/Sources"
    return try FileManager.default.subpathsOfDirectory(atPath: folder)
      .filter { name in [".swift", ".c", ".h"].contains { name.hasSuffix($0) } }
      .map { name in
        let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
        return SourceFile(name: name, lines: text.components(separatedBy: "\n").dropLast())
      }
  }

  func imports() throws -> [String] {
    try lines(matching: #"\bimport "#).compactMap { _, line in
      let found = line.firstMatch(
        of:
          /^\s*(@testable |@preconcurrency |public |package |internal |private )*import (class |struct |enum |func )?(\w+)/
      )
      return found.map { String($0.3) }
    }
  }

  /// The lines with a match, with their numbers.
  func lines(matching pattern: String) throws -> [(Int, String)] {
    // One search of the whole text, because a search of each line takes a hundred times as long.
    let text = lines.joined(separator: "\n") as NSString
    let expression = try NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
    var found: [(Int, String)] = []
    var (number, end) = (1, 0)
    for match in expression.matches(in: text as String, range: NSRange(0..<text.length)) {
      let line = text.lineRange(for: match.range)
      guard line.location >= end else { continue }
      number += text.substring(with: NSRange(end..<line.location)).count { $0 == "\n" }
      end = line.location
      guard found.last?.0 != number else { continue }
      found.append((number, text.substring(with: line)))
    }
    return found
  }

  /// The lines with a match that are not comments, with their numbers.
  func code(matching pattern: String) throws -> [(Int, String)] {
    try lines(matching: pattern).filter {
      !$0.1.trimmingCharacters(in: .whitespaces).hasPrefix("//")
    }
  }

  /// The first line and the number of lines of each function, by the indentation of its closing
  /// brace.
  func functionLengths() throws -> [(Int, Int)] {
    try lines(matching: #"^[\w@ ]*\b(func |init[?(<])"#).compactMap { number, line in
      let indent = line.prefix { $0 == " " }
      let end = lines[(number - 1)...].firstIndex { $0.hasPrefix("\(indent)}") }
      return end.map { (number, $0 - number + 2) }
    }
  }

  /// Returns whether a doc comment is above the line. Attributes in between are skipped.
  func isDocumented(_ index: Int) -> Bool {
    var above = index - 1
    while above >= 0, lines[above].contains(/^\s*@/) { above -= 1 }
    return above >= 0 && lines[above].contains(/^\s*\/\/\//)
  }
}
