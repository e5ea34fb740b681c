internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// A prompt as a form that a front end draws without knowing its kind: `show` in `prompt.opened`.
/// `PromptForms.swift` has the words.
struct PromptForm {
  var title: Words
  var text: [Words] = []
  /// The sentences that must not be overlooked.
  var warnings: [Words] = []
  var page: WebAddress?
  var code: String?
  var choices: [Choice] = []
  var fields: [Field] = []
  var buttons: [Button]

  /// One of several answers.
  struct Choice {
    var label: Words
    var detail: Words?
    /// The parameters of `prompt.answer`, without `prompt`.
    var answer: JSONObject
  }

  /// A parameter of `prompt.answer` that the person enters. It goes with the button `accept`.
  struct Field {
    enum Kind: String, CaseIterable { case text, secret, flag }

    var name: String
    var label: Words
    var kind = Kind.text
    /// Whether the person enters it twice, because it is chosen now.
    var isTwice = false
  }

  /// An `action` of `prompt.answer`.
  struct Button {
    var action: String
    var label: Words
    var isDefault = false

    static func accept(_ label: Words = "Continue", isDefault: Bool = true) -> Button {
      Button(action: "accept", label: label, isDefault: isDefault)
    }
    static func cancel(_ label: Words = "Cancel", isDefault: Bool = false) -> Button {
      Button(action: "cancel", label: label, isDefault: isDefault)
    }
  }

  /// Returns the object of the protocol.
  func json(in language: PromptLanguage) -> JSONObject {
    func list(_ values: [JSONValue]) -> JSONValue? { values.isEmpty ? nil : .array(values) }
    let warning = Words.joined(warnings, by: " ")
    return JSONObject(present: [
      "title": .string(title.text(in: language)),
      "text": list(text.map { .string($0.text(in: language)) }),
      "warning": warnings.isEmpty ? nil : .string(warning.text(in: language)),
      "page": page.map { ["url": .string($0.text), "host": .string($0.host)] },
      "code": code.map(JSONValue.string),
      "choices": list(choices.map { .object($0.json(in: language)) }),
      "fields": list(
        fields.map {
          .object(
            JSONObject(present: [
              "name": .string($0.name), "label": .string($0.label.label(in: language)),
              "type": .string($0.kind.rawValue), "twice": $0.isTwice ? true : nil,
            ]))
        }),
      "buttons": .array(
        buttons.map {
          .object(
            JSONObject(present: [
              "action": .string($0.action), "label": .string($0.label.label(in: language)),
              "default": $0.isDefault ? true : nil,
            ]))
        }),
    ])
  }

  /// The schema of the object.
  static let schema = Schema.object([
    .required("title", .string(maxBytes: nil), "The question in one sentence."),
    .optional("text", .array(.string(maxBytes: nil), max: nil), "Paragraphs below it."),
    .optional("warning", .string(maxBytes: nil), "A text that must not be overlooked."),
    .optional(
      "page",
      .object([
        .required("url", .string(maxBytes: nil), "The page for the person's browser."),
        .required("host", .string(maxBytes: nil), "Its host, to be shown."),
      ]), "A page to open."),
    .optional("code", .string(maxBytes: nil), "A code to enter there."),
    .optional(
      "choices",
      .array(
        .object([
          .required("label", .string(maxBytes: nil), "The name of the choice."),
          .optional("detail", .string(maxBytes: nil), "More about it, in small print."),
          .required(
            "answer", .map(.any, hasAnyNames: true), "The parameters of prompt.answer for it."),
        ]), max: nil), "The answers to choose from."),
    .optional(
      "fields",
      .array(
        .object([
          .required("name", .identifier, "The parameter of prompt.answer."),
          .required("label", .string(maxBytes: nil), "The label of the field."),
          .required("type", Schema(Field.Kind.self), "The kind of field."),
          .optional("twice", .boolean, "Whether it is entered twice, because it is chosen now."),
        ]), max: nil), "The parameters to enter, which go with the button accept."),
    .required(
      "buttons",
      .array(
        .object([
          .required("action", .identifier, "The action of prompt.answer."),
          .required("label", .string(maxBytes: nil), "The label of the button."),
          .optional("default", .boolean, "Whether the Enter key presses it."),
        ]), max: nil), "The buttons."),
  ])
}

extension PromptForm.Choice {
  func json(in language: PromptLanguage) -> JSONObject {
    JSONObject(present: [
      "label": .string(label.label(in: language)),
      "detail": detail.map { .string($0.text(in: language)) }, "answer": .object(answer),
    ])
  }
}
