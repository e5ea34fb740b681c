internal import CSystem
import Glibc

/// State protected by a pthread mutex, the only kind of lock in einlass.
///
/// `Synchronization.Mutex` is not used because the thread sanitizer does not support it on Linux.
/// Not recursive: a nested `withLock` on the same lock is a programming error. For short work only.
/// The state must have a size: an empty value, such as `()`, shares its address with the object's
/// header, and the sanitizer reports a race.
@safe public final class Lock<State: ~Copyable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  // The mutex gives exclusive access, and the runtime's check of it would cost more than the mutex.
  @exclusivity(unchecked) private var state: State

  /// Takes ownership of the state.
  public init(_ state: consuming sending State) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    let result = unsafe pthread_mutex_init(mutex, nil)
    precondition(result == 0, "A mutex needs no resource that could run out.")
    unsafe self.state = state
  }

  deinit {
    _ = unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Runs the body with exclusive access to the state.
  @discardableResult
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = unsafe pthread_mutex_lock(mutex)
    defer { _ = unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&state)
  }

  /// Runs the body with exclusive access, or returns `nil` if the lock is not free by the deadline.
  public func withLock<Result, Failure: Error>(
    by deadline: Deadline, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard unsafe csystem_mutex_lock_by(mutex, deadline.monotonicMilliseconds) == 0 else {
      return nil
    }
    defer { _ = unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&state)
  }
}
