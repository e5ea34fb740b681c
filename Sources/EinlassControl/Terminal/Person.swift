internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// The person at the terminal: shows lines and asks questions.
final class Person {
  private var terminal: Terminal
  private let conversation: Conversation
  private var reader = KeyReader()
  private var typed: [Key] = []
  /// The style of text on this terminal.
  let style: Style
  /// Whether the person left a prompt of einlass with Ctrl-C.
  var hasGivenUp = false
  /// The progress on the terminal's current line; empty if there is none.
  private var progress = ""
  /// Whether the terminal cannot move its cursor.
  private let isDumb = Environment.value("TERM") == "dumb"

  /// Opens the controlling terminal; `nil` if there is none. Also `nil` if nobody may be looking at
  /// it, because neither standard input nor standard error is a terminal.
  ///
  /// - Parameter isInForeground: instead takes any terminal that this process may use now.
  init?(_ conversation: Conversation, isInForeground: Bool = false) {
    guard isInForeground || Terminal.isTerminal(0) || Terminal.isTerminal(2),
      let terminal = Terminal.open(), !isInForeground || terminal.isInForeground
    else { return nil }
    style = Style(for: terminal.number)
    self.terminal = terminal
    self.conversation = conversation
  }

  /// Shows a line.
  func show(_ line: String) { terminal.write(fitted(line, to: columns) + "\n") }

  /// The columns for text. The last one stays empty, because some terminals begin a new line there.
  var columns: Int { size.columns - 1 }

  /// Shows the progress of a long operation in one line, and removes that line at the end.
  func showProgress(_ done: Int64?, of total: Int64?) {
    guard !isDumb else { return }
    let blank = String(repeating: " ", count: progress.columns)
    terminal.write(progress.isEmpty ? "" : "\r\(blank)\r")
    progress = ""
    guard let done, let total, total > 0, done < total else { return }
    progress = "… \(done * 100 / total) %"
    terminal.write(progress)
  }

  /// Returns a line typed by the person; `nil` if the prompt of this id closes meanwhile.
  ///
  /// - Parameter isHidden: whether the terminal shows nothing of the line.
  func line(
    _ question: String, isHidden: Bool = false, prompt: String? = nil
  ) throws(Failure) -> String? {
    if isHidden { terminal.hush() }
    return try terminal.withKeys { () throws(Failure) in
      terminal.write(fitted(style.tinted(question, .heading), to: columns) + " ")
      defer { terminal.write("\n") }
      var text = ""
      while let key = try key(prompt) {
        switch key {
        case .enter: return text
        case .cancel: throw .cancelled
        case .character(let character):
          text.append(character)
          if !isHidden { terminal.write(clean(String(character))) }
        case .backspace where !text.isEmpty: erase([text.removeLast()], isHidden)
        case .clear:
          erase(Array(text), isHidden)
          text = ""
        case .backspace, .up, .down, .other: break
        }
      }
      return nil
    }
  }

  /// Returns the index of the row that the person chooses; `nil` if the prompt of this id closes
  /// meanwhile.
  func choice(
    _ question: String, _ rows: [String], prompt: String? = nil
  ) throws(Failure) -> Int? {
    if isDumb { return try number(question, rows, prompt) }
    var picker = Picker(rows)
    return try terminal.withKeys { () throws(Failure) in
      let hint = "(arrow keys, its number or text; Enter chooses >, Ctrl-C cancels)"
      let isShort = question.columns + 2 + hint.columns <= columns
      show(style.tinted(question, .heading) + (isShort ? "  \(style.tinted(hint, .faint))" : ""))
      if !isShort { show(style.tinted(hint, .faint)) }
      var height = draw(picker)
      while let key = try key(prompt) {
        switch picker.press(key) {
        case .chosen: return picker.current
        case .cancelled: throw .cancelled
        case .goesOn:
          terminal.write("\u{1B}[\(height)A\r\u{1B}[J")
          height = draw(picker)
        }
      }
      return nil
    }
  }

  /// Asks for the row's number, for a terminal that cannot move its cursor.
  private func number(
    _ question: String, _ rows: [String], _ prompt: String?
  ) throws(Failure) -> Int? {
    show(question)
    for (index, row) in rows.enumerated() { show("  \(index + 1)  \(row)") }
    while let text = try line("Its number (1 to \(rows.count)):", prompt: prompt) {
      if let number = Int(text), number > 0, number <= rows.count { return number - 1 }
    }
    return nil
  }

  /// Returns whether the person types `y` or `yes`. Any other answer means no.
  func agrees(_ question: String) throws(Failure) -> Bool {
    let answer = try line("\(question) [y/N]") ?? ""
    return ["y", "yes"].contains(answer.lowercased())
  }

  private var size: (columns: Int, rows: Int) { Terminal.size(of: terminal.number) ?? (80, 24) }

  private func draw(_ picker: Picker) -> Int {
    let lines = picker.lines(columns: columns, rows: size.rows - 2)
    terminal.write(lines.joined(separator: "\n") + "\n")
    return lines.count
  }

  private func erase(_ characters: [Character], _ isHidden: Bool) {
    guard !isHidden else { return }
    let columns = clean(String(characters)).columns
    terminal.write(String(repeating: "\u{8} \u{8}", count: columns))
  }

  /// Returns the next key; `nil` when the prompt has closed.
  private func key(_ prompt: String?) throws(Failure) -> Key? {
    while typed.isEmpty {
      if let prompt, conversation.closedPrompts.contains(prompt) { return nil }
      switch conversation.next(typing: terminal.number) {
      case .typed:
        guard let bytes = terminal.read() else { throw .cancelled }
        typed = reader.keys(bytes)
      case .notification(let method, let params):
        // Another prompt may open while this one waits, for example `openURL`.
        try conversation.onNotification(method, params)
      case .interrupted: throw .cancelled
      case .ended, .silent: throw .noServer("einlass ended.")
      case .answer: break
      }
    }
    return typed.removeFirst()
  }
}
