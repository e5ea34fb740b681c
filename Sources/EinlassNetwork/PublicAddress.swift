/// The addresses that the whole internet reaches. Only to them leads an address that a stranger may
/// have written: others belong to this machine or to its network.
enum PublicAddress {
  private struct Block {
    var prefix: [UInt8]
    var bitCount: Int

    init(_ prefix: [UInt8], _ bitCount: Int) {
      self.prefix = prefix
      self.bitCount = bitCount
    }

    func contains(_ address: [UInt8]) -> Bool {
      (0..<bitCount).allSatisfy { bit in
        let mask = UInt8(0x80) >> (bit % 8)
        let expected = bit / 8 < prefix.count ? prefix[bit / 8] : 0
        return address[bit / 8] & mask == expected & mask
      }
    }
  }

  /// The blocks of IANA's registry that are not globally reachable, and those of RFC 5771.
  private static let closedIPv4 = [
    Block([0], 8),  // this network, and 0.0.0.0
    Block([10], 8), Block([172, 16], 12), Block([192, 168], 16),  // RFC 1918
    Block([100, 64], 10),  // RFC 6598
    Block([127], 8), Block([169, 254], 16),  // loopback, link-local
    Block([192, 0, 0], 24),  // RFC 6890
    Block([192, 0, 2], 24), Block([198, 51, 100], 24), Block([203, 0, 113], 24),  // RFC 5737
    Block([192, 88, 99], 24),  // RFC 7526
    Block([198, 18], 15),  // RFC 2544
    Block([224], 4),  // multicast
    Block([240], 4),  // reserved, and broadcast
  ]
  /// All unicast addresses of the internet are in here. Others are loopback, mapped IPv4, link-local,
  /// unique local and multicast.
  private static let openIPv6 = Block([0x20], 3)
  private static let closedIPv6 = [
    Block([0x20, 0x01], 23),  // RFC 2928
    Block([0x20, 0x01, 0x0D, 0xB8], 32), Block([0x3F, 0xFF], 20),  // RFC 3849, RFC 9637
    Block([0x20, 0x02], 16),  // RFC 3056, with an IPv4 address
  ]
  /// The prefix of an IPv4 address on a network without IPv4. RFC 6052.
  private static let translated = Block([0, 0x64, 0xFF, 0x9B], 96)

  /// Whether this is the address of a host on the internet: 4 or 16 bytes in network order.
  static func contains(_ address: [UInt8]) -> Bool {
    switch address.count {
    case 4: !closedIPv4.contains { $0.contains(address) }
    case 16:
      translated.contains(address)
        ? contains(Array(address.suffix(4)))
        : openIPv6.contains(address) && !closedIPv6.contains { $0.contains(address) }
    default: false
    }
  }
}
