internal import EinlassJSON

/// A message of JSON-RPC 2.0, checked by every rule of the envelope.
enum Message: Sendable {
  /// A request, or a notification when it has no id.
  case request(Request)
  /// A message with `result` or `error`. It is never answered.
  case response
  /// A message that breaks a rule, with the error for its answer.
  case refusal(RPCError, id: RequestID?)
  /// The messages of a batch in their order; none is a batch itself.
  case batch([Message])

  /// A well-formed call. The method may not exist.
  struct Request: Sendable {
    /// `nil` for a notification.
    var id: RequestID?
    /// The method's name as sent; it may be unknown.
    var method: String
    /// Empty for a call without parameters.
    var params: JSONObject
    /// The parameters were a non-empty array, which no method takes.
    var hasPositionalParams: Bool
    /// The length of its text in bytes.
    var byteCount: Int
  }

  /// Parses a message.
  init(_ text: ArraySlice<UInt8>) {
    let document: JSONReader.Document
    do {
      let limits = JSONLimits(depth: Limits.nesting)
      document = try JSONReader.readDocument(text.span, limits: limits)
    } catch {
      self = .refusal(RPCError(refusing: error), id: nil)
      return
    }
    if let entries = document.value.array {
      self = Message.batch(of: entries, text, hasDuplicateKeys: document.hasDuplicateKeys)
    } else {
      self.init(document.value, text, hasDuplicateKeys: document.hasDuplicateKeys)
    }
  }

  /// Parses the message of one value. `text` holds nothing else.
  private init(_ value: JSONValue, _ text: ArraySlice<UInt8>, hasDuplicateKeys: Bool) {
    guard let object = value.object else {
      self = .refusal(RPCError(.invalidRequest, "A message must be a JSON object."), id: nil)
      return
    }
    let envelope = Envelope(object)
    let isResponseShaped = envelope.hasOutcome
    if isResponseShaped && envelope.method == nil {
      self = .response
      return
    }
    var id: RequestID?
    if let value = envelope.id, envelope.idCount == 1 {
      id = RequestID(value, lexeme: Message.lexeme(ofID: value, in: object, text))
    }
    if hasDuplicateKeys {
      self = .refusal(RPCError(.duplicateKey), id: id)
    } else if envelope.id != nil && id == nil {
      self = .refusal(RPCError(.invalidId), id: nil)
    } else {
      do throws(RPCError) {
        self = .request(try envelope.request(id, byteCount: text.count))
      } catch {
        self = .refusal(error, id: id)
      }
    }
  }

  /// Whether a message of a batch gets an answer.
  var isAnswered: Bool {
    switch self {
    case .request(let request): request.id != nil
    case .refusal: true
    case .response, .batch: false
    }
  }

  /// Returns whether a text without LF is a complete object or array.
  static func isWhole(_ text: ArraySlice<UInt8>) -> Bool {
    switch try? JSONReader.readDocument(text.span).value {
    case .object?, .array?: true
    default: false
    }
  }

  /// Parses the messages of an array.
  private static func batch(
    of entries: [JSONValue], _ text: ArraySlice<UInt8>, hasDuplicateKeys: Bool
  ) -> Message {
    guard !entries.isEmpty else { return .refusal(RPCError(.emptyBatch), id: nil) }
    guard entries.count <= Limits.batchEntries else {
      return .refusal(RPCError(.batchTooLarge), id: nil)
    }
    var ids: Set<RequestID> = []
    let ranges = JSONReader.childRanges(text.span)
    return .batch(
      zip(entries, ranges).map { entry, range in
        let text = text[text.startIndex + range.lowerBound..<text.startIndex + range.upperBound]
        let repeats = hasDuplicateKeys && JSONReader.hasDuplicateKeys(text.span)
        let message = Message(entry, text, hasDuplicateKeys: repeats)
        if case .request(let request) = message, let id = request.id, !ids.insert(id).inserted {
          return .refusal(RPCError(.duplicateId), id: nil)
        }
        return message
      })
  }

  /// The original spelling of a string with escapes; `nil` if the writer spells it the same.
  private static func lexeme(
    ofID value: JSONValue, in object: JSONObject, _ text: ArraySlice<UInt8>
  ) -> String? {
    guard value.string != nil, text.contains(UInt8(ascii: "\\")),
      let index = object.members.firstIndex(where: { sameBytes($0.name, "id") })
    else { return nil }
    let range = JSONReader.childRanges(text.span)[index]
    return String(
      decoding: text[text.startIndex + range.lowerBound..<text.startIndex + range.upperBound],
      as: UTF8.self)
  }
}

/// The known members of a message.
private struct Envelope {
  var version: JSONValue?
  var id: JSONValue?
  var idCount = 0
  var method: JSONValue?
  var params: JSONValue?
  var hasOutcome = false

  init(_ object: JSONObject) {
    for member in object.members {
      let name = member.name
      if sameBytes(name, "jsonrpc") {
        version = member.value
      } else if sameBytes(name, "id") {
        id = member.value
        idCount += 1
      } else if sameBytes(name, "method") {
        method = member.value
      } else if sameBytes(name, "params") {
        params = member.value
      } else if sameBytes(name, "result") || sameBytes(name, "error") {
        hasOutcome = true
      }
    }
  }

  /// Returns the request. Throws `invalidRequest` for a wrong version, method or params.
  func request(_ id: RequestID?, byteCount: Int) throws(RPCError) -> Message.Request {
    guard version?.string.map({ sameBytes($0, "2.0") }) ?? false else {
      throw .invalidRequest("jsonrpc", version, #"the text "2.0""#)
    }
    guard let method = method?.string else {
      throw .invalidRequest("method", method, "the name of a method")
    }
    guard !hasOutcome else {
      throw RPCError(.invalidRequest, "A message with a method can't have result or error.")
    }
    var request = Message.Request(
      id: id, method: method, params: JSONObject(), hasPositionalParams: false,
      byteCount: byteCount)
    switch params {
    case nil, .null?: break
    case .object(let object)?: request.params = object
    case .array(let elements)?: request.hasPositionalParams = !elements.isEmpty
    default: throw .invalidRequest("params", params, "an object")
    }
    return request
  }
}

extension JSONReader {
  /// Returns whether an object of a valid text has two members with the same name.
  fileprivate static func hasDuplicateKeys(_ bytes: Span<UInt8>) -> Bool {
    let document = try? readDocument(bytes)
    return document?.hasDuplicateKeys ?? true
  }
}

extension RPCError {
  /// The error for a missing or wrong member of a message.
  fileprivate static func invalidRequest(
    _ member: String, _ value: JSONValue?, _ expected: String
  ) -> RPCError {
    let gap = value == nil ? "is missing; it " : ""
    return RPCError(.invalidRequest, "The member \(member) \(gap)must be \(expected).")
  }

  /// The error for a message that is not JSON.
  fileprivate init(refusing error: JSONReadError) {
    switch error {
    case .invalidUTF8: self.init(.invalidUTF8)
    case .tooDeep: self.init(.tooDeep)
    case .duplicateKey: self.init(.duplicateKey)
    case .invalidJSON(let offset):
      self.init(.invalidJSON, "The message is not one JSON value: see byte \(offset).")
    }
  }
}
