internal import CSystem
internal import Glibc

/// A TCP socket that listens on 127.0.0.1 only.
public struct LoopbackSocket: ~Copyable, Sendable {
  private let descriptor: Descriptor
  /// The port in use.
  public let port: UInt16

  /// Listens on this port, or on a free one for 0. Throws `EADDRINUSE` if another socket listens on
  /// the port. Connections in TIME_WAIT do not block it.
  public init(port wanted: UInt16, backlog: Int32 = 8) throws(SystemError) {
    let number = socket(
      AF_INET,
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { throw SystemError(number: errno) }
    let descriptor = Descriptor(owning: number)
    var reuses: Int32 = 1
    unsafe setsockopt(
      number, SOL_SOCKET, SO_REUSEADDR, &reuses, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = wanted.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(number, address, size) == 0 && listen(number, backlog) == 0
          && getsockname(number, address, &size) == 0
      }
    }
    guard isListening else { throw SystemError(number: errno) }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
  }

  /// Frees the port at once. Closing alone would keep it in use while another thread polls the
  /// socket.
  deinit { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

  /// The number to poll: readable when a connection is pending.
  public var number: Int32 { descriptor.number }

  /// Returns the next connection, non-blocking, or `nil` if none is pending.
  public borrowing func accept() -> Descriptor? {
    let number = csystem_accept(descriptor.number)
    return number >= 0 ? Descriptor(owning: number) : nil
  }
}

extension Descriptor {
  /// Sends bytes of this range in one call, possibly not all of them. A closed peer raises no
  /// SIGPIPE.
  public borrowing func send(_ bytes: [UInt8], _ range: Range<Int>) -> Transfer {
    while true {
      let count = unsafe bytes.withUnsafeBytes {
        let part = unsafe UnsafeRawBufferPointer(rebasing: $0[range])
        return unsafe Glibc.send(number, part.baseAddress, part.count, Int32(MSG_NOSIGNAL))
      }
      if count >= 0 { return .bytes(count) }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .wouldWait
      case let error: return .failed(SystemError(number: error))
      }
    }
  }

  /// Makes closing the socket reset the connection, so that it leaves no TIME_WAIT entry on the
  /// port.
  public borrowing func resetWhenClosed() {
    var option = linger(l_onoff: 1, l_linger: 0)
    unsafe setsockopt(
      number, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
