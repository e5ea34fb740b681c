internal import CSystem
import Glibc

/// State that one thread at a time may touch: the only lock of the house, a pthread mutex.
///
/// `Synchronization.Mutex` is not used because the thread sanitizer cannot see it on Linux. Not recursive:
/// `withLock` inside `withLock` of the same lock is a programmer's error. Hold it for short work only. A state without
/// a size, as `()`, has the address of the object's head, and looks like a race to that sanitizer.
@safe public final class Lock<State: ~Copyable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var state: State

  /// A lock around this state, which nobody else may reach from here on.
  public init(_ state: consuming sending State) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    let result = unsafe pthread_mutex_init(mutex, nil)
    precondition(result == 0, "A mutex needs no resource that could run out.")
    self.state = state
  }

  deinit {
    _ = unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Runs the body while nobody else runs one.
  @discardableResult
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = unsafe pthread_mutex_lock(mutex)
    defer { _ = unsafe pthread_mutex_unlock(mutex) }
    return try body(&state)
  }

  /// As `withLock`, but `nil` when somebody else is still running one at that moment.
  public func withLock<Result, Failure: Error>(
    by deadline: Deadline, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard unsafe csystem_mutex_lock_by(mutex, deadline.monotonicMilliseconds) == 0 else {
      return nil
    }
    defer { _ = unsafe pthread_mutex_unlock(mutex) }
    return try body(&state)
  }
}
