internal import CSystem

/// A notification when a link or a route changes: an rtnetlink(7) socket.
///
/// Its messages only say that something has changed. The state is read anew with
/// `NetworkState.isOnline`, so lost messages do no harm.
public final class NetworkWatch: Sendable {
  private let descriptor: Descriptor

  /// Starts to watch. Throws if the system refuses the socket, as some sandboxes do.
  public init() throws(SystemError) { descriptor = try Descriptor(opened: csystem_network_watch()) }

  /// The number to poll: readable, or with an error, after a change since the last `clear`. Most
  /// changes concern nothing that `NetworkState` reads.
  public var number: Int32 { descriptor.number }

  /// Resets the notification.
  public func clear() { csystem_network_clear(descriptor.number) }
}
