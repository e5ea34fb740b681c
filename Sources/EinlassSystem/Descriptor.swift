internal import CSystem
internal import Glibc

/// A file descriptor with a single owner. Closed when the value is destroyed.
public struct Descriptor: ~Copyable, Sendable {
  /// The descriptor's number, valid as long as this value.
  public let number: Int32

  /// Takes ownership of an open descriptor.
  public init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// Opens a pipe with both ends close-on-exec. The caller owns the descriptors of these numbers.
  public static func pipe() throws(SystemError) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    let result = unsafe csystem_pipe_open(&ends)
    guard result == 0 else { throw SystemError(number: result) }
    return (ends[0], ends[1])
  }

  /// Returns a duplicate of a descriptor, numbered 3 or higher and close-on-exec.
  public static func duplicate(_ number: Int32) throws(SystemError) -> Descriptor {
    try Descriptor(opened: csystem_duplicate(number))
  }

  /// Redirects a standard descriptor to the null device or to standard error.
  public static func redirect(_ number: Int32, toNullDevice: Bool) throws(SystemError) {
    guard toNullDevice else {
      guard dup2(STDERR_FILENO, number) >= 0 else { throw SystemError(number: errno) }
      return
    }
    let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    guard null >= 0 else { throw SystemError(number: errno) }
    defer { if null != number { close(null) } }
    guard dup2(null, number) >= 0 else { throw SystemError(number: errno) }
  }

  /// Takes ownership of the result of a call that returns a descriptor or minus an errno.
  init(opened result: Int32) throws(SystemError) {
    guard result >= 0 else { throw SystemError(number: -result) }
    number = result
  }

  /// The result of a read or write.
  public enum Transfer: Sendable, Equatable {
    /// The number of bytes transferred, at least one.
    case bytes(Int)
    /// End of file.
    case end
    /// The call would have to wait.
    case wouldWait
    /// The system call failed.
    case failed(SystemError)
  }

  /// Reads available bytes into the front of the buffer.
  public borrowing func read(into buffer: inout [UInt8]) -> Transfer {
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes {
        unsafe Glibc.read(number, $0.baseAddress, $0.count)
      }
      if count >= 0 { return count == 0 ? .end : .bytes(count) }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .wouldWait
      case let error: return .failed(SystemError(number: error))
      }
    }
  }

  /// Writes bytes of this range in one call, possibly not all of them.
  public borrowing func write(_ bytes: [UInt8], _ range: Range<Int>) -> Transfer {
    while true {
      let count = unsafe bytes.withUnsafeBytes {
        let part = unsafe UnsafeRawBufferPointer(rebasing: $0[range])
        return unsafe Glibc.write(number, part.baseAddress, part.count)
      }
      if count >= 0 { return .bytes(count) }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .wouldWait
      case let error: return .failed(SystemError(number: error))
      }
    }
  }

  /// Writes all bytes. Waits for room even if the descriptor is non-blocking, because another
  /// process may have set O_NONBLOCK on the shared open file.
  ///
  /// - Parameter interruption: a descriptor that ends the wait when it becomes readable; this then
  ///   throws `EINTR`.
  public borrowing func writeAll(
    _ bytes: [UInt8], unlessReadable interruption: Int32 = -1
  ) throws(SystemError) {
    var poller = Poller(slots: 2)
    poller.watch(0, number, for: .writable)
    poller.watch(1, interruption, for: .readable)
    var start = 0
    while start < bytes.count {
      switch writeWithoutWaiting(bytes, start..<bytes.count) {
      case .bytes(let count): start += count
      case .wouldWait:
        poller.wait()
        if poller.happened(1, .readable) { throw SystemError(number: EINTR) }
      case .failed(let error): throw error
      case .end: throw SystemError(number: EIO)
      }
    }
  }

  /// Waits for one of the events, or for an error.
  borrowing func wait(for events: Poller.Events) {
    var poller = Poller(slots: 1)
    poller.watch(0, number, for: events)
    poller.wait()
  }

  /// Writes without waiting, even to a blocking descriptor, because its flags are shared with other
  /// processes and must not be changed.
  ///
  /// A pipe that polls as writable has room for 4096 bytes, an empty one for its whole capacity. No
  /// larger write is tried. This holds only if no other process writes to the pipe.
  public borrowing func writeWithoutWaiting(_ bytes: [UInt8], _ range: Range<Int>) -> Transfer {
    let room = Int(csystem_room_for_writing(number, range.count))
    guard room > 0 else { return .wouldWait }
    return write(bytes, range.lowerBound..<min(range.upperBound, range.lowerBound + room))
  }
}

/// A failed system call.
public struct SystemError: Error, Sendable, Equatable {
  /// The errno.
  public var number: Int32

  /// Creates an error with this errno.
  public init(number: Int32) { self.number = number }

  /// Whether the reader has closed the connection or pipe.
  public var isBrokenPipe: Bool { number == EPIPE || number == ECONNRESET }
  /// Whether the call was interrupted.
  public var isInterruption: Bool { number == EINTR }
  /// Whether another socket uses the port.
  public var isAddressInUse: Bool { number == EADDRINUSE }
  /// Whether no process has this id.
  public var isNoSuchProcess: Bool { number == ESRCH }
  /// Whether the limit on open files is reached, of the process or of the system.
  public var isForWantOfDescriptors: Bool { number == EMFILE || number == ENFILE }

  /// Whether the disk or the user's quota is full.
  public var isForWantOfRoom: Bool { number == ENOSPC || number == EDQUOT }
  /// Whether the limit on open files or on threads is reached.
  public var isExhaustion: Bool { isForWantOfDescriptors || number == EAGAIN }

  /// The cause of a missing descriptor or thread, with the limit: a clause without its full stop.
  public var explanation: String {
    switch number {
    case EMFILE, ENFILE: Self.tooManyOpenFiles
    case EAGAIN:
      "no thread can be started within the limits on processes (ulimit -u, pids.max) and memory"
    case ENOMEM: "there is no memory left"
    default: "the system refuses it with error \(number)"
    }
  }

  /// The explanation of `EMFILE` and `ENFILE`.
  public static let tooManyOpenFiles =
    "the limit on open files (ulimit -n) is reached"
}
