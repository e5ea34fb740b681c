internal import EinlassJSON

/// The source of a token owner's identity: a request, or the id_token beside the token, and the
/// JSON pointers to the members in the answer or among the claims.
///
///     "identity": {"request": {"method": "GET", "url": "https://example.com/me", "bearer": "{token}"},
///                  "id": "/id", "numericId": true, "idPrefix": "/users/", "name": "/name",
///                  "username": "/login", "email": "/email", "emailVerified": "/verified",
///                  "emails": …, "avatar": {"pointer": "/picture"}, "required": ["id", "name"]}
///
/// Without `request` the id_token has the members, or with `"source": "tokenAnswer"` the answer with
/// the token. Without one of `required` the sign-in fails; it contains `id`, and is `["id"]` without
/// the word. With `numericId` the id is a whole number in the answer. `idPrefix` is a beginning of
/// the id's text that is no part of the id. State `emailVerified` only for a provider whose word
/// about addresses you believe. `avatar` has `pointer`, with `replace` and `with` or a `suffix` for
/// another size, or a `template` with `{id}` and, beside `pointer`, `{picture}`.
struct IdentityDescriptor: Sendable, Equatable {
  /// The members of an identity, by their names in the protocol.
  enum Member: String, Sendable, CaseIterable {
    case id, name, username, email, avatar
  }

  /// The source of a picture's address.
  enum Avatar: Sendable, Equatable {
    /// A member of the answer. Replacing a part everywhere and appending a suffix give a picture of
    /// another size.
    case member(pointer: String, replacing: String?, with: String, suffix: String)
    /// An address made of the id and, with a pointer, of a text from the answer.
    case template(Template, pointer: String?)
  }

  private enum Source: String, CaseIterable {
    case tokenAnswer
  }

  /// `nil` if the id_token or the answer with the token is the source.
  @Indirect var request: RequestTemplate?
  /// Whether the answer with the token is the source.
  var isInTokenAnswer: Bool
  /// JSON pointers to texts; `avatar` has its own.
  var pointers: [Member: String]
  /// Whether the id is a whole number in the answer.
  var hasNumericID: Bool
  /// A prefix of the id's text that is not a part of the id.
  var idPrefix: String?
  /// Whether the issuer has tenants. Then the id has the tenant of the id_token before its `sub`.
  var isOfTenant = false
  @Indirect var avatar: Avatar?
  /// A JSON pointer to a boolean, or to the text `true`: whether the provider has verified the
  /// address. `nil` if the provider does not say so.
  var emailVerified: String?
  /// A second request for the email address, if the first answer has none.
  @Indirect var emails: Emails?
  /// The members without which the sign-in fails.
  var required: [Member]

  /// Whether the id equals `sub` of the issuer's id_tokens.
  var isSubject: Bool {
    pointers[.id] == "/sub" && idPrefix == nil && !hasNumericID && !isInTokenAnswer
  }

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    let reader = try reader.object(
      name,
      members: ["request", "source", "emailVerified", "emails"] + Member.allCases.map(\.rawValue)
        + ["numericId", "idPrefix", "required"])
    request = try reader.optional("request") { name throws(DescriptorReader.Fault) in
      try RequestTemplate(name, in: reader, allowing: [.token, .clientID, .subject])
    }
    isInTokenAnswer =
      try reader.optional("source") { name throws(DescriptorReader.Fault) in
        try reader.word(name, Source.self)
      } != nil
    guard !isInTokenAnswer || !(reader.has("request") || reader.has("emails")) else {
      throw reader.fault("source", "The answer with the token needs no request and no emails.")
    }
    hasNumericID = try reader.bool("numericId", default: false)
    idPrefix = try reader.optional("idPrefix", reader.string)
    pointers = [:]
    for member in Member.allCases where member != .avatar {
      pointers[member] = try reader.optional(member.rawValue, reader.pointer)
    }
    avatar = try reader.optional(Member.avatar.rawValue) { name throws(DescriptorReader.Fault) in
      try Self.avatar(name, in: reader)
    }
    emailVerified = try reader.optional("emailVerified", reader.pointer)
    emails = try reader.optional("emails") { name throws(DescriptorReader.Fault) in
      try Emails(name, in: reader)
    }
    required =
      try reader.optional("required") { name throws(DescriptorReader.Fault) in
        try reader.words(name, Member.self)
      } ?? [.id]
    guard required.contains(.id) else {
      throw reader.fault("required", "The list must contain id.")
    }
    for member in required where pointers[member] == nil && (member != .avatar || avatar == nil) {
      throw reader.fault(member.rawValue, "This member is missing, although required names it.")
    }
  }

  /// Whether every flow brings an answer or an id_token that can be the source.
  func isInAnswers(of flows: [FlowDescriptor]) -> Bool {
    flows.allSatisfy { flow in
      flow.tokens.map { isInTokenAnswer || $0.verifiesIDTokens } ?? false
    }
  }

  func relocated(_ move: (WebAddress) -> WebAddress) -> IdentityDescriptor {
    var moved = self
    moved.request = request?.relocated(move)
    if let emails { moved.emails?.request = emails.request.relocated(move) }
    return moved
  }

  /// Returns the identity in the answer; `nil` if a required member is missing or invalid.
  ///
  /// Texts are cleaned of control characters. An empty one is left out, even if it is required. An id
  /// with a control character, or longer than 256 bytes, is invalid. A picture's address is dropped if
  /// it is not https, or if it is on this machine and the provider is not.
  func identity(in answer: JSONValue) -> Identity? {
    func text(_ member: Member) -> String? {
      pointers[member].flatMap { answer.at(pointer: $0)?.string }.map { cleaned($0) }
    }
    guard let id = id(in: answer), isIdentifier(id) else { return nil }
    var identity = Identity(
      id: id, name: filled(text(.name)), username: filled(text(.username)),
      email: filled(text(.email)))
    if identity.email != nil, let flag = emailVerified.flatMap({ answer.at(pointer: $0) }) {
      // Some providers send a text.
      identity.isEmailVerified = flag.bool ?? (flag.string == "true")
    }
    let picture = picture(in: answer, id: id)
    if let picture, request?.address.mayName(picture) ?? (picture.isSafe && !picture.isLoopback) {
      identity.avatar = picture.text
    }
    let members: [Member: String?] = [
      .id: id, .name: text(.name), .username: text(.username), .email: text(.email),
      .avatar: picture?.text,
    ]
    return required.allSatisfy { members[$0, default: nil] != nil } ? identity : nil
  }

  /// Returns the fault of an answer without an identity, as the end of a sentence about it. It names
  /// places alone, because the answer is about a person.
  func fault(in answer: JSONValue) -> String? {
    for member in required {
      guard let pointer = pointers[member] else { continue }
      let value = answer.at(pointer: pointer)
      let isID = member == .id
      if isID && hasNumericID {
        if value?.int64 == nil { return "lacks the whole number \(pointer)" }
      } else if isID && value?.int64 != nil {
        if !isSubject { return "is invalid: \(pointer) is a number, and numericId is not set" }
      } else if value?.string == nil {
        return "lacks the text \(pointer)"
      } else if isID, let idPrefix, value?.string?.hasPrefix(idPrefix) == false {
        return "is invalid: \(pointer) does not begin with idPrefix"
      }
    }
    return nil
  }

  private func id(in answer: JSONValue) -> String? {
    guard let value = pointers[.id].flatMap({ answer.at(pointer: $0) }) else { return nil }
    let written = isSubject ? value.subject : value.string
    let text = hasNumericID ? value.int64.map { "\($0)" } : written
    if isOfTenant { return text.flatMap { answer.subject(ofTenant: $0) } }
    guard let text, let idPrefix else { return text }
    return text.hasPrefix(idPrefix) ? String(text.dropFirst(idPrefix.count)) : nil
  }

  private func picture(in answer: JSONValue, id: String) -> WebAddress? {
    let text: String? =
      switch avatar {
      case .member(let pointer, let part, let replacement, let suffix):
        answer.at(pointer: pointer)?.string.map { text in
          (part.map { replacing($0, in: text, with: replacement) } ?? text) + suffix
        }
      case .template(let template, nil):
        template.filled(.init(texts: [.id: id]), encoding: PercentEncoding.encode)
      case .template(let template, let pointer?):
        answer.at(pointer: pointer)?.string.map { picture in
          template.filled(
            .init(texts: [.id: id, .picture: picture]), encoding: PercentEncoding.encode)
        }
      case nil: nil
      }
    return text.flatMap { try? WebAddress.parse($0) }
  }

  private static func avatar(
    _ name: String, in reader: DescriptorReader
  ) throws(DescriptorReader.Fault) -> Avatar {
    let reader = try reader.object(
      name, members: ["pointer", "replace", "with", "suffix", "template"])
    let pointer = try reader.optional("pointer", reader.pointer)
    if let template = try reader.template(
      "template", allowing: pointer == nil ? [.id] : [.id, .picture])
    {
      return .template(template, pointer: pointer)
    }
    guard reader.has("replace") == reader.has("with") else {
      throw reader.fault("replace", "The members replace and with need each other.")
    }
    return try .member(
      pointer: reader.pointer("pointer"), replacing: reader.optional("replace", reader.string),
      with: reader.optional("with", reader.string) ?? "",
      suffix: reader.optional("suffix", reader.string) ?? "")
  }
}

extension IdentityDescriptor {
  /// The request for the person's confirmed primary email address.
  ///
  ///     "emails": {"request": …, "list": "/values", "email": "/email",
  ///                "primary": "/is_primary", "confirmed": "/is_confirmed"}
  ///
  /// Without `list` the answer itself is the list.
  struct Emails: Sendable, Equatable {
    var request: RequestTemplate
    var list: String?
    var email: String
    var primary: String
    var confirmed: String

    init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
      let reader = try reader.object(
        name, members: ["request", "list", "email", "primary", "confirmed"])
      request = try RequestTemplate("request", in: reader, allowing: [.token, .clientID])
      list = try reader.optional("list", reader.pointer)
      email = try reader.pointer("email")
      primary = try reader.pointer("primary")
      confirmed = try reader.pointer("confirmed")
    }

    /// Returns the primary address in an answer, without control characters. An unconfirmed or empty
    /// address does not count.
    func email(in answer: JSONValue) -> String? {
      let entries = (list.map { answer.at(pointer: $0) } ?? answer)?.array ?? []
      return entries.first {
        $0.at(pointer: primary)?.bool == true && $0.at(pointer: confirmed)?.bool == true
      }?.at(pointer: email)?.string.flatMap { filled(cleaned($0)) }
    }
  }
}

/// Returns the text unless it is empty.
private func filled(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
