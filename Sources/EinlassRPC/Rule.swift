public import EinlassJSON

/// A rule over several parameters of a method: exactly one of its choices holds.
public struct Rule: Sendable {
  /// One combination of parameters.
  public struct Choice: Sendable {
    /// The purpose of the combination, for the protocol document; may be empty.
    public var title: String
    /// The parameters that it has.
    public var required: [String]
    /// The parameters that it has not.
    public var absent: [String]
    /// The possible values of parameters, if they are there.
    public var values: [(name: String, values: [JSONValue])]

    /// A combination.
    public init(
      _ title: String = "", required: [String] = [], absent: [String] = [],
      values: [(name: String, values: [JSONValue])] = []
    ) {
      self.title = title
      self.required = required
      self.absent = absent
      self.values = values
    }

    fileprivate func holds(_ params: JSONObject) -> Bool {
      required.allSatisfy { params[$0] != nil } && absent.allSatisfy { params[$0] == nil }
        && values.allSatisfy { name, values in params[name].map(values.contains) ?? true }
    }

    fileprivate var jsonSchema: JSONValue {
      let properties = JSONObject(
        absent.map { ($0, false) }
          + values.map { name, values in
            (name, values.count == 1 ? ["const": values[0]] : ["enum": .array(values)])
          })
      return .object(
        JSONObject(present: [
          "title": title.isEmpty ? nil : .string(title),
          "required": required.isEmpty ? nil : JSONValue(required),
          "properties": properties.members.isEmpty ? nil : .object(properties),
        ]))
    }
  }

  private var choices: [Choice]
  private var path: String
  private var expected: String
  private var message: String

  /// A rule.
  ///
  /// - Parameters:
  ///   - path: The JSON Pointer of the error.
  ///   - expected: The `expected` of the error.
  ///   - message: The message of the error.
  public init(_ choices: [Choice], path: String, expected: String, _ message: String) {
    self.choices = choices
    self.path = path
    self.expected = expected
    self.message = message
  }

  /// Of two parameters exactly one is there.
  public static func either(_ one: String, or other: String) -> Rule {
    let expected = "either \(one) or \(other)"
    return Rule(
      [Choice(required: [one]), Choice(required: [other])], path: "/\(one)", expected: expected,
      "The request needs \(expected), and not both.")
  }

  /// Throws `invalidParams` unless exactly one choice holds.
  func validate(_ params: JSONObject) throws(RPCError) {
    guard choices.count(where: { $0.holds(params) }) != 1 else { return }
    throw RPCError(
      .invalidParams, message, data: ["path": .string(path), "expected": .string(expected)])
  }

  /// The rule as JSON Schema of the whole `params`.
  var jsonSchema: JSONValue { ["oneOf": .array(choices.map(\.jsonSchema))] }
}
