internal import CSystem
internal import Glibc

/// A file descriptor that belongs to one owner and is closed with it.
public struct Descriptor: ~Copyable, Sendable {
  /// The number; it stays this descriptor's own.
  public let number: Int32

  /// Takes over a descriptor that is open and nobody else's.
  public init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// A second descriptor for what this number is open for: at least 3, not passed on to children.
  public static func duplicate(_ number: Int32) throws(SystemError) -> Descriptor {
    try Descriptor(opened: csystem_duplicate(number))
  }

  /// Makes a standard descriptor another name for the null device, or for stderr.
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

  /// What a call that answers a descriptor or minus an errno has opened.
  init(opened result: Int32) throws(SystemError) {
    guard result >= 0 else { throw SystemError(number: -result) }
    number = result
  }

  /// What a read or write came to.
  public enum Transfer: Sendable, Equatable {
    /// So many bytes went over, at least one.
    case bytes(Int)
    /// The other end will send no more.
    case end
    /// Nothing goes over without waiting.
    case wouldWait
    /// The kernel said no.
    case failed(SystemError)
  }

  /// Reads what is there into the front of the buffer, as much as it holds.
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

  /// Writes bytes of this range, as many as go over in one call.
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

  /// Writes all of them. Waits where they do not go over at once, also when somebody has told the file that this is
  /// open for not to wait: whoever has it open may do so.
  ///
  /// - Parameter interruption: what ends the wait when it becomes readable; then this throws `EINTR`.
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

  /// Waits until something can be done, or never will be.
  borrowing func wait(for events: Poller.Events) {
    var poller = Poller(slots: 1)
    poller.watch(0, number, for: events)
    poller.wait()
  }

  /// Writes what goes over without waiting, also where the descriptor itself would wait; its flags are shared
  /// with other processes and stay as they are.
  ///
  /// A pipe that polls as writable has room for 4096 bytes, an empty one for all that it holds; more is not
  /// tried at a time. True while nobody else writes to it.
  public borrowing func writeWithoutWaiting(_ bytes: [UInt8], _ range: Range<Int>) -> Transfer {
    let room = Int(csystem_room_for_writing(number, range.count))
    guard room > 0 else { return .wouldWait }
    return write(bytes, range.lowerBound..<min(range.upperBound, range.lowerBound + room))
  }
}

/// What the kernel said no with.
public struct SystemError: Error, Sendable, Equatable {
  /// The errno.
  public var number: Int32

  /// This errno.
  public init(number: Int32) { self.number = number }

  /// Whether nobody reads any more what would be written.
  public var isBrokenPipe: Bool { number == EPIPE || number == ECONNRESET }
  /// Whether it was ended before it was done.
  public var isInterruption: Bool { number == EINTR }
  /// Whether somebody else has the port.
  public var isAddressInUse: Bool { number == EADDRINUSE }
  /// Whether there is no such process.
  public var isNoSuchProcess: Bool { number == ESRCH }
  /// Whether the limit on open files is reached, of the process or of the machine.
  public var isForWantOfDescriptors: Bool { number == EMFILE || number == ENFILE }

  /// Whether the disk, or the user's share of it, is full.
  public var isForWantOfRoom: Bool { number == ENOSPC || number == EDQUOT }
  /// Whether a limit is reached: on open files, or on threads.
  public var isExhaustion: Bool { isForWantOfDescriptors || number == EAGAIN }

  /// Why there is no descriptor or no thread, and how to mend it: a clause without its full stop.
  public var explanation: String {
    switch number {
    case EMFILE, ENFILE: Self.tooManyOpenFiles
    case EAGAIN:
      "the system starts no more threads; raise the limit on processes (ulimit -u, pids.max) or on memory"
    case ENOMEM: "there is no memory left"
    default: "the system refuses it with error \(number)"
    }
  }

  /// The sentence for `EMFILE` and `ENFILE`.
  public static let tooManyOpenFiles =
    "too many files are open; close some, or raise the limit on open files (ulimit -n)"
}
