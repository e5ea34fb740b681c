internal import EinlassJSON

/// A text of a descriptor with places to fill: `https://example.com/{id}/picture`.
struct Template: Sendable, Equatable {
  /// What can be filled in; each place of a descriptor allows some of them.
  enum Placeholder: String, Sendable, CaseIterable {
    /// Of the application's own registration.
    case clientID = "clientId"
    case clientSecret
    /// The access token that the request is about, and that of the account itself.
    case token
    case systemToken
    /// What the application's stored token is renewed with.
    case refreshToken
    /// HMAC-SHA256 of the token, keyed with the client secret, in lower-case hexadecimal digits.
    case tokenProof
    /// What access was granted for, in the provider's words.
    case permissions
    case audience
    /// The whole answer to a flow's `requestToken`.
    case requestToken
    /// The person's id at the provider; as the answer with the token, or the stored account, names it.
    case id
    case subject
    /// What a device asks with, and what its person enters. RFC 8628 section 3.2.
    case deviceCode
    case userCode
    /// What an answer says of a picture: its name, where its address is made of that.
    case picture
  }

  /// What the places are filled with. Mostly secrets, so it cannot be printed.
  struct Values: Sendable, CustomStringConvertible, CustomReflectable {
    var texts: [Placeholder: String] = [:]

    subscript(_ placeholder: Placeholder) -> String? {
      get { texts[placeholder] }
      set { texts[placeholder] = newValue }
    }

    var description: String { "«redacted»" }
    var customMirror: Mirror { Mirror(self, children: []) }
  }

  private enum Part: Sendable, Equatable {
    case literal(String)
    case place(Placeholder)
  }

  private var parts: [Part] = []

  /// Whether the place stands in the text.
  func mentions(_ placeholder: Placeholder) -> Bool { parts.contains(.place(placeholder)) }

  /// Reads a text; `nil` when a brace stands alone or a place is none of the allowed.
  init?(_ text: String, allowing allowed: Set<Placeholder>) {
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}"),
        let place = Placeholder(rawValue: String(rest[rest.index(after: open)..<close])),
        allowed.contains(place)
      else { return nil }
      parts += [.literal(String(rest[..<open])), .place(place)]
      rest = rest[rest.index(after: close)...]
    }
    guard !rest.contains("}") else { return nil }
    parts.append(.literal(String(rest)))
  }

  /// The text with every place filled, each value encoded as the place needs it.
  ///
  /// A place without a value stays empty: the descriptor's reader only allows those that the caller has.
  func filled(_ values: Values, encoding: (String) -> String = { $0 }) -> String {
    parts.map { part in
      switch part {
      case .literal(let text): text
      case .place(let place): encoding(values[place] ?? "")
      }
    }.joined()
  }
}

/// A request of a descriptor: everything but the values of this moment and the OAuth 1.0a signature.
struct RequestTemplate: Sendable, Equatable {
  /// A field whose value has places to fill.
  struct Field: Sendable, Equatable {
    var name: String
    var value: Template
  }

  var method: HTTPRequest.Method
  /// Without a query.
  var address: WebAddress
  /// What follows in the path, where something of it is filled in.
  var path: Template?
  var query: [Field]
  var form: [Field]
  /// A body of JSON: an object of texts, or null when it is empty; `nil` for none.
  var json: [Field]?
  var headers: [Field]
  /// The token of the `Authorization: Bearer` header; `nil` where OAuth 1.0a signs or nothing is needed.
  var bearer: Template?
  /// Name and password of `Authorization: Basic`, with a colon between them.
  var basic: Template?

  init(_ name: String, in reader: DescriptorReader, allowing allowed: Set<Template.Placeholder>)
    throws(DescriptorReader.Fault)
  {
    let reader = try reader.object(
      name, words: ["method", "url", "path", "query", "form", "json", "headers", "bearer", "basic"])
    method = try reader.word("method", HTTPRequest.Method.self)
    address = try reader.address("url")
    guard address.query == nil else {
      throw reader.fault("url", "The query stands in its own word: query.")
    }
    path = try reader.template("path", allowing: allowed)
    query = try Self.fields("query", in: reader, allowed)
    form = try Self.fields("form", in: reader, allowed)
    guard form.isEmpty || method == .post else {
      throw reader.fault("form", "Only a POST has a form.")
    }
    if reader.has("json") {
      let isNull = try reader.value("json").isNull
      json = isNull ? [] : try Self.fields("json", in: reader, allowed)
    }
    guard json == nil || (method != .get && form.isEmpty) else {
      throw reader.fault("json", "Neither a GET nor a form goes with it.")
    }
    headers = try Self.fields("headers", in: reader, allowed)
    bearer = try reader.template("bearer", allowing: allowed)
    basic = try reader.template("basic", allowing: allowed)
    guard bearer == nil || basic == nil else {
      throw reader.fault("basic", "Either bearer or basic should stand here.")
    }
  }

  /// Whether something is to be filled in there.
  func mentions(_ placeholder: Template.Placeholder) -> Bool {
    ((query + form + (json ?? []) + headers).map(\.value)
      + [path, bearer, basic].compactMap(\.self))
      .contains { $0.mentions(placeholder) }
  }

  /// The request without its `Authorization`, and the fields of its form, which OAuth 1.0a signs.
  func filled(_ values: Template.Values) -> (request: HTTPRequest, form: [Parameter]) {
    let form = form.map { Parameter($0.name, $0.value.filled(values)) }
    let query = query.map { Parameter($0.name, $0.value.filled(values)) }
    var request = HTTPRequest(method, address)
    if let path { request.address.path += path.filled(values, encoding: PercentEncoding.encode) }
    request.address.query = query.isEmpty ? nil : FormEncoding.encode(query)
    request.headers = headers.map { .init($0.name, $0.value.filled(values)) }
    if let json {
      let members = json.map { ($0.name, JSONValue.string($0.value.filled(values))) }
      request.headers.append(.init("Content-Type", "application/json"))
      request.body = Array(
        (json.isEmpty ? "null" : JSONValue.object(JSONObject(members)).text).utf8)
    } else if method == .post {
      request.headers.append(.init("Content-Type", FormEncoding.mediaType))
      request.body = Array(FormEncoding.encode(form).utf8)
    }
    if let bearer {
      request.headers.append(.init("Authorization", "Bearer \(bearer.filled(values))"))
    }
    if let basic {
      let proof = Base64.encode(Array(basic.filled(values).utf8))
      request.headers.append(.init("Authorization", "Basic \(proof)"))
    }
    return (request, form)
  }

  /// The same request, somewhere else.
  func relocated(_ move: (WebAddress) -> WebAddress) -> RequestTemplate {
    var moved = self
    moved.address = move(address)
    return moved
  }

  /// An object of templates as fields in their order; none when the word is missing.
  static func fields(
    _ name: String, in reader: DescriptorReader, _ allowed: Set<Template.Placeholder>
  ) throws(DescriptorReader.Fault) -> [Field] {
    guard reader.has(name) else { return [] }
    guard let members = try reader.value(name).object?.members else {
      throw reader.fault(name, "An object of texts should stand here.")
    }
    let reader = try reader.object(name, words: members.map(\.name))
    var fields: [Field] = []
    for member in members {
      guard let value = try reader.template(member.name, allowing: allowed) else { continue }
      fields.append(Field(name: member.name, value: value))
    }
    return fields
  }
}

extension DescriptorReader {
  /// A text with places to fill, `nil` when the word is missing.
  func template(
    _ name: String, allowing allowed: Set<Template.Placeholder>
  ) throws(Fault) -> Template? {
    guard has(name) else { return nil }
    guard let template = Template(try string(name), allowing: allowed) else {
      let known = allowed.map { "{\($0.rawValue)}" }.sorted().joined(separator: ", ")
      throw fault(name, "Braces enclose a known place. Known here: \(known).")
    }
    return template
  }
}
