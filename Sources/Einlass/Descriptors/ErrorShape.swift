internal import EinlassJSON

/// A provider's error, in its own words.
struct ProviderErrorText: Sendable, Equatable {
  /// A whole number or a text.
  var code: JSONValue?
  var subcode: JSONValue?
  /// The message, preceded by the error's type if there is one.
  var text: String?
  /// Whether the answer is a refusal regardless of its status.
  var isRefusal = false
  /// Whether the shape is one of `ErrorShape.usual`. Its code may be another server's and means what
  /// RFC 6749 says, never what the provider's own rules say.
  var isUsual = false
}

/// One form of a provider's errors: an element of `shapes`.
///
///     {"code": "/ret", "text": "/msg", "anyStatus": true, "unless": {"/ret": 0}}
///     {"element": "error", "codeAttribute": "code"}
///     {"codeField": "oauth_problem"}
///
/// The first form has JSON pointers, the second is the first XML element of that name, the third a
/// form with that field. With `anyStatus` such an answer is a refusal also with a status of success.
/// An answer with a value of `unless` at its pointer is none: above one in which `/ret` is 0.
struct ErrorShape: Sendable, Equatable {
  /// The place of the parts in an answer.
  enum Format: Sendable, Equatable {
    /// JSON pointers. The shape matches if an answer has `code`, `type` and `text`, as far as these
    /// are given.
    case json(code: String?, subcode: String?, type: String?, text: String?)
    /// The first XML element of this name; the code is an attribute, the text its content.
    case xml(element: String, codeAttribute: String)
    /// A form with this field: `oauth_problem=timestamp_refused`.
    case form(codeField: String)
  }

  var format: Format
  /// Whether an answer of this shape is a refusal regardless of its status.
  var isRefusal = false
  /// Marks answers of this shape that are no errors.
  var exception: Exception?
  /// Whether the shape is one of `usual`.
  private var isUsual = false

  /// A pointer, and the value there in answers that are no errors.
  struct Exception: Sendable, Equatable {
    var pointer: String
    var value: JSONValue
  }

  init(_ format: Format) { self.format = format }

  /// The shapes beyond those of RFC 6749, after those of a provider's own descriptor: of proxies and
  /// frameworks before a token endpoint, and of RFC 9457.
  static let usual = [
    ("/error/code", "/error/message"), ("/error/type", "/error/message"),
    ("/error/status", "/error/message"), (nil, "/error/message"),
    ("/errors/0/errorType", "/errors/0/message"), ("/errors/0/code", "/errors/0/message"),
    ("/errors/0/code", "/errors/0/detail"), ("/errors/0/error", "/errors/0/error_description"),
    (nil, "/errors/0/message"), (nil, "/errors/0/detail"), (nil, "/errors/0"),
    ("/code", "/message"), ("/code", "/detail"), (nil, "/detail"), (nil, "/title"),
    (nil, "/message"), (nil, "/error_description"),
  ].map { (code: String?, text: String) -> ErrorShape in
    var shape = ErrorShape(.json(code: code, subcode: nil, type: nil, text: text))
    shape.isUsual = true
    return shape
  }

  init(_ value: JSONValue, at pointer: String, provider: String?) throws(DescriptorReader.Fault) {
    func reader(_ members: [String]) throws(DescriptorReader.Fault) -> DescriptorReader {
      try DescriptorReader(value, at: pointer, provider: provider, members: members + ["anyStatus"])
    }
    isRefusal = try reader(value.object?.members.map(\.name) ?? []).bool(
      "anyStatus", default: false)
    if value["element"] != nil {
      let reader = try reader(["element", "codeAttribute"])
      format = try .xml(
        element: reader.string("element"), codeAttribute: reader.string("codeAttribute"))
      return
    }
    if value["codeField"] != nil {
      format = try .form(codeField: reader(["codeField"]).string("codeField"))
      return
    }
    let reader = try reader(["code", "subcode", "type", "text", "unless"])
    exception = try reader.optional("unless") { name throws(DescriptorReader.Fault) in
      guard let members = try reader.value(name).object?.members, members.count == 1,
        members[0].name.hasPrefix("/")
      else { throw reader.fault(name, "Expected one JSON pointer with its value.") }
      return Exception(pointer: members[0].name, value: members[0].value)
    }
    format = try .json(
      code: reader.optional("code", reader.pointer),
      subcode: reader.optional("subcode", reader.pointer),
      type: reader.optional("type", reader.pointer), text: reader.optional("text", reader.pointer))
    guard reader.has("code") || reader.has("text") else {
      throw reader.fault("code", "A shape needs a code or a text.")
    }
  }

  /// Returns the error in an answer; `nil` if the answer has another shape.
  func errorText(json: JSONValue?, body: [UInt8]) -> ProviderErrorText? {
    // Errors are short, so a longer body is an HTML page.
    guard json != nil || body.count <= 16 << 10 else { return nil }
    if let exception, json?.at(pointer: exception.pointer) == exception.value { return nil }
    var errorText = plainErrorText(json: json, body: body)
    errorText?.isRefusal = isRefusal
    errorText?.isUsual = isUsual
    return errorText
  }

  private func plainErrorText(json: JSONValue?, body: [UInt8]) -> ProviderErrorText? {
    switch format {
    case .json(let code, let subcode, let type, let text):
      json.flatMap { Self.errorText(in: $0, code: code, subcode: subcode, type: type, text: text) }
    case .xml(let element, let attribute):
      Self.errorText(in: body, element: element, codeAttribute: attribute)
    case .form(let field):
      FormEncoding.decode(body, plus: .space)?.first { sameBytes($0.name, field) }
        .map { ProviderErrorText(code: .string($0.value)) }
    }
  }

  private static func errorText(
    in json: JSONValue, code: String?, subcode: String?, type: String?, text: String?
  ) -> ProviderErrorText? {
    func scalar(_ pointer: String?) -> JSONValue? {
      guard let value = pointer.flatMap({ json.at(pointer: $0) }),
        value.int64 != nil || value.string != nil
      else { return nil }
      return value
    }
    let found = (code: scalar(code), type: scalar(type)?.string, text: scalar(text)?.string)
    guard code == nil || found.code != nil, type == nil || found.type != nil,
      text == nil || found.text != nil
    else { return nil }
    return ProviderErrorText(
      code: found.code, subcode: scalar(subcode),
      text: found.text.map { text in found.type.map { "\($0): \(text)" } ?? text })
  }

  /// `<error code="87">text</error>`: just enough XML for the one-line errors of old interfaces.
  private static func errorText(
    in body: [UInt8], element: String, codeAttribute: String
  ) -> ProviderErrorText? {
    guard let start = body.firstIndex(ofSequence: Array("<\(element) \(codeAttribute)=\"".utf8))
    else { return nil }
    let rest = body[start...].dropFirst(element.utf8.count + codeAttribute.utf8.count + 4)
    guard let quote = rest.firstIndex(of: UInt8(ascii: "\"")),
      let close = rest[quote...].firstIndex(of: UInt8(ascii: ">")),
      let code = String(validating: rest[..<quote], as: UTF8.self)
    else { return nil }
    let content = rest[close...].dropFirst().prefix { $0 != UInt8(ascii: "<") }
    return ProviderErrorText(
      code: Int64(code).map { JSONValue($0) } ?? .string(code),
      text: String(validating: content, as: UTF8.self))
  }
}

extension [UInt8] {
  fileprivate func firstIndex(ofSequence sequence: [UInt8]) -> Int? {
    indices.first { self[$0...].starts(with: sequence) }
  }
}
