public import EinlassJSON

/// How long a method may take, so that clients can choose a timeout.
public enum MethodClass: String, Sendable, CaseIterable {
  /// Memory or one short access to a store; answered in order of arrival.
  case immediate
  /// Within one budget of 30 s.
  case network
  /// As long as a person takes.
  case interactive
}

/// A method as data: what it takes, what it answers, which errors it has.
public struct MethodDescriptor: Sendable {
  /// The name on the wire, for example `accounts.list`.
  public var name: String
  /// How long it may take.
  public var methodClass: MethodClass
  /// What it does, in one sentence for the document.
  public var summary: String
  /// The members of `params`.
  public var params: [Field]
  /// What a result is.
  public var result: Schema
  /// The reasons of its own errors, beyond the protocol's.
  public var reasons: [String]
  /// Whether it may stand in a batch; interactive methods may not.
  public var isBatchable: Bool
  /// Whether an answer must fit a line of 60 KiB; only the protocol document need not.
  public var isLineLimited: Bool
  /// Whether it exists only where the process was started for tests.
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

  /// Throws `invalidParams` with `path` and `expected` for the first parameter that is not as described.
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

/// A notification that the server sends, as data.
public struct NotificationDescriptor: Sendable {
  /// The name on the wire, for example `prompt.opened`.
  public var name: String
  /// What it says, in one sentence for the document.
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
