public import EinlassJSON

/// The longest duration of a method. Clients choose a timeout by it.
public enum MethodClass: String, Sendable, CaseIterable {
  /// Memory or one short access to a store; answered in order of arrival.
  case immediate
  /// Within one budget of 30 s.
  case network
  /// As long as a person takes.
  case interactive
}

/// A method as data: its parameters, result and errors.
public struct MethodDescriptor: Sendable {
  /// The name on the wire, for example `accounts.list`.
  public var name: String
  /// Its longest duration.
  public var methodClass: MethodClass
  /// Its purpose, one sentence for the protocol document.
  public var summary: String
  /// The members of `params`.
  public var params: [Field]
  /// The schema of the result.
  public var result: Schema
  /// The reasons of its own errors, beyond the protocol's.
  public var reasons: [String]
  /// Whether it is allowed in a batch. Interactive methods are not.
  public var isBatchable: Bool
  /// Whether an answer must fit a line of 60 KiB; only the protocol document need not.
  public var isLineLimited: Bool
  /// Whether it exists only in a process started with `--test`.
  public var needsTestMode: Bool

  /// A method; void results are an object without members.
  public init(
    _ name: String, _ methodClass: MethodClass, _ summary: String, params: [Field] = [],
    result: Schema = .object([]), reasons: [String] = [], isBatchable: Bool? = nil,
    isLineLimited: Bool = true, needsTestMode: Bool = false
  ) {
    self.name = name
    self.methodClass = methodClass
    self.summary = summary
    self.params = params
    self.result = result
    self.reasons = reasons
    self.isBatchable = isBatchable ?? (methodClass != .interactive)
    self.isLineLimited = isLineLimited
    self.needsTestMode = needsTestMode
  }

  /// Throws `invalidParams` with `path` and `expected` for the first invalid parameter.
  public func validate(_ params: JSONObject, components: Components = [:]) throws(RPCError) {
    try Schema.validate(params, self.params, at: "", components: components)
  }

  /// The method object of the OpenRPC document.
  public var openRPC: JSONValue {
    .object(
      JSONObject(present: [
        "name": .string(name), "summary": .string(summary), "paramStructure": "by-name",
        "params": .array(params.map(\.contentDescriptor)),
        "result": ["name": "result", "schema": result.jsonSchema],
        "x-direction": "clientToServer", "x-class": .string(methodClass.rawValue),
        "x-batchable": .bool(isBatchable), "x-reasons": JSONValue(reasons),
        "x-testMode": needsTestMode ? true : nil,
      ]))
  }
}

/// A notification of the server, as data.
public struct NotificationDescriptor: Sendable {
  /// The name on the wire, for example `prompt.opened`.
  public var name: String
  /// Its meaning, one sentence for the protocol document.
  public var summary: String
  /// The members of `params`.
  public var params: [Field]

  /// A notification.
  public init(_ name: String, _ summary: String, params: [Field] = []) {
    self.name = name
    self.summary = summary
    self.params = params
  }

  /// The method object of the OpenRPC document; without `result` it is a notification there.
  public var openRPC: JSONValue {
    [
      "name": .string(name), "summary": .string(summary), "paramStructure": "by-name",
      "params": .array(params.map(\.contentDescriptor)), "x-direction": "serverToClient",
    ]
  }
}

extension Field {
  /// OpenRPC's content descriptor.
  fileprivate var contentDescriptor: JSONValue {
    .object(
      JSONObject(present: [
        "name": .string(name), "summary": .string(summary), "required": .bool(isRequired),
        "schema": schema.jsonSchema, "x-secret": isSecret ? true : nil,
      ]))
  }
}
