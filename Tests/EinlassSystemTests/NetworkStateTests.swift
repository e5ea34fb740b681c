import Testing

@testable import EinlassSystem

/// The rule for "online", and messages at the edges of their format. The bytes have the order of
/// this machine.
@Suite struct NetworkStateTests {
  private static let sequence: UInt32 = 1

  /// A message of netlink(7).
  private static func message(
    _ type: UInt16, _ content: [UInt8], sequence: UInt32 = sequence, length: Int? = nil
  ) -> [UInt8] {
    let header =
      word(UInt32(length ?? 16 + content.count)) + half(type) + half(2) + word(sequence)
      + word(4711)
    return padded(header + content)
  }

  private static func link(_ index: UInt32, _ flags: UInt32) -> [UInt8] {
    message(16, [0, 0] + half(1) + word(index) + word(flags) + word(0))
  }

  /// A default route; each argument is a member of `struct rtmsg`.
  private static func route(
    _ attributes: [UInt8], family: UInt8 = 2, bits: UInt8 = 0, table: UInt8 = 254,
    type: UInt8 = 1, sequence: UInt32 = sequence
  ) -> [UInt8] {
    message(
      24, [family, bits, 0, 0, table, 3, 0, type] + word(0) + attributes, sequence: sequence)
  }

  private static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
    padded(half(UInt16(4 + value.count)) + half(type) + value)
  }

  private static func over(_ index: UInt32) -> [UInt8] { attribute(4, word(index)) }

  private static func over(anyOf indices: [UInt32]) -> [UInt8] {
    attribute(9, indices.flatMap { half(16) + [0, 0] + word($0) + attribute(5, word(1)) })
  }

  private static func half(_ value: UInt16) -> [UInt8] { withBytes(of: value) }
  private static func word(_ value: UInt32) -> [UInt8] { withBytes(of: value) }

  private static func withBytes<Number: FixedWidthInteger>(of value: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: value.littleEndian >> ($0 * 8)) }
  }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
  }

  private static let done = message(3, word(0))
  /// Loopback is 1, `up` runs as 2, and 3 has no carrier.
  private static let links = link(1, 0x1_0049) + link(2, 0x1_1043) + link(3, 0x1003) + link(4, 0x42)

  private static func isOnline(_ routes: [UInt8]) -> Bool {
    var state = NetworkState()
    #expect(state.take(links, answering: sequence) == .pending)
    _ = state.take(routes, answering: sequence)
    return state.isOnline
  }

  @Test func `An interface runs if it is up, running and not loopback`() {
    var state = NetworkState()
    #expect(state.take(Self.links + Self.done, answering: Self.sequence) == .finished)
    #expect(state.runningInterfaces == [2] && !state.isOnline)
  }

  private static let defaultRoutes: [(String, Bool, [UInt8])] = [
    ("IPv4", true, route(over(2))),
    ("IPv6", true, route(over(2), family: 10)),
    (
      "after other attributes", true,
      route(attribute(15, word(254)) + attribute(5, [1, 2, 3]) + over(2))
    ),
    ("second of two routes", true, route(over(3)) + route(over(2))),
    ("second of two paths", true, route(over(anyOf: [3, 2]))),
    ("next-hop object", true, route(attribute(30, word(1)))),
    ("loopback", false, route(over(1))),
    ("no carrier", false, route(over(3))),
    ("not up", false, route(over(4))),
    ("unknown interface", false, route(over(9))),
    ("paths without a carrier", false, route(over(anyOf: [3, 4]))),
    ("no default route", false, route(over(2), bits: 1)),
    ("other table", false, route(over(2), table: 7)),
    ("local table", false, route(over(2), table: 255)),
    ("unreachable", false, route(over(2), type: 7)),
    ("multicast routing", false, route(over(2), family: 128)),
  ]

  @Test(arguments: defaultRoutes)
  func `A default route of the main table over a running interface means online`(
    name: String, isOnline: Bool, routes: [UInt8]
  ) {
    #expect(Self.isOnline(routes) == isOnline)
  }

  private static let brokenMessages: [(String, [UInt8])] = [
    ("nothing", []),
    ("another sequence number", route(over(2), sequence: 2)),
    ("notification of a removed route", message(25, Array(route(over(2)).dropFirst(16)))),
    ("length below the header", message(24, Array(route(over(2)).dropFirst(16)), length: 15)),
    ("length of 0", message(24, Array(route(over(2)).dropFirst(16)), length: 0)),
    ("length beyond the bytes", message(24, Array(route(over(2)).dropFirst(16)), length: 37)),
    ("largest length", message(24, Array(route(over(2)).dropFirst(16)), length: Int(UInt32.max))),
    ("after a message that does not fit", message(24, [], length: 1000) + route(over(2))),
  ]

  @Test(arguments: brokenMessages)
  func `A foreign or broken message changes nothing`(name: String, routes: [UInt8]) {
    #expect(!Self.isOnline(routes))
  }

  private static let brokenAttributes: [(String, [UInt8])] = [
    ("length below the header", half(3) + half(4) + word(2)),
    ("length of 0", half(0) + half(4) + word(2)),
    ("length beyond the message", half(9) + half(4) + word(2)),
    ("short index", attribute(4, [2, 0, 0])),
    ("path of length 0", attribute(9, half(0) + half(0) + word(2))),
    ("path beyond the attribute", attribute(9, half(9) + half(0) + word(2))),
    ("path without an index", attribute(9, half(6) + [0, 0, 2, 0])),
  ]

  @Test(arguments: brokenAttributes)
  func `A broken attribute names no interface`(name: String, attributes: [UInt8]) {
    // An interface without a carrier keeps the route from counting as one without interfaces.
    #expect(!Self.isOnline(Self.route(Self.over(3) + attributes)))
    #expect(Self.isOnline(Self.route(Self.over(3) + Self.over(2))))
  }

  @Test func `Each message may be cut at each byte`() {
    let message = Self.route(Self.over(anyOf: [3, 2]))
    for count in 0..<message.count {
      #expect(!Self.isOnline(Array(message.prefix(count))), "\(count)")
    }
    #expect(Self.isOnline(message))
    let link = Self.link(7, 0x41)
    for count in 0..<link.count {
      var state = NetworkState()
      // The length is that of the bytes, so that only the content is too short.
      let bytes = Self.word(UInt32(count)) + link.prefix(count).dropFirst(4)
      #expect(state.take(Array(bytes), answering: Self.sequence) == .pending)
      #expect(state.runningInterfaces == (count < 28 ? [] : [7]), "\(count)")
    }
  }

  @Test func `A dump ends at its last message or at an error, each with the right number`() {
    var state = NetworkState()
    #expect(state.take(Self.links + Self.done, answering: Self.sequence) == .finished)
    #expect(state.take(Self.done, answering: 2) == .pending)
    let error = Self.message(2, Self.word(UInt32(bitPattern: -95)))
    #expect(state.take(error, answering: Self.sequence) == .failed)
    #expect(state.take(error, answering: 2) == .pending)
    #expect(state.take([], answering: Self.sequence) == .pending)
  }

  @Test func `The system's own answer is read`() throws {
    // A sandbox of the tests may refuse it, and the watch then as well.
    #expect((NetworkState.isOnline() == nil) == ((try? NetworkWatch()) == nil))
  }
}
