import Foundation
import Testing

/// The messages of einlass say what happened, and no program reads inside them.
@Suite struct MessageWordsTests {
  /// A sentence after another one, or a clause after a semicolon, that begins with an order.
  private static let order =
    #"[a-z)`"](?:\. (?=[A-Z])|; (?=[a-z]))(?i:Add|Allow|Answer|Ask|Call|Change|Check|Choose|Close|Configure|Copy|Correct|Create|Delete|Drop|Enter|Free|Get|Give|Grant|Install|Leave|Let|Link|Look|Make|Move|Name|Open|Pass|Paste|Put|Raise|Register|Remove|Repair|Replace|Report|Request|Reset|Restore|Rotate|Run|See|Set|Sign|Start|Try|Unlink|Unlock|Update|Use|Wait|Write)\b"#
  /// A sentence with a method or a command, in a target without descriptions of methods.
  private static let command =
    #""[A-Z][^"]* (einlassctl |chmod |(access|accounts|auth|credentials|prompt|providers|services|store|users)\.[a-z]+[A-Za-z]*\b)[^"]*""#

  /// These are not errors of the protocol: the command line, and a page in the browser.
  private static let forPeople = ["EinlassCommand/Main.swift", "Einlass/OAuth2/RedirectPage.swift"]

  @Test func `No message of einlass contains a next step`() throws {
    for text in [
      #""There is none. Sign in there.""#, #""There is none; sign in there.""#,
      "\"\"\"\n  There is none. \\\n  Sign in there.\n\"\"\"",
    ] {
      #expect(try Self.found(Self.order, in: text).count == 1)
    }
    #expect(try Self.found(Self.command, in: #""Grant it with access.set first.""#).count == 1)
    for target in [
      "Einlass", "EinlassNetwork", "EinlassRPC", "EinlassServer", "EinlassStorage",
      "EinlassSystem", "EinlassCommand",
    ] {
      let rules =
        ["EinlassRPC", "EinlassServer", "EinlassCommand"].contains(target)
        ? [Self.order] : [Self.order, Self.command]
      for (name, text) in try Self.files(of: target) where !Self.forPeople.contains(name) {
        for rule in rules {
          for place in try Self.found(rule, in: text) { Issue.record("\(name): \(place)") }
        }
      }
    }
  }

  @Test func `einlassctl and the helpers read nothing inside a message`() throws {
    let reading =
      #"(\.message|\["message"\]\??\.(string|plain))[?!)]*( \?\? "")?\)?\.(hasPrefix|hasSuffix|contains|split|prefix|suffix|firstIndex|firstRange|places|starts)\b"#
    for control in [
      #"refusal.message.hasSuffix("afresh.")"#, #"(locked["message"]?.plain ?? "").contains("x")"#,
    ] {
      #expect(try Self.found(reading, in: control).count == 1, "\(control)")
    }
    for target in ["EinlassControl", "EinlassHelpers"] {
      for (name, text) in try Self.files(of: target) {
        for place in try Self.found(reading, in: text) { Issue.record("\(name): \(place)") }
      }
    }
  }

  /// Returns the Swift files of a target, without comments.
  private static func files(of target: String) throws -> [(name: String, text: String)] {
    let root = "\(projectFolder.path())/Sources"
    let names = try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(target)")
      .filter { $0.hasSuffix(".swift") }.map { "\(target)/\($0)" }
    try #require(names.count > 3)
    return try names.map { name in
      let lines = try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
        .components(separatedBy: "\n")
      let code = lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }
      return (name, code.joined(separator: "\n"))
    }
  }

  /// Returns the matches in a text. A line of a literal goes on after its backslash.
  private static func found(_ pattern: String, in text: String) throws -> [String] {
    let joined = text.replacing(#/[ ]*\\\n[ ]*/#, with: " ")
    let expression = try NSRegularExpression(pattern: pattern)
    let range = NSRange(joined.startIndex..., in: joined)
    return expression.matches(in: joined, range: range).map {
      (joined as NSString).substring(with: $0.range)
    }
  }
}
