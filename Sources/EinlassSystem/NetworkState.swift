internal import CSystem

/// The system's links and routes, as far as they say whether this machine is online.
///
/// The machine is online if the main routing table has a default route, IPv4 or IPv6, over an
/// interface other than loopback that is up and running (`IFF_UP` and `IFF_RUNNING`: it has a
/// carrier, or cannot tell). A route over several interfaces needs one of them. A default route in
/// another table does not count, and neither does one that refuses its packets.
public struct NetworkState {
  /// The indices of the running interfaces, without loopback.
  private(set) var runningInterfaces: Set<UInt32> = []
  /// Whether a default route leads over a running interface.
  private(set) var isOnline = false

  /// The rest of a dump after some of its messages.
  enum Rest: Equatable {
    case pending
    case finished
    case failed
  }

  /// Takes the messages of one read. Those of other types or with another sequence number are
  /// ignored, and so is the rest after a message that does not fit into the bytes. Links must come
  /// before routes.
  mutating func take(_ bytes: [UInt8], answering sequence: UInt32) -> Rest {
    var rest = NetlinkBytes(bytes[...])
    // struct nlmsghdr
    while let length = rest.uint32(at: 0), let type = rest.uint16(at: 4),
      let number = rest.uint32(at: 8),
      let message = rest.next(length: Int(length), header: 16)
    {
      guard number == sequence else { continue }
      switch type {
      case Self.done: return .finished
      case Self.error: return .failed
      case Self.newLink: takeLink(message)
      case Self.newRoute: takeRoute(message)
      default: break
      }
    }
    return .pending
  }

  private mutating func takeLink(_ message: NetlinkBytes) {
    // struct ifinfomsg
    guard let index = message.uint32(at: 4), let flags = message.uint32(at: 8) else { return }
    if flags & Self.relevantFlags == Self.runningFlags { runningInterfaces.insert(index) }
  }

  private mutating func takeRoute(_ message: NetlinkBytes) {
    // struct rtmsg: a default route has a destination of 0 bits.
    guard let family = message.byte(at: 0), Self.families.contains(family),
      message.byte(at: 1) == 0, message.byte(at: 4) == Self.mainTable,
      message.byte(at: 7) == Self.unicast, let attributes = message.dropping(12)
    else { return }
    let interfaces = Self.interfaces(attributes)
    // The kernel can be set to name a next-hop object instead of its interfaces.
    let leadsOut =
      interfaces.isEmpty
      ? !runningInterfaces.isEmpty : !runningInterfaces.isDisjoint(with: interfaces)
    if leadsOut { isOnline = true }
  }

  /// The interfaces in the attributes of a route.
  private static func interfaces(_ attributes: NetlinkBytes) -> [UInt32] {
    var (rest, found) = (attributes, [UInt32]())
    // struct rtattr
    while let length = rest.uint16(at: 0), let type = rest.uint16(at: 2),
      var value = rest.next(length: Int(length), header: 4)
    {
      switch type {
      case outgoingInterface: if let index = value.uint32(at: 0) { found.append(index) }
      case multipath:
        // struct rtnexthop
        while let length = value.uint16(at: 0), let index = value.uint32(at: 4),
          value.next(length: Int(length), header: 8) != nil
        {
          found.append(index)
        }
      default: break
      }
    }
    return found
  }

  // Message types of netlink(7) and rtnetlink(7).
  private static let error: UInt16 = 2
  private static let done: UInt16 = 3
  private static let newLink: UInt16 = 16
  private static let newRoute: UInt16 = 24
  /// IFF_UP | IFF_RUNNING
  private static let runningFlags: UInt32 = 0x41
  /// With IFF_LOOPBACK.
  private static let relevantFlags: UInt32 = 0x49
  /// AF_INET, AF_INET6
  private static let families: [UInt8] = [2, 10]
  /// RT_TABLE_MAIN
  private static let mainTable: UInt8 = 254
  /// RTN_UNICAST
  private static let unicast: UInt8 = 1
  /// RTA_OIF
  private static let outgoingInterface: UInt16 = 4
  /// RTA_MULTIPATH
  private static let multipath: UInt16 = 9
}

extension NetworkState {
  /// Returns whether this machine is online now; `nil` if the system does not say. The kernel
  /// answers at once.
  public static func isOnline() -> Bool? {
    var state = NetworkState()
    guard state.read(csystem_network_links()), state.read(csystem_network_routes()) else {
      return nil
    }
    return state.isOnline
  }

  /// Takes all entries of a type. Returns `false` if the system refuses them.
  ///
  /// A change meanwhile may leave entries out. A watch reports such a change, and the state is read
  /// again.
  private mutating func read(_ type: Int32) -> Bool {
    let sequence: UInt32 = 1
    guard let socket = try? Descriptor(opened: csystem_network_ask(type, sequence)) else {
      return false
    }
    // A read of the kernel's largest size.
    var bytes = [UInt8](repeating: 0, count: 32 << 10)
    while true {
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe csystem_network_read(socket.number, $0.baseAddress, $0.count)
      }
      guard count > 0 else { return false }
      switch take(Array(bytes[..<count]), answering: sequence) {
      case .pending: continue
      case .finished: return true
      case .failed: return false
      }
    }
  }
}

/// A part of a netlink message: numbers in the byte order of the machine, and parts that begin at
/// multiples of 4 bytes.
private struct NetlinkBytes {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  func byte(at place: Int) -> UInt8? { place < bytes.count ? bytes[bytes.startIndex + place] : nil }

  func uint16(at place: Int) -> UInt16? { number(at: place) }

  func uint32(at place: Int) -> UInt32? { number(at: place) }

  /// Returns the bytes after this many, or `nil` if there are not so many.
  func dropping(_ count: Int) -> NetlinkBytes? {
    count <= bytes.count ? NetlinkBytes(bytes.dropFirst(count)) : nil
  }

  /// Removes a part of this length, which includes its header. Returns its content, or `nil` if the
  /// length is smaller than the header or larger than the rest.
  mutating func next(length: Int, header: Int) -> NetlinkBytes? {
    guard length >= header, length <= bytes.count else { return nil }
    let part = bytes.prefix(length).dropFirst(header)
    bytes = bytes.dropFirst((length + 3) & ~3)
    return NetlinkBytes(part)
  }

  private func number<Number: FixedWidthInteger>(at place: Int) -> Number? {
    let end = place + Number.bitWidth / 8
    guard end <= bytes.count else { return nil }
    let part = bytes.dropFirst(place).prefix(end - place)
    return Number(littleEndian: part.reversed().reduce(0) { $0 << 8 | Number($1) })
  }
}
