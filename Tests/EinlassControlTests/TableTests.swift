import EinlassJSON
import Testing

@testable import EinlassControl
@testable import EinlassHelpers

/// Terminal output: cleaned of control characters and never wider than the terminal.
struct TableTests {
  private let plain = Style(isColoured: false)
  private let people = Table(
    headings: ["WHO", "WORDS", Table.Heading("ID", isWhole: true)],
    rows: [
      ["ada", "the analytical engine weaves algebraic patterns", "a_0123456789"],
      ["日本語", "", "a_x"],
    ])

  @Test("A column is as wide as its widest cell, and wide characters count as two columns")
  func layout() {
    #expect(
      people.lines(width: nil, style: plain) == [
        "WHO     WORDS                                            ID",
        "ada     the analytical engine weaves algebraic patterns  a_0123456789",
        "日本語                                                   a_x",
      ])
  }

  @Test(
    "No line is wider than the terminal, ids stay whole, and no word is broken", arguments: 32...80)
  func fits(width: Int) {
    let lines = people.lines(width: width, style: plain)
    #expect(lines.allSatisfy { $0.columns <= width }, "\(lines)")
    #expect(lines[1].hasSuffix("a_0123456789"))
    let words = lines.dropFirst().flatMap { $0.split(separator: " ") }
    #expect(
      Set(words) == Set(people.rows.flatMap { $0 }.flatMap { $0.text.split(separator: " ") }))
  }

  @Test("Text that is wider than its column continues on the next line")
  func wrapped() {
    #expect(
      people.lines(width: 40, style: plain) == [
        "WHO     WORDS               ID",
        "ada     the analytical      a_0123456789",
        "        engine weaves",
        "        algebraic patterns",
        "日本語                      a_x",
      ])
  }

  @Test("A word that leaves no room for other columns is cut with an ellipsis")
  func longWord() {
    let table = Table(
      headings: ["WHO", "ID"], rows: [["ada@analytical-engine.example.org", "a_0"]])
    #expect(
      table.lines(width: 20, style: plain) == ["WHO              ID", "ada@analytical…  a_0"])
  }

  @Test(
    "On a terminal that is too narrow for columns, each cell gets its own line", arguments: 1..<31)
  func narrow(width: Int) {
    let lines = people.lines(width: width, style: plain)
    #expect(lines.contains("ID: a_0123456789"))
    #expect(lines.contains(""))
    #expect(lines.contains { $0.hasPrefix("WHO: ") })
    #expect(lines.contains { $0.hasSuffix("analytical") } || width > 20)
  }

  @Test("Text after a label wraps below its beginning, and an overlong word stays whole")
  func labels() {
    #expect(
      labelled("notes ", "a much-longer-word 日本語 b", 14) == [
        "notes a", "      much-longer-word", "      日本語 b",
      ])
    #expect(labelled("notes ", "a  b", nil) == ["notes a  b"])
  }

  @Test("A column without content is left out, and no line ends in blanks")
  func emptyColumns() {
    let table = Table(headings: ["A", "B", "C"], rows: [["1", "", "2"], ["3", "", ""]])
    #expect(table.lines(width: 40, style: plain) == ["A  C", "1  2", "3"])
  }

  @Test("Colours do not change the width")
  func colours() {
    let table = Table(headings: ["A"], rows: [[Table.Cell("yes", .good)]])
    let lines = table.lines(width: 3, style: Style(isColoured: true))
    #expect(lines == ["\u{1B}[1mA\u{1B}[0m", "\u{1B}[32myes\u{1B}[0m"])
  }

  @Test(
    "Characters have the width that terminals give them",
    arguments: [
      ("a", 1), ("é", 1), ("e\u{301}", 1), ("日", 2), ("한", 2), ("ｱ", 1), ("Ａ", 2), ("👩‍👩‍👧", 2),
      ("❤️", 2),
      ("\u{301}", 0), ("ß", 1),
    ])
  func widths(text: String, columns: Int) {
    #expect(text.columns == columns)
  }

  @Test("A text is cut between characters and ends in an ellipsis")
  func cut() {
    #expect("日本語".cut(to: 6) == "日本語")
    #expect("日本語".cut(to: 5) == "日本…")
    #expect("日本語".cut(to: 4) == "日…")
    #expect("ab".cut(to: 1) == "…")
    #expect("ab".cut(to: 0).isEmpty)
  }

  @Test(
    "A name cannot control the terminal, hide text or change its direction",
    arguments: [
      ("a\u{1B}[31mb", "a\u{FFFD}[31mb"), ("a\nb\tc", "a\u{FFFD}b\u{FFFD}c"),
      ("\u{9B}2J", "\u{FFFD}2J"),
      ("\u{202E}ada\u{2066}", "\u{FFFD}ada\u{FFFD}"), ("a\u{200B}b\u{AD}c", "a\u{FFFD}b\u{FFFD}c"),
      ("\u{E0041}\u{FEFF}\u{E000}", "\u{FFFD}\u{FFFD}\u{FFFD}"), ("Ada Ł. 日本 👋", "Ada Ł. 日本 👋"),
    ])
  func cleaning(text: String, cleaned: String) {
    #expect(clean(text) == cleaned)
    #expect(Table.Cell(text).text == cleaned)
  }

  @Test("Printed JSON escapes control and invisible characters and keeps its value")
  func json() throws {
    let value: JSONValue = ["a\u{202E}": "\u{9B}2J \u{E0041} \u{1B} é"]
    let printed = printable(value)
    #expect(printed == #"{"a\u202e":"\u009b2J \udb40\udc41 \u001b é"}"#)
    #expect(try JSONReader.read(Array(printed.utf8)) == value)
  }

  @Test(
    "A time is printed as its calendar date in UTC",
    arguments: [
      (0, "1970-01-01 00:00"), (951_782_399, "2000-02-28 23:59"), (951_782_400, "2000-02-29 00:00"),
      (1_763_712_345, "2025-11-21 08:05"), (-1, "1969-12-31 23:59"),
      (4_107_542_400, "2100-03-01 00:00"), (-86_400, "1969-12-31 00:00"),
      (.min, "-292277022657-01-27 08:29"), (.max, "292277026596-12-04 15:30"),
    ])
  func dates(seconds: Int64, text: String) {
    #expect(minute(seconds) == text)
    #expect(text.hasPrefix(day(seconds)))
  }

  @Test("Only calendar dates from 1970 on are accepted on the command line")
  func days() {
    for seconds in stride(from: 0, to: 4_200_000_000, by: 13 * 86_400) as StrideTo<Int64> {
      #expect(startOfDay(day(seconds)) == seconds)
    }
    for text in [
      "", "2026-02-29", "2026-11-31", "2026-1-1", "2026-13-01", "x-01-01", "2026-01-01-01",
      "1969-12-31",
    ] {
      #expect(startOfDay(text) == nil)
    }
    #expect(startOfDay("2028-02-29") == 1_835_395_200)
  }

  @Test(
    "A command's words are quoted if a shell would change them",
    arguments: [
      ("a-b/c.d", "a-b/c.d"), ("", "''"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#),
      ("$(x)", "'$(x)'"),
      ("~", "'~'"),
    ])
  func quoting(word: String, expected: String) {
    #expect(quoted(word) == expected)
    #expect(isHarmless(word) == (word == expected))
  }
}
