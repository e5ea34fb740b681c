/// The parameter that tells the provider's page the language of the person.
///
///     {"parameter": "locale", "separator": "_"}
///
/// `separator` stands between the parts of the language tag; without it, `-` as in RFC 5646. A
/// custom parameter of the front end with that name counts in its place, because front ends already
/// send such parameters.
struct LocaleDescriptor: Sendable, Equatable {
  enum Name: String, CaseIterable {
    case hl, lang, locale
    /// OpenID Connect Core 1.0, section 3.1.2.1.
    case uiLocales = "ui_locales"
  }

  enum Separator: String, CaseIterable {
    case hyphen = "-"
    case underscore = "_"
  }

  var name: Name
  var separator: Separator

  /// Returns `nil` without this member.
  init?(_ member: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard reader.has(member) else { return nil }
    let object = try reader.object(member, members: ["parameter", "separator"])
    name = try object.word("parameter", Name.self)
    separator =
      try object.optional("separator") { name throws(DescriptorReader.Fault) in
        try object.word(name, Separator.self)
      } ?? .hyphen
  }

  /// Returns the parameter for this language.
  func parameter(_ language: LanguageTag) -> Parameter {
    Parameter(
      name.rawValue, language.text.split(separator: "-").joined(separator: separator.rawValue))
  }
}
