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
public final class MethodDescriptor: Sendable {
  /// The name on the wire, for example `accounts.list`.
  public let name: String
  /// Its longest duration.
  public let methodClass: MethodClass
  /// Its purpose, one sentence for the protocol document.
  public let summary: String
  /// Its rules beyond those of its parameters, in Markdown for the protocol document.
  public let description: String?
  /// The members of `params`.
  public var params: [Field] { madeParams.value }
  /// The rules over several members of `params`.
  public var rules: [Rule] { makeRules() }
  /// The schema of the result.
  public var result: Schema { makeResult() }
  /// The reasons of its own errors, beyond the protocol's.
  public let reasons: [String]
  /// Whether it is allowed in a batch. Interactive methods are not.
  public let isBatchable: Bool
  /// Whether an answer must fit a line of 60 KiB; only the protocol document need not.
  public let isLineLimited: Bool
  /// Whether it exists only in a process started with `--test`.
  public let needsTestMode: Bool
  /// Whether unknown parameters are refused. Otherwise they are ignored.
  public let isClosed: Bool
  // Made on demand, because a start makes the descriptors of all methods and needs few of them.
  private let madeParams: OnDemand<[Field]>
  private let makeRules: @Sendable () -> [Rule]
  private let makeResult: @Sendable () -> Schema

  /// A method; void results are an object without members.
  public init(
    _ name: String, _ methodClass: MethodClass, _ summary: String, description: String? = nil,
    params: @escaping @autoclosure @Sendable () -> [Field] = [],
    rules: @escaping @autoclosure @Sendable () -> [Rule] = [],
    result: @escaping @autoclosure @Sendable () -> Schema = .object([]), reasons: [String] = [],
    isBatchable: Bool? = nil, isLineLimited: Bool = true, needsTestMode: Bool = false
  ) {
    self.name = name
    self.methodClass = methodClass
    self.summary = summary
    self.description = description
    madeParams = OnDemand(params)
    makeRules = rules
    makeResult = result
    self.reasons = reasons
    self.isBatchable = isBatchable ?? (methodClass != .interactive)
    self.isLineLimited = isLineLimited
    self.needsTestMode = needsTestMode
    isClosed = false
  }

  private init(_ former: MethodDescriptor, _ reasons: [String], isClosed: Bool) {
    name = former.name
    methodClass = former.methodClass
    summary = former.summary
    description = former.description
    madeParams = former.madeParams
    makeRules = former.makeRules
    makeResult = former.makeResult
    self.reasons = reasons
    isBatchable = former.isBatchable
    isLineLimited = former.isLineLimited
    needsTestMode = former.needsTestMode
    self.isClosed = isClosed
  }

  /// Returns the same method, which refuses unknown parameters.
  public var closed: MethodDescriptor { MethodDescriptor(self, reasons, isClosed: true) }

  /// Returns the same method with further reasons of errors.
  public func adding(_ reasons: [String]) -> MethodDescriptor {
    MethodDescriptor(
      self, self.reasons + reasons.filter { !self.reasons.contains($0) }, isClosed: isClosed)
  }

  /// Throws `invalidParams` with `path` and `expected` for the first invalid parameter.
  public func validate(_ params: JSONObject, components: Components = { _ in nil }) throws(RPCError)
  {
    if isClosed { try Schema.refuseUnknown(params, self.params.map(\.name), at: "") }
    try Schema.validate(params, self.params, at: "", components: components)
    for rule in rules { try rule.validate(params) }
  }

  /// The method object of the OpenRPC document.
  public var openRPC: JSONValue {
    .object(
      JSONObject(present: [
        "name": .string(name), "summary": .string(summary),
        "description": description.map(JSONValue.string), "paramStructure": "by-name",
        "params": .array(params.map(\.contentDescriptor)),
        "result": ["name": "result", "schema": result.jsonSchema],
        "errors": .array(
          errors.map { ["$ref": .string("#/components/errors/\($0)")] }),
        "x-direction": "clientToServer", "x-class": .string(methodClass.rawValue),
        "x-batchable": .bool(isBatchable), "x-reasons": JSONValue(reasons),
        "x-params": paramsSchema, "x-closed": isClosed ? true : nil,
        "x-testMode": needsTestMode ? true : nil,
      ]))
  }
}

extension MethodDescriptor {
  /// The reasons of all errors of a request of this method: its own ones, and those of the protocol.
  fileprivate var errors: [String] {
    let standard: [RPCError.Standard?] = [
      params.isEmpty ? nil : .invalidParams, .positionalParams, isBatchable ? nil : .notBatchable,
      .duplicateId, .shuttingDown, .overloaded, .cancelled, .internal,
    ]
    return reasons + standard.compactMap { $0?.rawValue }.filter { !reasons.contains($0) }
  }

  /// The rules as JSON Schema of the whole `params`; `nil` without rules.
  fileprivate var paramsSchema: JSONValue? {
    rules.count > 1 ? ["allOf": .array(rules.map(\.jsonSchema))] : rules.first?.jsonSchema
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
  /// The schema of the whole `params`, if it says more than its members.
  public var whole: Schema?

  /// A notification.
  public init(_ name: String, _ summary: String, params: [Field] = [], whole: Schema? = nil) {
    self.name = name
    self.summary = summary
    self.params = params
    self.whole = whole
  }

  /// The method object of the OpenRPC document; without `result` it is a notification there.
  public var openRPC: JSONValue {
    .object(
      JSONObject(present: [
        "name": .string(name), "summary": .string(summary), "paramStructure": "by-name",
        "params": .array(params.map(\.contentDescriptor)), "x-direction": "serverToClient",
        "x-params": whole?.jsonSchema,
      ]))
  }
}

extension Field {
  /// OpenRPC's content descriptor.
  fileprivate var contentDescriptor: JSONValue {
    .object(
      JSONObject(present: [
        "name": .string(name), "summary": .string(summary), "required": .bool(isRequired),
        "schema": .object(valueSchema), "x-secret": isSecret ? true : nil,
      ]))
  }
}
