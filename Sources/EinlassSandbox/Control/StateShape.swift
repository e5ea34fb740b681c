import EinlassJSON

/// A schema of the state, so that a typing error in a test is reported and not ignored.
indirect enum StateShape: Sendable {
  case text
  /// Within ±2⁵³, so that sums of a few integers do not overflow.
  case integer
  case flag
  case texts
  case word([String])
  case anything
  /// Any member names, all values with one shape.
  case map(StateShape)
  /// Only these members, all of them optional.
  case members([(String, StateShape)])

  /// The first violation of a shape.
  struct Flaw: Equatable, Sendable {
    /// A JSON pointer (RFC 6901).
    var path: String
    var message: String
  }

  /// Returns the first flaw of a state.
  static func flaw(in state: JSONValue) -> Flaw? { whole.flaw(in: state, at: "") }

  static let whole = members(
    [
      ("clockOffsetSeconds", .integer),
      ("faults", .map(fault)),
    ] + Providers.all.map { ($0.name, $0.shape) })

  private static let fault = members([
    ("path", .text), ("method", .text), ("skip", .integer), ("remaining", .integer),
    ("delayMilliseconds", .integer), ("worksFirst", .flag),
    ("answer", .word(Fault.Kind.allCases.map(\.rawValue))), ("status", .integer),
    ("contentType", .text), ("headers", .map(.text)), ("body", .text), ("bytes", .integer),
  ])

  /// Rate limits by path, the same for every provider.
  static let rateLimits = map(
    members([
      ("limit", .integer), ("remaining", .integer), ("resetAt", .integer),
      ("windowSeconds", .integer), ("code", .integer),
    ]))

  private func flaw(in value: JSONValue, at path: String) -> Flaw? {
    switch (self, value) {
    case (.text, .string), (.flag, .bool), (.anything, _): return nil
    case (.integer, .number(let number)) where (number.int64?.magnitude ?? .max) <= 1 << 53:
      return nil
    case (.word(let words), .string(let word)) where words.contains(word): return nil
    case (.texts, .array(let elements)) where elements.allSatisfy({ $0.string != nil }):
      return nil
    case (.map(let shape), .object(let object)):
      for member in object.members {
        let place = appending(member.name, toPointer: path)
        if let flaw = shape.flaw(in: member.value, at: place) { return flaw }
      }
      return nil
    case (.members(let shapes), .object(let object)):
      for member in object.members {
        let place = appending(member.name, toPointer: path)
        guard let shape = shapes.first(where: { sameBytes($0.0, member.name) })?.1 else {
          let names = shapes.map(\.0).joined(separator: ", ")
          return Flaw(path: place, message: "There is no such member; there are \(names).")
        }
        if let flaw = shape.flaw(in: member.value, at: place) { return flaw }
      }
      return nil
    default: return Flaw(path: path, message: "This must be \(description).")
    }
  }
}

extension StateShape: CustomStringConvertible {
  /// The expected value, in words.
  var description: String {
    switch self {
    case .text: "a string"
    case .integer: "an integer within ±2⁵³"
    case .flag: "true or false"
    case .texts: "a list of strings"
    case .anything: "any JSON"
    case .word(let words): "one of " + words.joined(separator: ", ")
    case .map, .members: "an object"
    }
  }

  /// Returns the shape as indented lines for `--help`. Members with the same multi-line shape share
  /// it.
  func outline(indent: String = "  ") -> String {
    switch self {
    case .members(let shapes):
      var groups: [(names: String, rest: String)] = []
      for (name, shape) in shapes {
        let rest = shape.rest(indent)
        if shape.hasCollections, let alike = groups.firstIndex(where: { $0.rest == rest }) {
          groups[alike].names += ", \(name)"
        } else {
          groups.append((name, rest))
        }
      }
      return groups.map { indent + $0.names + $0.rest }.joined()
    case .map(let shape): return "\(indent)NAME" + shape.rest(indent)
    default: return ""
    }
  }

  private func rest(_ indent: String) -> String {
    switch self {
    case .members(let shapes) where shapes.allSatisfy({ !$0.1.hasCollections }):
      ": " + shapes.map { name, shape in name + shape.words }.joined(separator: ", ") + "\n"
    case .members, .map(.members): "\n" + outline(indent: indent + "  ")
    case .integer: ": an integer\n"
    default: ": \(self)\n"
    }
  }

  /// Whether the shape needs lines of its own.
  private var hasCollections: Bool {
    switch self {
    case .members, .map(.members): true
    default: false
    }
  }

  private var words: String {
    if case .word(let words) = self { " (\(words.joined(separator: ", ")))" } else { "" }
  }
}
