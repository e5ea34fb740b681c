import EinlassJSON
import Foundation
import Testing

/// The rules of `Sources/ARCHITECTURE.md` that a machine can check.
@Suite struct TidyTests {
  /// Which of our targets, and which C libraries, each target may import.
  static let imports: [String: Set<String>] = [
    "EinlassSystem": ["CSystem"],
    "EinlassJSON": [],
    "EinlassCrypto": ["COpenSSL"],
    "Einlass": ["EinlassJSON", "EinlassCrypto"],
    "EinlassNetwork": ["Einlass", "EinlassCrypto", "EinlassSystem", "CCurl", "CSystem"],
    "EinlassStorage": ["Einlass", "EinlassCrypto", "EinlassSystem", "CSQLite", "CWALIndex"],
    "EinlassRPC": ["EinlassJSON", "EinlassSystem"],
    "EinlassServer": ["Einlass", "EinlassCrypto", "EinlassJSON", "EinlassRPC", "EinlassSystem"],
    "EinlassCommand": [
      "EinlassSystem", "EinlassJSON", "EinlassCrypto", "Einlass", "EinlassNetwork",
      "EinlassStorage", "EinlassRPC", "EinlassServer",
    ],
    "EinlassControl": ["EinlassJSON", "EinlassRPC", "EinlassSystem", "ArgumentParser"],
    "EinlassSandbox": ["EinlassJSON", "EinlassCrypto", "FlyingFox", "FlyingSocks", "Foundation"],
  ]

  /// What comes with the toolchain and is small.
  static let toolchain: Set<String> = [
    "Glibc", "Dispatch", "FoundationEssentials", "Synchronization",
  ]

  static let linked = imports.keys.filter { $0 != "EinlassSandbox" }

  @Test(arguments: imports.keys.sorted())
  func `A target imports only what the table of the architecture allows`(target: String) throws {
    let allowed = try #require(Self.imports[target]).union(Self.toolchain)
    for file in try SourceFile.all(in: target) {
      for module in file.imports where !allowed.contains(module) {
        Issue.record("\(file.path) imports \(module)")
      }
    }
  }

  @Test func `Every target of ours stands in the table`() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: "\(SourceFile.root)/Sources")
      .filter { $0.hasPrefix("Einlass") }
    #expect(Set(folders) == Set(Self.imports.keys))
  }

  @Test func `Every link of the README leads to a file, and every promise has one to a test`()
    throws
  {
    let text = try String(contentsOfFile: "\(SourceFile.root)/README.md", encoding: .utf8)
    let links = text.matches(of: /\]\(([^)]+)\)/).map { String($0.1) }
    for link in links where !link.hasPrefix("https:") {
      #expect(FileManager.default.fileExists(atPath: "\(SourceFile.root)/\(link)"), "\(link)")
    }
    let promises = try #require(text.split(separator: "| Promise | Tests |\n|---|---|\n").last)
      .prefix { $0 != "#" }.split(separator: "\n").prefix { $0.hasPrefix("|") }
    #expect(promises.count > 10)
    for promise in promises { #expect(promise.contains("](Tests/"), "\(promise)") }
  }

  @Test func `No file is longer than 400 lines and no function longer than 70`() throws {
    for file in try SourceFile.all() {
      #expect(file.lines.count <= 400, "\(file.path)")
      for (start, count) in file.functionLengths where count > 70 {
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
    (#"import (class |struct )?Synchronization"#, ["Einlass/Providers/CatalogEntry.swift"]),
    (#"\bdlopen\(|posix_spawn|[^.e] system\("#, []),
    // The runtime's pool, which tries for ever to get a thread.
    (
      #"\bTask(\.detached)? \{|globalConcurrentExecutor|\bDispatchQueue"#, ["Einlass/Effects.swift"]
    ),
    (
      #"Task\.sleep|ContinuousClock|SuspendingClock|clock_gettime|csystem_wall_clock|\btime\(nil"#,
      ["EinlassNetwork/LiveEffects.swift"]
    ),
  ])
  func `What the program must not do is nowhere in its sources`(
    pattern: String, exceptions: [String]
  ) throws {
    let expression = try Regex(pattern)
    for file in try SourceFile.all(in: Self.linked) where !exceptions.contains(file.name) {
      for (number, line) in file.code where line.contains(expression) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `Unsafe expressions stand only where C is called`() throws {
    let places = [
      "EinlassSystem/", "EinlassCrypto/", "EinlassStorage/SQLite", "EinlassNetwork/Curl",
    ]
    for file in try SourceFile.all(in: Self.linked) {
      guard !places.contains(where: { file.name.hasPrefix($0) }) else { continue }
      for (number, line) in file.code where line.contains(/\bunsafe\b/) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `Secrets are revealed only where they leave for their own purpose`() throws {
    for file in try SourceFile.all(in: Self.linked) where file.name != "EinlassCrypto/Secret.swift"
    {
      guard !revealing.contains(where: { file.name.hasPrefix($0) }) else { continue }
      for (number, line) in file.code where line.contains("reveal()") {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `No provider's name stands in Swift`() throws {
    let catalog = try JSONReader.read(
      Array(
        Data(
          contentsOf: URL(filePath: "\(SourceFile.root)/Sources/Einlass/Providers/providers.json"))
      ))
    let ids = try #require(catalog["providers"]?.array).compactMap { $0["id"]?.string }
    try #require(ids.count >= 2)
    // The people's tool shows names in its examples.
    for file in try SourceFile.all(in: Self.linked.filter { $0 != "EinlassControl" }) {
      for (number, line) in file.lines.enumerated() {
        for id in ids where line.lowercased().contains(id) {
          Issue.record("\(file.path):\(number + 1) names \(id)")
        }
      }
    }
  }

  @Test func `Every public type and function, and every type of a file, says what it is`() throws {
    let isPublic =
      /^ *public (static |final |mutating |borrowing )*(struct|class|enum|func|typealias) (?!hash\(|==).*/
    let isOuter = /^(?:final |@safe )*(?:struct|class|enum|typealias) .*/
    for file in try SourceFile.all(in: Self.linked) {
      for (number, line) in file.code
      where line.contains(isPublic) || line.contains(isOuter) {
        guard !file.isDocumented(number - 1) else { continue }
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }

  @Test func `Names say what a thing is`() throws {
    let forbidden = /(struct|class|enum|actor|protocol) \w*(Manager|Helper|Util|Common|Impl)\b/
    for file in try SourceFile.all() {
      #expect(!file.name.contains("Extensions"), "\(file.path)")
      for (number, line) in file.code where line.contains(forbidden) {
        Issue.record("\(file.path):\(number) \(line)")
      }
    }
  }
}

/// The files that may turn a `Secret` into bytes.
private let revealing = [
  "EinlassCrypto/", "EinlassStorage/Sealing", "EinlassStorage/Key", "EinlassServer/WireTypes",
  "Einlass/OAuth1/Signer", "Einlass/Accounts/RevealedText",
]

/// One Swift file of ours.
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
    let folder = "\(root)/Sources"
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter {
      $0.hasSuffix(".swift") && (target.isEmpty || $0.hasPrefix("\(target)/"))
    }
    return try names.map { name in
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      return SourceFile(
        name: name, lines: text.components(separatedBy: "\n").dropLast(1).map { $0 })
    }
  }

  var imports: [String] {
    lines.compactMap { line in
      let found = line.firstMatch(
        of:
          /^\s*(@testable |@preconcurrency |public |package |internal |private )*import (class |struct |enum |func )?(\w+)/
      )
      return found.map { String($0.3) }
    }
  }

  /// The lines that are no comments, with their numbers.
  var code: [(Int, String)] {
    lines.enumerated().filter { !$0.element.trimmingCharacters(in: .whitespaces).hasPrefix("//") }
      .map { ($0.offset + 1, $0.element) }
  }

  /// Where functions start and how many lines they have, by the indentation of their closing brace.
  var functionLengths: [(Int, Int)] {
    var lengths: [(Int, Int)] = []
    for (start, line) in lines.enumerated() where line.contains(/^\s*[\w@ ]*\b(func |init[?(<])/) {
      let indent = line.prefix { $0 == " " }
      let end = lines[start...].firstIndex { $0.hasPrefix("\(indent)}") }
      if let end { lengths.append((start + 1, end - start + 1)) }
    }
    return lengths
  }

  /// Whether a doc comment stands above, attributes between them aside, or above a member of a documented family.
  func isDocumented(_ index: Int) -> Bool {
    var above = index - 1
    while above >= 0, lines[above].contains(/^\s*@/) { above -= 1 }
    return above >= 0 && lines[above].contains(/^\s*\/\/\//)
  }
}
