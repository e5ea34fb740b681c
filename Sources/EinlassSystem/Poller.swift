internal import Glibc

/// Waits on several descriptors at once: poll(2) over numbered slots.
public struct Poller {
  /// What may happen to a descriptor.
  public struct Events: OptionSet, Sendable {
    /// The bits of poll(2).
    public let rawValue: Int16
    /// These bits of poll(2).
    public init(rawValue: Int16) { self.rawValue = rawValue }

    /// There is something to read, the end included.
    public static let readable = Events(rawValue: Int16(POLLIN) | Int16(POLLHUP))
    /// Writing will not wait.
    public static let writable = Events(rawValue: Int16(POLLOUT))
    /// The other end has closed; reported without being asked for.
    public static let hungUp = Events(rawValue: Int16(POLLHUP))
    /// Nothing will go over any more; reported without being asked for.
    public static let lost = Events(rawValue: Int16(POLLERR) | Int16(POLLNVAL))
  }

  private var entries: [pollfd]

  /// So many slots, none of them watching.
  public init(slots: Int) {
    entries = Array(repeating: pollfd(fd: -1, events: 0, revents: 0), count: slots)
  }

  /// Watches a descriptor in this slot from the next wait on.
  public mutating func watch(_ slot: Int, _ number: Int32, for events: Events) {
    entries[slot] = pollfd(fd: number, events: events.rawValue, revents: 0)
  }

  /// Leaves this slot out from the next wait on.
  public mutating func ignore(_ slot: Int) { entries[slot] = pollfd(fd: -1, events: 0, revents: 0) }

  /// Waits for one of them, or for this many milliseconds. A signal handler may end it with nothing.
  public mutating func wait(milliseconds: Int32 = -1) {
    let count = unsafe poll(&entries, nfds_t(entries.count), milliseconds)
    guard count <= 0 else { return }
    for slot in entries.indices { entries[slot].revents = 0 }
  }

  /// Whether one of these events came in this slot by the last wait.
  public func happened(_ slot: Int, _ events: Events) -> Bool {
    entries[slot].revents & events.rawValue != 0
  }
}
