/// The addresses that the whole internet reaches. Only to them leads an address that a stranger may
/// have written: others belong to this machine or to its network.
enum PublicAddress {
  /// The blocks of this machine and of the networks of its owner.
  private static let internalIPv4 = [
    AddressBlock([0], 8),  // this network, and 0.0.0.0
    AddressBlock([10], 8), AddressBlock([172, 16], 12), AddressBlock([192, 168], 16),  // RFC 1918
    AddressBlock([100, 64], 10),  // RFC 6598
    AddressBlock([127], 8), AddressBlock([169, 254], 16),  // loopback, link-local
    AddressBlock([198, 18], 15),  // RFC 2544; the tunnels of some machines give them to all names
  ]
  /// Other blocks of IANA's registry that are not globally reachable, and those of RFC 5771.
  private static let closedIPv4 = [
    AddressBlock([192, 0, 0], 24),  // RFC 6890
    AddressBlock([192, 0, 2], 24), AddressBlock([198, 51, 100], 24),  // RFC 5737
    AddressBlock([203, 0, 113], 24),
    AddressBlock([192, 88, 99], 24),  // RFC 7526
    AddressBlock([224], 4),  // multicast
    AddressBlock([240], 4),  // reserved, and broadcast
  ]
  /// Loopback, unique local (RFC 4193) and link-local.
  private static let internalIPv6 = [
    AddressBlock(loopback, 128), AddressBlock([0xFC], 7), AddressBlock([0xFE, 0x80], 10),
  ]
  private static let loopback = [UInt8](repeating: 0, count: 15) + [1]
  /// All unicast addresses of the internet are in here. Others are loopback, mapped IPv4, link-local,
  /// unique local and multicast.
  private static let openIPv6 = AddressBlock([0x20], 3)
  private static let closedIPv6 = [
    AddressBlock([0x20, 0x01], 23),  // RFC 2928
    AddressBlock([0x20, 0x01, 0x0D, 0xB8], 32),  // RFC 3849
    AddressBlock([0x3F, 0xFF], 20),  // RFC 9637
    AddressBlock([0x20, 0x02], 16),  // RFC 3056, with an IPv4 address
  ]
  /// The prefix of an IPv4 address on a network without IPv4. RFC 6052.
  private static let translated = AddressBlock([0, 0x64, 0xFF, 0x9B], 96)
  /// The prefix of an IPv4 address in the form of IPv6. RFC 4291 section 2.5.5.2.
  private static let mapped = AddressBlock([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF], 96)

  /// Whether this is the address of a host on the internet: 4 or 16 bytes in network order.
  static func contains(_ address: [UInt8]) -> Bool {
    switch address.count {
    case 4: !(internalIPv4 + closedIPv4).contains { $0.contains(address) }
    case 16:
      translated.contains(address)
        ? contains(Array(address.suffix(4)))
        : openIPv6.contains(address) && !closedIPv6.contains { $0.contains(address) }
    default: false
    }
  }

  /// Whether this is an address of this machine or of its network. Narrower than the opposite of
  /// `contains`, because an unusual address gives its server no right.
  static func isInternal(_ address: [UInt8]) -> Bool {
    switch address.count {
    case 4: internalIPv4.contains { $0.contains(address) }
    case 16:
      mapped.contains(address)
        ? isInternal(Array(address.suffix(4))) : internalIPv6.contains { $0.contains(address) }
    default: false
    }
  }

  /// Whether a host can have a public address, as far as it tells without a look-up: a literal of one,
  /// or a name with a dot.
  static func mayContain(host: String) -> Bool {
    let address = AddressBlock.address(host)
    return address.isEmpty ? host.utf8.contains(UInt8(ascii: ".")) : contains(address)
  }
}
