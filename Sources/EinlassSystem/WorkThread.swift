internal import CSystem

/// A thread for blocking work, so that the work occupies no thread of the concurrency pool.
public enum WorkThread {
  /// Runs the body on a new thread with all signals blocked. The name has at most 15 bytes.
  public static func start(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    let work = unsafe Unmanaged.passRetained(Work(body))
    let result = unsafe csystem_thread_start(
      name, { unsafe Unmanaged<Work>.fromOpaque($0!).takeRetainedValue().body() }, work.toOpaque())
    guard result == 0 else {
      unsafe work.release()
      throw SystemError(number: result)
    }
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
