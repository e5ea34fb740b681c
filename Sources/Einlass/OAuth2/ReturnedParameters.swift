internal import EinlassCrypto
internal import EinlassJSON

/// The parameters of a browser's response. `+` is a space, as browsers send it, and a repetition of
/// the same value counts once.
struct ReturnedParameters {
  private var parameters: [Parameter] = []
  private var isMalformed = false
  private let isTooLong: Bool

  init(_ returned: RedirectParameters) {
    isTooLong = returned.isTooLong
    // Each field by itself, because a broken one must not hide whose response this is.
    for field in returned.text.utf8.split(separator: UInt8(ascii: "&")) {
      if let decoded = FormEncoding.decode(field, plus: .space) {
        parameters += decoded
      } else {
        isMalformed = true
      }
    }
  }

  var isEmpty: Bool { parameters.isEmpty && !isMalformed }

  /// The first value of this name; `nil` if it is absent or empty.
  subscript(_ name: String) -> String? { first(name).flatMap { $0.isEmpty ? nil : $0 } }

  /// Returns the first value of this name, which may be empty.
  func first(_ name: String) -> String? { parameters.first { sameBytes($0.name, name) }?.value }

  /// Whether the parameter is there, with this secret as its only value.
  func has(_ name: String, _ secret: String) -> Bool {
    let values = parameters.lazy.filter { sameBytes($0.name, name) }.map(\.value)
    return !values.isEmpty
      && values.allSatisfy { constantTimeEqual(Array($0.utf8), Array(secret.utf8)) }
  }

  /// Returns what makes a response with these parameters unusable, as a predicate.
  func flaw(in names: [String]) -> String? {
    if isTooLong { return "is too long" }
    if isMalformed { return "has a parameter that cannot be decoded" }
    let repeated = names.first { name in
      let values = parameters.lazy.filter { sameBytes($0.name, name) }.map(\.value)
      return values.first.map { first in values.contains { !sameBytes($0, first) } } ?? false
    }
    return repeated.map { "has several different values of \($0)" }
  }
}
