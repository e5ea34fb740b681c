public import EinlassJSON

/// The error of a request.
///
/// `data` always holds `reason`, a stable name for programs, and `retryable`. It never holds a
/// secret.
public struct RPCError: Error, Sendable, Equatable {
  /// A code of JSON-RPC or of the application.
  public var code: Int
  /// One English sentence for people.
  public var message: String
  /// `reason`, `retryable` and the members of this kind of error.
  public var data: JSONObject
  /// Whether a prompt may solve the problem. Not sent to the client.
  public var needsPerson = false

  /// Makes an error with `reason`, `retryable` and then these members as its `data`.
  public init(
    code: Int, reason: String, _ message: String, isRetryable: Bool = false,
    data: JSONObject = JSONObject()
  ) {
    self.code = code
    self.message = message
    self.data = ["reason": .string(reason), "retryable": .bool(isRetryable)]
    for member in data.members { self.data[member.name] = member.value }
  }

  /// The `reason` of its data.
  public var reason: String { data["reason"]?.string ?? "" }
}

extension RPCError {
  /// The errors of the protocol itself. The raw value is the `reason`.
  public enum Standard: String, Sendable, CaseIterable {
    case invalidJSON, invalidUTF8, lineTooLong, tooDeep, invalidHeader
    case invalidRequest, invalidId, duplicateKey, duplicateId, emptyBatch, batchTooLarge
    case notBatchable, alreadyInitialized, shuttingDown
    case unknownMethod
    case invalidParams, positionalParams, unsupportedVersion, invalidCursor
    case `internal`
    case cancelled
    case overloaded

    /// The code on the wire: JSON-RPC 2.0 section 5.1, -32800 as in the Language Server Protocol,
    /// and -32001.
    public var code: Int {
      switch self {
      case .invalidJSON, .invalidUTF8, .lineTooLong, .tooDeep, .invalidHeader: -32700
      case .invalidRequest, .invalidId, .duplicateKey, .duplicateId, .emptyBatch, .batchTooLarge,
        .notBatchable, .alreadyInitialized, .shuttingDown:
        -32600
      case .unknownMethod: -32601
      case .invalidParams, .positionalParams, .unsupportedVersion, .invalidCursor: -32602
      case .internal: -32603
      case .cancelled: -32800
      case .overloaded: -32001
      }
    }

    /// The default message.
    public var message: String {
      switch self {
      case .invalidJSON: "The message is not one JSON value."
      case .invalidUTF8: "The message is not UTF-8."
      case .lineTooLong: "The message is longer than 1 MiB."
      case .tooDeep: "The value is nested more than 64 levels deep."
      case .invalidHeader: "The header of a message is invalid."
      case .invalidRequest: "This is not a JSON-RPC 2.0 request."
      case .invalidId: "The id must be a string of 1 to 256 bytes or an integer."
      case .duplicateKey: "An object has two members with the same name."
      case .duplicateId: "A request with this id is still running."
      case .emptyBatch: "A batch needs at least one entry."
      case .batchTooLarge: "A batch has at most 64 entries."
      case .notBatchable: "This method cannot be called in a batch."
      case .alreadyInitialized:
        "initialize must be the first request of a process, and the only one."
      case .shuttingDown: "The process is shutting down."
      case .unknownMethod: "There is no such method."
      case .invalidParams: "A parameter is missing or invalid."
      case .positionalParams: "Parameters are passed by name, in an object."
      case .unsupportedVersion: "This protocol version is not supported."
      case .invalidCursor: "The cursor does not come from an earlier answer."
      case .internal: "An internal error."
      case .cancelled: "The request was cancelled."
      case .overloaded: "Too many requests are running."
      }
    }

    /// The next step, in words.
    public var nextStep: String {
      switch self {
      case .lineTooLong: "Send less at a time"
      case .invalidJSON, .invalidUTF8, .tooDeep, .invalidHeader, .invalidRequest,
        .invalidId, .duplicateKey, .duplicateId, .emptyBatch, .batchTooLarge, .notBatchable,
        .positionalParams:
        "Report it to the makers of the program that started einlass"
      case .alreadyInitialized, .shuttingDown: "Start einlass again"
      case .unknownMethod, .unsupportedVersion:
        "Update einlass, or the program that started it"
      case .invalidParams: "Correct the parameter"
      case .invalidCursor: "Start the list again without a cursor"
      case .internal: "Run einlass again with --log-level debug, and report its log"
      case .cancelled: "Start it again, if that was not intended"
      case .overloaded: "Wait until some requests are answered, then try again"
      }
    }
  }

  /// Makes an error of the protocol itself.
  public init(
    _ standard: Standard, _ message: String? = nil, data: JSONObject = JSONObject()
  ) {
    self.init(
      code: standard.code, reason: standard.rawValue, message ?? standard.message,
      isRetryable: standard == .overloaded, data: data)
    self.data["next"] = [["label": .string(standard.nextStep)]]
  }

  /// Returns the error for a missing or invalid parameter. `path` is a JSON Pointer into `params`
  /// (RFC 6901).
  public static func invalidParams(
    path: String, expected: String, isMissing: Bool = false
  ) -> RPCError {
    let gap = isMissing ? "is missing; it " : ""
    return RPCError(
      .invalidParams, "The parameter \(path) \(gap)must be \(expected).",
      data: ["path": .string(path), "expected": .string(expected)])
  }

  /// Returns the error for a parameter that a closed object has not.
  static func unknownParam(path: String, known: [String]) -> RPCError {
    let expected = "one of \(known.joined(separator: ", ")) as a name"
    return RPCError(
      .invalidParams, "The parameter \(path) is unknown; it must have \(expected).",
      data: ["path": .string(path), "expected": .string(expected)])
  }

  /// Returns the error for a header without this.
  static func invalidHeader(expected: String) -> RPCError {
    RPCError(
      .invalidHeader, "The header of a message must have \(expected). The input ends here.",
      data: ["expected": .string(expected)])
  }

  /// Returns the error of a cancelled request. `by` is `client`, `shutdown`, `endOfInput` or a name
  /// of the application.
  public static func cancelled(by: String) -> RPCError {
    var error = RPCError(.cancelled, cancellationMessages[by], data: ["by": .string(by)])
    if by == endOfInput {
      error.data["next"] = [["label": "To let requests finish, start einlass with --finish"]]
    }
    return error
  }

  /// The `by` of requests cancelled by the end of input.
  static let endOfInput = "endOfInput"

  /// Returns the error of work that continued after its answer. If a handler reported `shutdown`,
  /// the message and `by` become those of the actual reason for the end.
  func ended(by word: String) -> RPCError {
    guard data["by"]?.string == "shutdown" else { return self }
    let cause = RPCError.cancelled(by: word)
    var error = self
    (error.message, error.data["by"]) = (cause.message, cause.data["by"])
    error.data["next"] = cause.data["next"]
    return error
  }

  private static let cancellationMessages = [
    endOfInput:
      "The request was cancelled because standard input ended."
  ]

  /// The same error with shortened texts. An error may quote a parameter, and a parameter may be as
  /// long as a whole request.
  var shortened: RPCError {
    func cut(_ text: String) -> String {
      let start = text.unicodeScalars.prefix(1000)
      return start.endIndex == text.endIndex ? text : String(start) + "…"
    }
    var error = self
    error.message = cut(message)
    for member in data.members {
      if let text = member.value.string {
        error.data[member.name] = .string(cut(text))
      } else if member.name == "next", let steps = member.value.array {
        error.data[member.name] = .array(steps.map { ["label": $0["label"] ?? ""] })
      } else if member.value.bytes().count > 1000 {
        error.data[member.name] = nil
      }
    }
    return error
  }

  /// The same error with its code and reason alone.
  var terse: RPCError {
    var error = self
    (error.message, error.data) = (reason, ["reason": .string(reason)])
    return error
  }

  /// The error object of an answer (JSON-RPC 2.0 section 5.1).
  public var json: JSONValue {
    ["code": JSONValue(Int64(code)), "message": .string(message), "data": .object(data)]
  }
}
