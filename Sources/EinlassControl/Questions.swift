internal import EinlassHelpers
internal import EinlassJSON

/// The prompts of the protocol as questions on the terminal: one rule draws `show` of each kind
/// (protocol/GUIDE.md, "Prompts").
struct Questions {
  /// The prompt kinds sent as capabilities in `initialize`.
  static let kinds = ["any"]

  let person: Person
  /// Whether a page is opened in the browser.
  let opensBrowser: Bool

  /// Returns the parameters of `prompt.answer`; `nil` if the prompt has closed or stays open.
  func answer(_ prompt: JSONObject) throws(Failure) -> JSONObject? {
    guard let id = prompt["prompt"]?.string, let show = prompt["show"]?.object else { return nil }
    var answer: JSONObject?
    do throws(Failure) { answer = try self.answer(show, id) } catch .cancelled {
      person.hasGivenUp = true
      answer = ["action": "cancel"]
    }
    answer?["prompt"] = .string(id)
    return answer
  }

  private func answer(_ show: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    let fields = elements("fields", of: show)
    let choices = elements("choices", of: show)
    if let page = show["page"]?["url"] {
      person.show(Self.page(show, person.style))
      // The page of a code is for any device.
      if opensBrowser, show["code"] == nil, Browser.open(clean(page.plain)) {
        person.show("Your browser opens it; if it does not, open it yourself.")
      }
      // The prompt beside the page asks for the address on which the browser ends.
      return fields.isEmpty ? ["action": "accept"] : nil
    }
    var answer: JSONObject = ["action": "accept"]
    if fields.isEmpty || !choices.isEmpty {
      // The sentences follow the title, which some of them continue.
      let isShort = show["text"] == nil && show["warning"] == nil
      if !isShort { person.show(Self.text(show, person.style)) }
      let question = isShort ? clean(show["title"]?.plain ?? "") : "Your answer?"
      guard let picked = try pick(question, choices, show, id) else { return nil }
      answer = picked
    } else {
      person.show(Self.text(show, person.style))
    }
    guard answer == ["action": "accept"] else { return answer }
    // A flag is an option of the command.
    for field in fields where field["type"]?.string != "flag" {
      guard let value = try enter(field, isOptional: !choices.isEmpty, id) else { return nil }
      if !value.isEmpty { answer[field["name"]?.string ?? ""] = .string(value) }
    }
    return answer
  }

  /// Returns a prompt with a page, to be shown before the sign-in goes on.
  static func page(_ show: JSONObject, _ style: Style) -> String {
    let page = clean(show["page"]?["url"]?.plain ?? "")
    let code = show["code"].map {
      """

        \(style.tinted(clean($0.plain), .heading))
      The sign-in continues after that; Ctrl-C cancels it.
      """
    }
    return "\(text(show, style))\n  \(page)\(code ?? "")"
  }

  /// Returns the sentences of a prompt, a line each.
  private static func text(_ show: JSONObject, _ style: Style) -> String {
    let warning = show["warning"].map { style.tinted(clean($0.plain), .warning) }
    let heading = show["title"].map { clean($0.plain) }
    let paragraphs = (show["text"]?.array ?? []).map { clean($0.plain) }
    return ([heading, warning].compactMap(\.self) + paragraphs).joined(separator: "\n")
  }

  private func elements(_ name: String, of show: JSONObject) -> [JSONObject] {
    (show[name]?.array ?? []).compactMap(\.object)
  }

  /// Asks for one of the choices, or for a button. Enter takes the first row, so the default comes
  /// first. Without a default and choices the button of `cancel` does, so that Enter allows nothing.
  private func pick(
    _ question: String, _ choices: [JSONObject], _ show: JSONObject, _ id: String
  ) throws(Failure) -> JSONObject? {
    let buttons = elements("buttons", of: show)
    let hasDefault = buttons.contains { $0["default"]?.bool == true }
    let isFirst = { (button: JSONObject) in
      hasDefault || !choices.isEmpty
        ? button["default"]?.bool == true : button["action"]?.string == "cancel"
    }
    let rows = buttons.filter(isFirst) + choices + buttons.filter { !isFirst($0) }
    let labels = rows.map { row in
      [row["label"], row["detail"]].compactMap { $0.map { clean($0.plain) } }.joined(
        separator: " – ")
    }
    guard let index = try person.choice(question, labels, prompt: id) else { return nil }
    return rows[index]["answer"]?.object ?? ["action": rows[index]["action"] ?? .null]
  }

  /// Asks for a field until its text can be sent; `nil` if the prompt has closed.
  private func enter(
    _ field: JSONObject, isOptional: Bool, _ id: String
  ) throws(Failure) -> String? {
    let label = clean(field["label"]?.plain ?? "")
    // The entry of an unknown type is hidden too.
    let isSecret = field["type"]?.string != "text"
    while let text = try person.line("\(label):", isHidden: isSecret, prompt: id) {
      if isOptional || !isSecret && !text.allSatisfy(\.isWhitespace) { return text }
      guard isSecret else { continue }
      guard (1...1024).contains(text.utf8.count) else {
        person.show("It has 1 to 1024 bytes.")
        continue
      }
      if field["twice"]?.bool == true {
        guard let second = try person.line("Once more:", isHidden: true, prompt: id) else { break }
        guard sameBytes(text, second) else {
          person.show("The two differ.")
          continue
        }
      }
      return text
    }
    return nil
  }
}
