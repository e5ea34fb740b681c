internal import Glibc

/// A wait on several descriptors at once: poll(2) with numbered slots.
public struct Poller {
  /// Events on a descriptor.
  public struct Events: OptionSet, Sendable {
    /// The bits of poll(2).
    public let rawValue: Int16
    /// Creates a set from bits of poll(2).
    public init(rawValue: Int16) { self.rawValue = rawValue }

    /// Readable, or at the end of the input.
    public static let readable = Events(rawValue: Int16(POLLIN) | Int16(POLLHUP))
    /// Writable without waiting.
    public static let writable = Events(rawValue: Int16(POLLOUT))
    /// The other end has closed. Always reported.
    public static let hungUp = Events(rawValue: Int16(POLLHUP))
    /// The descriptor has failed or is not open. Always reported.
    public static let lost = Events(rawValue: Int16(POLLERR) | Int16(POLLNVAL))
  }

  private var entries: [pollfd]

  /// Creates this number of empty slots.
  public init(slots: Int) {
    entries = Array(repeating: pollfd(fd: -1, events: 0, revents: 0), count: slots)
  }

  /// Watches a descriptor in this slot from the next wait on. The slot after the last one is added.
  public mutating func watch(_ slot: Int, _ number: Int32, for events: Events) {
    if slot == entries.count { entries.append(pollfd()) }
    entries[slot] = pollfd(fd: number, events: events.rawValue, revents: 0)
  }

  /// Empties this slot.
  public mutating func ignore(_ slot: Int) { entries[slot] = pollfd(fd: -1, events: 0, revents: 0) }

  /// Waits for an event or for this many milliseconds. A signal may end the wait without an event.
  public mutating func wait(milliseconds: Int32 = -1) {
    let count = unsafe poll(&entries, nfds_t(entries.count), milliseconds)
    guard count <= 0 else { return }
    for slot in entries.indices { entries[slot].revents = 0 }
  }

  /// Returns whether the last wait reported one of these events in this slot.
  public func happened(_ slot: Int, _ events: Events) -> Bool {
    entries[slot].revents & events.rawValue != 0
  }
}
