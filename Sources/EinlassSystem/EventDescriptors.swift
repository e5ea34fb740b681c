internal import CSystem

/// Wakes a waiting thread: an eventfd.
public struct WakeUp: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// One that nobody has rung yet.
  public init() throws(SystemError) { descriptor = try Descriptor(opened: csystem_event_open()) }

  /// For polling: readable from `ring` to `clear`.
  public var number: Int32 { descriptor.number }

  /// Wakes whoever waits, or lets the next wait end at once.
  public borrowing func ring() { csystem_event_ring(descriptor.number) }

  /// Takes back all rings until now.
  public borrowing func clear() { csystem_event_clear(descriptor.number) }

  /// Waits for a ring and takes it back.
  public borrowing func wait() {
    var poller = Poller(slots: 1)
    poller.watch(0, descriptor.number, for: .readable)
    while !poller.happened(0, .readable) { poller.wait() }
    clear()
  }
}

/// Rings once after a time, without anybody reading a clock: a timerfd.
public struct Alarm: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// One that is not set.
  public init() throws(SystemError) { descriptor = try Descriptor(opened: csystem_timer_open()) }

  /// For polling: readable once the time is over, until it is set or stopped.
  public var number: Int32 { descriptor.number }

  /// Rings so much later, instead of when it would have.
  public borrowing func set(after duration: Duration) {
    let (seconds, attoseconds) = duration.components
    csystem_timer_set(
      descriptor.number, max(1, seconds * 1000 + attoseconds / 1_000_000_000_000_000))
  }

  /// Does not ring.
  public borrowing func stop() { csystem_timer_set(descriptor.number, 0) }
}

/// Another process, by a descriptor that its number's next owner cannot be mistaken for: a pidfd.
public struct ProcessDescriptor: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// The process that has this number now. Throws `ESRCH` when none has, `ENOSYS` on a kernel without.
  public init(_ process: Int32) throws(SystemError) {
    descriptor = try Descriptor(opened: csystem_process_open(process))
  }

  /// For polling: readable when the process has ended.
  public var number: Int32 { descriptor.number }
}

/// SIGTERM, SIGINT and SIGHUP as something to read: a signalfd.
public struct SignalDescriptor: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Takes the three signals away from this thread and those that it starts from here on: call it before
  /// there are others.
  public init() throws(SystemError) { descriptor = try Descriptor(opened: csystem_signals_open()) }

  /// One that no signal comes by.
  public static var none: SignalDescriptor {
    SignalDescriptor(reading: Descriptor(owning: -1))
  }

  /// For tests: signals are records of `recordSize` bytes that start with the number, from a pipe.
  public init(reading descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// The size of one record of `init(reading:)`.
  public static var recordSize: Int { Int(csystem_signal_record_size()) }

  /// For polling: readable when a signal came.
  public var number: Int32 { descriptor.number }

  /// The number of the next signal that came.
  public borrowing func take() -> Int32? {
    let signal = csystem_signals_take(descriptor.number)
    return signal == 0 ? nil : signal
  }
}
