internal import CSystem

/// A wake-up for a waiting thread: an eventfd.
public struct WakeUp: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Creates a wake-up that has not rung.
  public init() throws(SystemError) { descriptor = try Descriptor(opened: csystem_event_open()) }

  /// The number to poll: readable from `ring` to `clear`.
  public var number: Int32 { descriptor.number }

  /// Wakes the waiting thread, or ends the next wait at once.
  public borrowing func ring() { csystem_event_ring(descriptor.number) }

  /// Resets all rings so far.
  public borrowing func clear() { csystem_event_clear(descriptor.number) }

  /// Waits for a ring and resets it.
  public borrowing func wait() {
    var poller = Poller(slots: 1)
    poller.watch(0, descriptor.number, for: .readable)
    while !poller.happened(0, .readable) { poller.wait() }
    clear()
  }
}

/// A one-shot timer: a timerfd. No thread has to read a clock.
public struct Alarm: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Creates a timer that is not set.
  public init() throws(SystemError) { descriptor = try Descriptor(opened: csystem_timer_open()) }

  /// The number to poll: readable after the time has passed, until the timer is set or stopped.
  public var number: Int32 { descriptor.number }

  /// Sets the timer, and replaces its former time.
  public borrowing func set(after duration: Duration) {
    let (seconds, attoseconds) = duration.components
    csystem_timer_set(
      descriptor.number, max(1, seconds * 1000 + attoseconds / 1_000_000_000_000_000))
  }

  /// Cancels the timer.
  public borrowing func stop() { csystem_timer_set(descriptor.number, 0) }
}

/// Another process, referred to by a pidfd, because its process id may be reused after its end.
public struct ProcessDescriptor: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Opens the process with this id. Throws `ESRCH` if there is none, `ENOSYS` on a kernel without
  /// pidfd_open.
  public init(_ process: Int32) throws(SystemError) {
    descriptor = try Descriptor(opened: csystem_process_open(process))
  }

  /// The number to poll: readable after the process has ended.
  public var number: Int32 { descriptor.number }
}

/// SIGTERM, SIGINT and SIGHUP as a readable descriptor: a signalfd.
public struct SignalDescriptor: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Blocks the three signals in this thread and in threads started by it later. Called before
  /// there are other threads.
  public init() throws(SystemError) { descriptor = try Descriptor(opened: csystem_signals_open()) }

  /// A descriptor that receives no signals.
  public static var none: SignalDescriptor {
    SignalDescriptor(reading: Descriptor(owning: -1))
  }

  /// Reads signals from a pipe, for tests. Each is a record of `recordSize` bytes that starts with
  /// the signal's number.
  public init(reading descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// The size of one record of `init(reading:)` in bytes.
  public static var recordSize: Int { Int(csystem_signal_record_size()) }

  /// The number to poll: readable when a signal is pending.
  public var number: Int32 { descriptor.number }

  /// Returns the number of the next pending signal.
  public borrowing func next() -> Int32? {
    let signal = csystem_signals_take(descriptor.number)
    return signal == 0 ? nil : signal
  }
}
