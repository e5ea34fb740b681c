import EinlassJSON
import Foundation

@testable import EinlassRPC

/// Checks that an accepted text is written and read again as the same value, that Foundation reads
/// the same value, and that messages are the same for any division of the input, in both framings.
func fuzzReader(_ input: [UInt8]) {
  for framing in [nil, .lines, .headers] as [Framing?] { frame(input, framing) }
  _ = Message(input[...])
  guard let value = try? JSONReader.read(input) else { return }
  let written = value.bytes()
  check(!written.contains { $0 < 0x20 || $0 == 0x7F }, "controls go out escaped")
  check((try? JSONReader.read(written)) == value, "a written value is read as the same value")
  for range in JSONReader.childRanges(input.span) {
    check((try? JSONReader.read(input[range])) != nil, "every child is a value")
  }
  let object = try? JSONSerialization.jsonObject(
    with: Data(input), options: [.fragmentsAllowed])
  guard let object else {
    check(value.hasHugeNumber, "Foundation reads it too")
    return
  }
  check(isSame(value, object), "Foundation reads the same")
}

private func frame(_ input: [UInt8], _ framing: Framing?) {
  let whole = frames(of: input, framing) { _ in input.count }
  var state = UInt32(truncatingIfNeeded: input.count) &* 2_654_435_761 | 1
  let pieces = frames(of: input, framing) { rest in
    state = state &* 1_664_525 &+ 1_013_904_223
    return 1 + Int(state >> 16) % max(1, min(rest, 80))
  }
  let single = frames(of: input, framing) { _ in 1 }
  check(whole == pieces && whole == single, "messages do not depend on the pieces of the input")
}

/// Returns the messages of the framer, including the rest at the end.
private func frames(
  of input: [UInt8], _ framing: Framing?, _ count: (Int) -> Int
) -> [MessageFramer.Frame] {
  let limit = 64
  var framer = MessageFramer(framing, limit: limit)
  var found: [MessageFramer.Frame] = []
  func take(_ frame: MessageFramer.Frame) {
    if case .text(let bytes) = frame {
      check(bytes.count <= limit, "a message is within the limit")
      check(framer.framing == .headers || !bytes.contains(0x0A), "a line has no LF")
      found.append(.text(ArraySlice(Array(bytes))))
    } else {
      found.append(frame)
    }
  }
  var rest = input[...]
  while !rest.isEmpty {
    let piece = rest.prefix(max(1, count(rest.count)))
    framer.feed(piece)
    while let frame = framer.next() { take(frame) }
    rest = rest.dropFirst(piece.count)
  }
  if let frame = framer.rest() { take(frame) }
  return found
}

private func isSame(_ ours: JSONValue, _ theirs: Any) -> Bool {
  switch ours {
  case .null: return theirs is NSNull
  case .bool(let value): return (theirs as? NSNumber)?.boolValue == value
  case .number(let number):
    guard let theirs = (theirs as? NSNumber)?.doubleValue, let ours = Double(number.lexeme) else {
      return false
    }
    return ours == theirs || abs(ours - theirs) <= abs(ours) * 1e-12 || abs(ours) < 1e-290
  case .string(let value):
    return (theirs as? String).map { sameBytes($0, value) || hasMark(value) } ?? false
  case .array(let values):
    guard let theirs = theirs as? [Any], theirs.count == values.count else { return false }
    return zip(values, theirs).allSatisfy { isSame($0, $1) }
  case .object(let object):
    guard let theirs = theirs as? [String: Any] else { return false }
    // Foundation compares names by canonical equivalence, so it can merge members here.
    let names = object.members.map(\.name)
    guard Set(names).count == names.count, !names.contains(where: hasMark)
    else { return true }
    guard theirs.count == object.members.count else { return false }
    return object.members.allSatisfy { member in
      theirs[member.name].map { isSame(member.value, $0) } ?? false
    }
  }
}

/// Whether the text contains U+FEFF. Foundation removes it at the start of a string and after an
/// escape.
private func hasMark(_ text: String) -> Bool { text.unicodeScalars.contains("\u{feff}") }

extension JSONValue {
  /// Whether Foundation refuses the text because of a number that no `Double` or `Decimal` holds.
  fileprivate var hasHugeNumber: Bool {
    switch self {
    case .number(let number):
      number.lexeme.utf8.count > 15 || number.lexeme.utf8.contains { $0 | 0x20 == 0x65 }
    case .array(let values): values.contains(where: \.hasHugeNumber)
    case .object(let object): object.members.contains { $0.value.hasHugeNumber }
    default: false
    }
  }
}
