internal import EinlassJSON

/// A text of a descriptor with placeholders: `https://example.com/{id}/picture`.
struct Template: Sendable, Equatable {
  /// The placeholders. Each member of a descriptor allows some of them.
  enum Placeholder: String, Sendable, CaseIterable {
    /// The application's own registration.
    case clientID = "clientId"
    case clientSecret
    /// The access token of the request, and the account's own.
    case token
    case systemToken
    /// The token that renews the application's stored one.
    case refreshToken
    /// HMAC-SHA256 of the token, keyed with the client secret, in lower-case hexadecimal digits.
    case tokenProof
    /// The granted permissions, by the provider's names.
    case permissions
    case audience
    /// The whole answer to a flow's `requestToken`.
    case requestToken
    /// The person's id at the provider: from the identity, and from the token answer or the stored
    /// account.
    case id
    case subject
    /// The code to poll with and the code to enter. RFC 8628 section 3.2.
    case deviceCode
    case userCode
    /// The login at a server of the person's own, and its token against forged requests.
    case username
    case password
    case csrf
    /// The application's name for people, and its redirect address, for a registration.
    case application
    case redirect
    /// A picture's name in an answer, for providers whose picture addresses contain it.
    case picture
  }

  /// The values of placeholders. They are mostly secrets, so they cannot be printed.
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

  func mentions(_ placeholder: Placeholder) -> Bool { parts.contains(.place(placeholder)) }

  /// Reads a text; `nil` for a single brace or a placeholder that is not allowed. A doubled brace
  /// stands for itself.
  init?(_ text: String, allowing allowed: Set<Placeholder>) {
    var rest = text[...]
    while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
      parts.append(.literal(String(rest[..<brace])))
      rest = rest[brace...]
      if rest.hasPrefix("{{") || rest.hasPrefix("}}") {
        parts.append(.literal(String(rest.removeFirst())))
        rest.removeFirst()
        continue
      }
      guard rest.removeFirst() == "{", let close = rest.firstIndex(of: "}"),
        let place = Placeholder(rawValue: String(rest[..<close])), allowed.contains(place)
      else { return nil }
      parts.append(.place(place))
      rest = rest[rest.index(after: close)...]
    }
    parts.append(.literal(String(rest)))
  }

  /// Returns the text with every placeholder filled, each value encoded by `encoding`.
  ///
  /// A placeholder without a value becomes empty text. Readers of descriptors allow only the
  /// placeholders that the caller fills.
  func filled(_ values: Values, encoding: (String) -> String = { $0 }) -> String {
    parts.map { part in
      switch part {
      case .literal(let text): text
      case .place(let place): encoding(values[place] ?? "")
      }
    }.joined()
  }
}

/// A request of a descriptor, without the values for its placeholders and without its OAuth 1.0a
/// signature. Only `method` and `url` are required.
///
///     {"method": "POST", "url": "https://example.com", "path": "/{id}", "query": {"a": "b"},
///      "form": {"id": "{clientId}"}, "headers": {"X-Version": "3"},
///      "basic": "{clientId}:{clientSecret}"}
///
/// `json` in the place of `form` is an object of texts, or null. A brace is written twice, such as
/// around the fields of GraphQL:
///
///     {"method": "POST", "url": "https://api.example.com/graphql", "bearer": "{token}",
///      "json": {"query": "{{ viewer {{ id name }} }}"}}
///
/// `names` has a provider's names for parameters of the standard in `authorize`, `token`,
/// `refresh.request`, `deviceAuthorization` and `question`. With `json` these parameters are sent as
/// JSON, and with GET, which only `token` and `refresh.request` may have, in the query:
///
///     "token": {"method": "POST", "url": "https://example.com/token", "json": {},
///               "names": {"client_id": "clientId", "client_secret": "clientSecret"}}
struct RequestTemplate: Sendable, Equatable {
  /// A field with placeholders in its value.
  struct Field: Sendable, Equatable {
    var name: String
    var value: Template
  }

  var method: HTTPRequest.Method
  /// Without a query.
  var address: WebAddress
  /// The rest of the path, if it has placeholders.
  var path: Template?
  var query: [Field]
  var form: [Field]
  /// The members of a JSON body, an object of texts; empty for a body of `null`, and `nil` for no
  /// JSON body.
  var json: [Field]?
  var headers: [Field]
  /// The token of the `Authorization: Bearer` header; `nil` if OAuth 1.0a signs the request or
  /// nothing authorizes it.
  var bearer: Template?
  /// Name and password of `Authorization: Basic`, separated by a colon.
  var basic: Template?
  /// The provider's names for parameters of the standard, in the place of values.
  var names: [Parameter]

  /// - Parameter renaming: The parameters of the standard that `names` may have.
  init(
    _ name: String, in reader: DescriptorReader, allowing allowed: Set<Template.Placeholder>,
    renaming: [String] = []
  ) throws(DescriptorReader.Fault) {
    let reader = try reader.object(
      name,
      members: ["method", "url", "path", "query", "form", "json", "headers", "bearer", "basic"]
        + (renaming.isEmpty ? [] : ["names"]))
    names = try Self.names("names", in: reader, renaming)
    method = try reader.word("method", HTTPRequest.Method.self)
    address = try reader.address("url")
    guard address.query == nil else {
      throw reader.fault(
        "url", "The address must not have a query, which belongs to the member query.")
    }
    path = try reader.template("path", allowing: allowed)
    guard path?.isPlainPath ?? true else {
      throw reader.fault("path", "Expected a path from a slash, without dot segments.")
    }
    query = try Self.fields("query", in: reader, allowed)
    form = try Self.fields("form", in: reader, allowed)
    guard form.isEmpty || method == .post else {
      throw reader.fault("form", "The member form is allowed only with POST.")
    }
    if reader.has("json") {
      let isNull = try reader.value("json").isNull
      json = isNull ? [] : try Self.fields("json", in: reader, allowed)
    }
    guard json == nil || (method != .get && form.isEmpty) else {
      throw reader.fault("json", "The member json is not allowed with GET or with form.")
    }
    headers = try Self.fields("headers", in: reader, allowed)
    bearer = try reader.template("bearer", allowing: allowed)
    basic = try reader.template("basic", allowing: allowed)
    guard bearer == nil || basic == nil else {
      throw reader.fault("basic", "Expected either bearer or basic, not both.")
    }
  }

  func mentions(_ placeholder: Template.Placeholder) -> Bool {
    ((query + form + (json ?? []) + headers).map(\.value)
      + [path, bearer, basic].compactMap(\.self))
      .contains { $0.mentions(placeholder) }
  }

  /// Returns the filled request without an OAuth 1.0a signature, and the fields of its form, which
  /// the signature covers.
  func filled(_ values: Template.Values) -> (request: HTTPRequest, form: [Parameter]) {
    let form = form.map { Parameter($0.name, $0.value.filled(values)) }
    let query = query.map { Parameter($0.name, $0.value.filled(values)) }
    var request = HTTPRequest(method, address)
    if let path {
      // A server would resolve a dot segment to another path.
      request.address.path += path.filled(values) {
        $0 == "." || $0 == ".." ? "" : PercentEncoding.encode($0)
      }
      request.hidesPath = true
    }
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

  func relocated(_ move: (WebAddress) -> WebAddress) -> RequestTemplate {
    var moved = self
    moved.address = move(address)
    return moved
  }

  /// Returns an object of templates as fields in their order; empty without this word.
  static func fields(
    _ name: String, in reader: DescriptorReader, _ allowed: Set<Template.Placeholder>
  ) throws(DescriptorReader.Fault) -> [Field] {
    guard reader.has(name) else { return [] }
    guard let members = try reader.value(name).object?.members else {
      throw reader.fault(name, "Expected an object of texts.")
    }
    let reader = try reader.object(name, members: members.map(\.name))
    var fields: [Field] = []
    for member in members {
      guard let value = try reader.template(member.name, allowing: allowed) else { continue }
      fields.append(Field(name: member.name, value: value))
    }
    return fields
  }
}

extension DescriptorReader {
  /// Returns a text with placeholders; `nil` without this word.
  func template(
    _ name: String, allowing allowed: Set<Template.Placeholder>
  ) throws(Fault) -> Template? {
    guard has(name) else { return nil }
    guard let template = Template(try string(name), allowing: allowed) else {
      let known = allowed.map { "{\($0.rawValue)}" }.sorted().joined(separator: ", ")
      throw fault(name, "Unknown placeholder in braces. Known placeholders: \(known).")
    }
    return template
  }
}

extension Template {
  /// Whether this path stays below the address in front of it. A segment of dots and places could become
  /// a dot segment, but for one place alone, which is never filled by dots.
  fileprivate var isPlainPath: Bool {
    let place = "{"
    let shape = parts.map { part in
      if case .literal(let text) = part { text } else { place }
    }.joined()
    return shape.hasPrefix("/") && !shape.contains { "?#\\%".contains($0) }
      && shape.split(separator: "/").allSatisfy { segment in
        segment == place || !segment.allSatisfy { $0 == "." || $0 == "{" }
      }
  }
}
