import Testing

@testable import EinlassControl
@testable import EinlassHelpers

struct KeyTests {
  @Test("Bytes become the same keys wherever a read cuts them")
  func cut() {
    let bytes =
      Array("aé👋\r\u{7F}\u{3}\u{1B}[A\u{1B}OB\u{1B}[1;5C\u{15}\n".utf8) + [0xFF, 0x41, 0x01]
    let keys: [Key] = [
      .character("a"), .character("é"), .character("👋"), .enter, .backspace, .cancel, .up, .down,
      .other, .clear, .enter, .other, .character("A"), .other,
    ]
    var whole = KeyReader()
    #expect(whole.keys(bytes) == keys)
    for cut in bytes.indices {
      var reader = KeyReader()
      #expect(reader.keys(Array(bytes[..<cut])) + reader.keys(Array(bytes[cut...])) == keys)
    }
    var byByte = KeyReader()
    #expect(bytes.flatMap { byByte.keys([$0]) } == keys)
  }

  @Test("Escape waits for the next byte, and an overlong escape sequence ends by itself")
  func escape() {
    var reader = KeyReader()
    #expect(reader.keys([0x1B]).isEmpty)
    #expect(reader.keys(Array("a".utf8)) == [.other, .character("a")])
    #expect(reader.keys([0x1B, 0x5B] + Array(repeating: 0x30, count: 20)).first == .other)
  }

  private func press(_ keys: [Key], of count: Int) -> (Picker.Outcome, Int?) {
    var picker = Picker((1...count).map { "row \($0)" })
    var outcome = Picker.Outcome.goesOn
    for key in keys where outcome == .goesOn { outcome = picker.press(key) }
    return (outcome, picker.current)
  }

  private func type(_ text: String, in rows: [String]) -> Picker {
    var picker = Picker(rows)
    for character in text { _ = picker.press(.character(character)) }
    return picker
  }

  @Test("Arrow keys move and wrap at the ends, Enter chooses the row, and Ctrl-C cancels")
  func arrows() {
    #expect(press([.down, .down, .up, .enter], of: 3) == (.chosen, 1))
    #expect(press([.up, .enter], of: 3) == (.chosen, 2))
    #expect(press([.down, .down, .down], of: 3) == (.goesOn, 0))
    #expect(press([.cancel], of: 3) == (.cancelled, 0))
    #expect(press([.other, .backspace], of: 3) == (.goesOn, 0))
  }

  @Test("A typed number moves to its row, digit by digit")
  func numbers() {
    #expect(press([.character("2")], of: 12) == (.goesOn, 1))
    #expect(press([.character("1"), .character("2"), .enter], of: 12) == (.chosen, 11))
    #expect(press([.character("1"), .character("2"), .backspace], of: 12) == (.goesOn, 0))
    #expect(press([.character("1"), .character("9"), .enter], of: 12) == (.goesOn, nil))
    #expect(press("\(Int.min)".map { .character($0) } + [.enter], of: 12) == (.goesOn, nil))
    #expect(press([.character("7"), .clear], of: 3) == (.goesOn, 0))
    #expect(press([.character("3"), .down, .character("2")], of: 12) == (.goesOn, 1))
  }

  @Test(
    "Typed text keeps the rows that contain it in any case, and Enter chooses only a shown row")
  func text() {
    let rows = ["apple", "GitHub", "gitlab", "slack"]
    var picker = type("GIT", in: rows)
    #expect(picker.lines(columns: 80, rows: 9) == ["> 2  GitHub", "  3  gitlab", "  typed: GIT"])
    #expect(picker.press(.down) == .goesOn && picker.current == 2)
    #expect(picker.press(.down) == .goesOn && picker.current == 1)
    #expect(picker.lines(columns: 80, rows: 2) == ["> 2  GitHub", "  typed: GIT"])
    #expect(picker.press(.enter) == .chosen)
    picker = type("gitx", in: rows)
    #expect(picker.lines(columns: 80, rows: 9) == ["  typed: gitx (nothing holds that)"])
    #expect(picker.press(.down) == .goesOn && picker.press(.enter) == .goesOn)
    #expect(picker.press(.backspace) == .goesOn && picker.current == 1)
    #expect(picker.press(.clear) == .goesOn && picker.current == 0)
    #expect(type("lack", in: rows).current == 3)
  }

  @Test("As many rows are shown as fit, with the current row among them and none too wide")
  func window() {
    var picker = Picker((1...12).map { "row \($0)" })
    #expect(picker.lines(columns: 80, rows: 3) == [">  1  row 1", "   2  row 2", "   3  row 3"])
    for _ in 1...6 { _ = picker.press(.down) }
    #expect(picker.lines(columns: 9, rows: 3) == ["   6  ro…", ">  7  ro…", "   8  ro…"])
    #expect(picker.lines(columns: 80, rows: 0).count == 1)
    #expect(picker.lines(columns: 80, rows: 50).count == 12)
    _ = picker.press(.character("1"))
    _ = picker.press(.character("2"))
    #expect(picker.lines(columns: 80, rows: 3) == ["  11  row 11", "> 12  row 12", "  typed: 12"])
  }
}
